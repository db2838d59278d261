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
	curl -s -m 300 --unix-socket "$SOCKET" -D "$T/head" -o "$T/body" -w '%{http_code} %{size_download}' ${1:+-H "$1"} \
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

# the tag is of the whole document: a change behind hundreds of bytes that are as before is one
jq --arg name "$(printf 'n%.0s' {1..200})" '.name = $name | .members.command = ["false"] | .members.retries = 0' "$T/spec.json" >"$T/fails.json"
id=$(submit "$T/fails.json")
ok "one whose members fail" wait_ensemble "$id" 60
get >"$T/out"
late=$(tag) before=$(head -c 512 "$T/body")
is "$(api_status POST "/v1/ensembles/$id/follow-up" '{"states": ["failed"]}')" 201 "is followed up"
like "$(get "If-None-Match: $late")" '^200 [1-9]' "and sent again"
is "$(head -c 512 "$T/body")" "$before" "though it begins as before"

done_testing
