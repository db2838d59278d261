#!/usr/bin/env bash
# The states of all members, a byte each: whole, in ranges, compressed, and as what changed since an event; a copy that
# is kept by the changes is right whatever happened to the members: runs, failures, resubmissions, cancellations,
# follow-ups.
MANY_RUNNERS=1
. "${srcdir:-.}/tests/t/lib.sh"

echo '{"keep_events": "1h"}' >"$T/config.json"
start_daemon --config "$T/config.json"
# get PATH [CURL OPTION...]: the body, raw, to $T/body, the headers to $T/head
get() { curl -s -m 300 --unix-socket "$SOCKET" -D "$T/head" -o "$T/body" -w '%{http_code}' "${@:2}" "http://stretto$1"; }
header() { tr -d '\r' <"$T/head" | sed -n "s/^$1: //Ip"; }
spec() { jq -nc --argjson n "$1" --arg sh "$2" '{name: "s", width: 4, max_same_failures: 0, members: {command: ["sh", "-c", $sh], retries: 0, parameters: {grid: {i: [range($n)]}}}}'; }
keep_copy() { python3 "$srcdir/tests/t/states.py" "$SOCKET" "$1"; }

# --- members that run while the copy is kept: some fail
id=$(api POST /v1/ensembles "$(spec 30 '[ $(({i} % 3)) != 0 ]')" | jq -r .id)
is "$(keep_copy "$id")" same "a copy is right after a run"
is "$(get "/v1/ensembles/$id/states")" 200 "the states"
is "$(cat "$T/body")" "433433433433433433433433433433" "are a byte each, by index"
is "$(header Content-Type) $(header Content-Length) $(header Accept-Ranges)" "text/plain 30 bytes" "of a known length"
tag=$(header ETag) event=$(header Last-Event-ID)
like "$tag $event" '^W/"[0-9]+" [0-9]+$' "with a tag, and the event up to which they hold"
rm "$T/body"
is "$(get "/v1/ensembles/$id/states" -H "If-None-Match: $tag") $(cat "$T/body" 2>"$T/out")" "304 " "not sent again"
is "$(get "/v1/ensembles/$id/states" -r 3-5) $(cat "$T/body") $(header Content-Range)" "206 433 bytes 3-5/30" "a range"
is "$(get "/v1/ensembles/$id/states" -r -2) $(cat "$T/body")" "206 33" "the last ones"
is "$(get "/v1/ensembles/$id/states" -r 30-) $(header Content-Range)" "416 bytes */30" "a range of nothing"
is "$(get "/v1/ensembles/$id/states" -I -X HEAD) $(header Content-Length)" "200 30" "HEAD"
is "$(api GET "/v1/ensembles/$id/states?since=$event" | jq -c '[.members, .more]')" '[{},false]' "nothing has changed since"
is "$(api GET "/v1/ensembles/$id/states?since=0" | jq -c '.members | length')" 30 "all have since the beginning"
is "$(api_status GET "/v1/ensembles/$id/states?since=999999") $(jq -r .code "$T/api.body")" "410 changes_not_kept" "since an event that never was"
is "$(api_status GET "/v1/ensembles/$id/states?since=x") $(jq -r .code "$T/api.body")" "400 query_wrong_value" "since nonsense"
is "$(api_status GET "/v1/ensembles/99/states") $(jq -r .code "$T/api.body")" "404 ensemble_not_found" "of no ensemble"

# --- many at once: all that failed go again; only their slice is an event
api POST "/v1/ensembles/$id/resubmit" '{"states": ["failed"]}' >"$T/out"
is "$(api GET "/v1/ensembles/$id/states?since=$event" | jq -c '.members | length')" 10 "those that were resubmitted together have changed"
is "$(get "/v1/ensembles/$id/states" -H "If-None-Match: $tag")" 200 "the tag is another"
is "$(keep_copy "$id")" same "a copy is right after they have run again"
event=$(get "/v1/ensembles/$id/states" >"$T/out"; header Last-Event-ID)

# --- a follow-up has the members that failed, under their indices
follow=$(api POST "/v1/ensembles/$id/follow-up" '{"states": ["failed"]}' | jq -r .id)
is "$(api GET "/v1/ensembles/$id/states?since=$event" | jq -c '.members')" '{}' "to be followed up changes no state"
is "$(api GET "/v1/ensembles/$follow/states?since=$event" | jq -r '.members | keys | map(tonumber) | sort | join(" ")')" "$(seq -s ' ' 0 3 29)" \
	"members of a follow-up are told, by their indices"
