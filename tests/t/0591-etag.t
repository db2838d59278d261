#!/usr/bin/env bash
# An ensemble that the client has already is not sent again; one that has changed is.
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
cat >"$T/spec.json" <<'X'
{"name": "t", "members": {"command": ["sh", "-c", "while ! test -e $HOME/go; do sleep 0.1; done"], "parameters": {"grid": {"x": [1, 2]}}}, "width": 2}
X
id=$(submit "$T/spec.json")
# get [HEADER]: status and body's size; the headers in $T/head
get() {
	curl -s -m 20 --unix-socket "$SOCKET" -D "$T/head" -o "$T/body" -w '%{http_code} %{size_download}' ${1:+-H "$1"} \
		"http://stretto/v1/ensembles/$id"
}
tag() { tr -d '\r' <"$T/head" | sed -n 's/^ETag: //Ip'; }

get >"$T/out"
early=$(tag)
like "$early" '^W/"[0-9a-f]+"$' "there is a weak tag"
touch "$HOME/go"
ok "it ends" wait_ensemble "$id" 60
like "$(get "If-None-Match: $early")" '^200 [1-9]' "what has changed is sent"
late=$(tag)
ok "with another tag" test "$early" != "$late"
is "$(get "If-None-Match: $late") $(tag)" "304 0 $late" "what the client has is not sent"
is "$(get "If-None-Match: \"x\", $late")" "304 0" "one of several"
is "$(get "If-None-Match: ${late#W/}")" "304 0" "weakly compared"
is "$(get 'If-None-Match: *')" "304 0" "any"
like "$(get "If-None-Match: ${late:0:6}\"")" '^200 [1-9]' "part of a tag is none"
kill_daemon
start_daemon
is "$(get "If-None-Match: $late")" "304 0" "it holds over a restart"

done_testing
