#!/bin/bash
# If the first members all fail in the same way, the rest is not started: the ensemble is paused and says why, and goes
# on when the cause is removed. Members that fail in different ways, or succeed, stop nothing.
MANY_RUNNERS=1
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

echo '{"adapters": {"local": {"slots": 2}}}' >config.json
start_daemon --config config.json
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
get() { api GET "/v1/ensembles/$1" | jq -c "$2"; }
# spec COUNT JQ SCRIPT: members that run a shell script
spec() {
	jq -n --argjson count "$1" --arg script "$3" \
		'{name: "s", members: {command: ["sh", "-c", $script], parameters: {grid: {i: [range($count)]}}}} | '"$2" >spec.json
}

# --- a command that is not there
spec 300 ".members.command = [\"$T/solver\", \"{i}\"]" ''
status_is 1 "stretto submit --wait of a wrong command ends" stretto submit --wait spec.json
SAME='the first [0-9]+ members that ended have all failed in the same way \(cannot start .*solver.*no such file\), so no more are started\.'
like "$(cat out)" "ensemble 1 s: paused.*: $SAME.*stretto resume 1" "and reports why"
is "$(get 1 '[.state, .notice.code, .notice.text == .reason]')" '["paused","held",true]' "the ensemble is held for that reason"
like "$(stretto status 1)" "paused: $SAME" "status tells it"
# The number of jobs on their way when the first failures are known depends on the machine. Without the guard there
# would be 1,200.
ok "300 members did not make a job each" test "$(db 'SELECT count(*) FROM job')" -lt 300
is "$(db "SELECT count(*) FROM event WHERE kind = 'ensemble.paused' AND json_extract(detail, '$.reason') LIKE '%no such file%'")" 1 "one event bears it"
status_is 1 "waiting for it ends, too" stretto wait 1
kill_daemon
start_daemon --config config.json
is "$(get 1 '[.state, .notice.code]')" '["paused","held"]' "it is still held after a restart"
ok "it is resumed, and nothing was mended" stretto resume 1
status_is 1 "so it is held again" stretto wait 1
is "$(db "SELECT count(*) FROM event WHERE kind = 'ensemble.paused'")" 2 "with another event"
ok "it still made less than a job for each member and start" test "$(db 'SELECT count(*) FROM job')" -lt 600
program "$T/solver" true
ok "it is mended and resumed" stretto resume 1
is "$(get 1 .reason)" null "no reason is left"
status_is 0 "every member succeeds" stretto wait 1
is "$(get 1 '[.members.succeeded, .members.failed]')" '[300,0]' "all 300"

# --- reasons that differ only in numbers are the same, and it is for the spec to say how many there may be
spec 300 '.max_same_failures = 2 | .members.retries = 0' 'echo "no licence for process $$" >&2; exit 7'
status_is 1 "a spec may have another number" stretto submit --wait spec.json
like "$(get 2 .reason)" 'have all failed in the same way \(.*7' "which then holds"
ok "some were never started" test "$(get 2 .members.pending)" -gt 0
ok "it can be cancelled" stretto cancel 2
for off in 0 null; do
	spec 25 ".max_same_failures = $off | .members.retries = 0" false
	status_is 1 "$off turns it off" stretto submit --wait spec.json
	is "$(jq -c .state <(stretto status "$(db 'SELECT max(id) FROM ensemble')" --json)) $(db "SELECT count(*) FROM member WHERE ensemble = (SELECT max(id) FROM ensemble) AND state = 'failed'")" \
		'"failed" 25' "$off: all of them fail"
done
spec 19 '.members.retries = 0' false
status_is 1 "few members cost little" stretto submit --wait spec.json
is "$(get 5 '[.state, .members.failed, .reason]')" '["failed",19,"all 19 members have failed"]' "all of them fail"

# --- what does not fail in one way
spec 25 '.members.retries = 0' 'exit $((1 + {i} % 2))'
status_is 1 "different failures stop nothing" stretto submit --wait spec.json
is "$(get 6 '[.state, .members.failed]')" '["failed",25]' "all of them fail"
spec 25 '.members.retries = 0 | .width = 1' 'test {i} = 1'
status_is 1 "nor do failures after one has succeeded" stretto submit --wait spec.json
is "$(get 7 '[.state, .members.failed, .members.succeeded]')" '["complete",24,1]' "all others fail"

# --- a number of failures that ends the ensemble
mkfifo go
exec 9<>go
spec 200 '.max_failures = 3 | .max_same_failures = 0 | .members.retries = 0 | .width = 4' \
	"case {i} in 0) read x <$T/go;; esac; exit \$(({i} % 7))"
ID=$(submit spec.json)
ok "after three failures it is ending" wait_for 60 '[ "$(get $ID .notice.code)" = "\"ending\"" ]'
MANY='members have failed, and max_failures lets it start no more after 3; the last: exit status'
like "$(get "$ID" .notice.text)" "$MANY.*those that run go on" "and says why"
is "$(api_status POST "/v1/ensembles/$ID/pause" '{}') $(jq -r .code api.body)" "409 ensemble_over" "it cannot be paused"
ok "what waits is cancelled" wait_for 60 '[ "$(get $ID .members.pending)" = 0 ]'
is "$(get "$ID" '[.state, .members.succeeded, .members.submitted + .members.running > 0]')" '["running",0,true]' "what runs goes on"
is "$(api GET "/v1/ensembles/$ID/members?state=pending" | jq -c .members) $(api GET "/v1/ensembles/$ID/members/199" | jq -r .state)" \
	"[] cancelled" "members that were never tried are cancelled"
kill_daemon
start_daemon --config config.json
is "$(get "$ID" .notice.code)" '"ending"' "it is still ending after a restart"
echo >&9
status_is 1 "it ends with the last that runs" stretto wait "$ID"
like "$(get "$ID" '[.state, .reason]')" "^\[\"failed\",\"[0-9]+ $MANY" "as failed, with the reason"
is "$(get "$ID" '[.members.succeeded, .members.failed >= 3, .members.failed + .members.cancelled, .notice]')" '[1,true,199,null]' \
	"every member is accounted for"
is "$(db "SELECT group_concat(kind) FROM event WHERE ensemble = $ID AND kind IN ('ensemble.ending', 'ensemble.failed', 'ensemble.complete')")" \
	"ensemble.ending,ensemble.failed" "events tell it"
spec 8 '.max_failures = 3 | .members.retries = 0' 'exit $(({i} < 2))'
status_is 1 "fewer failures end nothing" stretto submit --wait spec.json
is "$(api GET "/v1/ensembles/$((ID + 1))" | jq -c '[.state, .members.failed]')" '["complete",2]' "all members were run"

# --- what is wrong with the numbers is told
spec 3 ".max_failures = 0" true
is "$(api_status POST /v1/ensembles @spec.json) $(jq -r .pointer api.body)" "422 /max_failures" "max_failures is at least 1"
for bad in -1 101 '"five"'; do
	spec 3 ".max_same_failures = $bad" true
	is "$(api_status POST /v1/ensembles @spec.json) $(jq -r .pointer api.body)" "422 /max_same_failures" "$bad is refused with its place"
done
done_testing