is "$(keep_copy "$follow")" same "a copy of a follow-up is right"
get "/v1/ensembles/$follow/states" >"$T/out"
is "$(cat "$T/body")" "4--4--4--4--4--4--4--4--4--4--" "which has no states of the other members"

# --- cancelled: one that was never tried, when its turn comes; then all that is left, with rows and without
hold='touch $HOME/up.{i}; while [ ! -e $HOME/go ]; do sleep 0.05; done'
id=$(api POST /v1/ensembles "$(spec 20 "$hold")" | jq -r .id)
wait_for 60 '[ -e "$HOME/up.0" ]'
api POST "/v1/ensembles/$id/members/9/cancel" >"$T/out"
touch "$HOME/go"
is "$(keep_copy "$id")" same "a copy is right where one was cancelled before its turn"
get "/v1/ensembles/$id/states" >"$T/out"
is "$(cat "$T/body")" "33333333363333333333" "and says so"
rm "$HOME"/go "$HOME"/up.*
id=$(api POST /v1/ensembles "$(spec 9000 "$hold")" | jq -r .id)
wait_for 60 '[ -e "$HOME/up.0" ]'
get "/v1/ensembles/$id/states" >"$T/out"
event=$(header Last-Event-ID)
is "$(tail -c 8990 "$T/body")" "$(printf %08990d 0)" "members that were never tried are pending"
is "$(get "/v1/ensembles/$id/states" --compressed -H 'Accept-Encoding: deflate;q=0, gzip') $(header Content-Encoding) $(tail -c 8990 "$T/body" | md5sum)" \
	"200 gzip $(printf %08990d 0 | md5sum)" "compressed by gzip"
is "$(get "/v1/ensembles/$id/states" --compressed -H 'Accept-Encoding: deflate') $(header Content-Encoding) $(wc -c <"$T/body")" "200 deflate 9000" "by deflate"
is "$(get "/v1/ensembles/$id/states" -H 'Accept-Encoding: br, gzip;q=0') $(header Content-Encoding)" "200 " "by nothing else"
is "$(get "/v1/ensembles/$id/states" -r 4090-4105 -H 'Accept-Encoding: gzip') $(cat "$T/body")" "206 0000000000000000" "a range is not compressed"
api POST "/v1/ensembles/$id/cancel" >"$T/out"
is "$(api_status GET "/v1/ensembles/$id/states?since=$event") $(jq -r .code "$T/api.body")" "410 changes_not_kept" "too many changes at once"
is "$(get "/v1/ensembles/$id/states?since=$event&otherwise=states") $(wc -c <"$T/body") $(header Content-Type)" "200 9000 text/plain" \
	"or the states themselves, for those who want them then"
is "$(api_status GET "/v1/ensembles/$id/states?otherwise=states") $(api_status GET "/v1/ensembles/$id/states?since=1&otherwise=x")" "400 400" "but not for those who want nothing else"
is "$(keep_copy "$id")" same "a copy is right after all were cancelled"
get "/v1/ensembles/$id/states" >"$T/out"
is "$(cat "$T/body")" "$(printf %09000d 0 | tr 0 6)" "all of them are"

# --- a follow-up of many, taken over and cancelled some in a turn; none of them comes to its end before
touch "$HOME/go"
id=$(api POST /v1/ensembles "$(spec 600 "$hold; exit 1" | jq -c '.width = 200 | .pack = 2')" | tee "$T/out" | jq -r .id)
is "$(keep_copy "$id")" same "600 that fail, two in a job"
rm "$HOME/go"
follow=$(api POST "/v1/ensembles/$id/follow-up" '{"states": ["failed"]}' | jq -r .id)
api POST "/v1/ensembles/$follow/pause" >"$T/out"
event=$(get "/v1/ensembles/$follow/states" >"$T/out"; header Last-Event-ID)
api POST "/v1/ensembles/$follow/cancel" >"$T/out"
is "$(keep_copy "$follow")" same "a follow-up of 600 that is cancelled"
is "$(api GET "/v1/ensembles/$follow/states?since=$event" | jq -c '[.members[] | select(. == "cancelled")] | length > 500')" true "its members are told as cancelled"

# --- events that are forgotten
kill_daemon
sqlite3 "$STATE/stretto.db" "DELETE FROM event WHERE id < 100"
start_daemon --config "$T/config.json"
is "$(api_status GET "/v1/ensembles/1/states?since=50") $(jq -r .code "$T/api.body")" "410 changes_not_kept" "what changed since a forgotten event is not known"
is "$(api_status GET "/v1/ensembles/1/states?since=99")" 200 "since the last of them it is"

done_testing
