#!/usr/bin/env bash
# One member is cancelled, and the ensemble goes on: one that runs, one that waits, one that was never tried, one that
# shares its job.
# shellcheck disable=SC2016 # for wait_for
. "${srcdir:-.}/tests/t/lib.sh"

echo '{"adapters": {"local": {"slots": 2}}}' >config.json
start_daemon --config config.json
mkfifo go
exec 9<>go
spec() { # COUNT COMMAND [JQ]
	jq -n --argjson count "$1" --arg command "$2" '{name: "c", width: 2, members: {command: ["sh", "-c", $command], retries: 2,
		parameters: {grid: {i: [range($count)]}}}} | '"${3:-.}" >spec.json
	ID=$(submit spec.json)
}
cancel() { api_status POST "/v1/ensembles/$ID/members/$1/cancel"; }
state() { api GET "/v1/ensembles/$ID/members/$1" | jq -r '"\(.state) \(.attempts | length)"'; }
reason() { api GET "/v1/ensembles/$ID/members/$1" | jq -r '.attempts[-1].reason'; }
restart() { kill_daemon; start_daemon --config config.json; }

# --- one that runs, and one that was never tried
spec 6 "read x <$T/go"
wait_for 20 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.running)" = 2 ]' || bail "nothing runs"
is "$(cancel 0) $(jq -c '[.cancelled, .ensemble.state]' api.body)" '202 [true,"running"]' "one that runs"
is "$(cancel 0) $(jq .cancelled api.body)" "202 true" "once more"
ok "it is ended" wait_for 30 '[ "$(state 0)" = "cancelled 1" ]'
is "$(reason 0)" "cancelled" "for that reason"
status_is 0 "on the command line" stretto cancel "$ID.5"
like "$(cat out)" "^member $ID\\.5: cancelled" "one that was never tried"
restart
is "$(cancel 6) $(jq -r .code api.body)" "404 member_not_found" "not one that is not there"
status_is 0 "the ensemble is there" stretto status "$ID"
printf 'x\nx\nx\nx\n' >&9
wait_ensemble "$ID" 30
is "$(jq -c '[.state, .members.succeeded, .members.cancelled]' ensemble.json)" '["complete",4,2]' "all others go on to the end, over kill -9 of the daemon"
is "$(state 5)" "cancelled 0" "and it was never started"
is "$(cancel 1) $(jq .cancelled api.body)" "202 false" "what has succeeded is not cancelled any more"
status_is 1 "as the command says, too" stretto cancel "$ID.1"
status_is 0 "what is cancelled is" stretto cancel "$ID.5"
is "$(api GET "/v1/events?ensemble=$ID&kind=member.cancelled" | jq '.events | length')" 2 "each is an event, once"
is "$(api_status POST "/v1/ensembles/$ID/members/5/resubmit") $(jq .resubmitted api.body)" "202 1" "it may go again"
echo x >&9
wait_ensemble "$ID" 30
is "$(state 5)" "succeeded 1" "and does"

# --- one that waits to be tried again
spec 1 'exit 1' '.members.retries = 100'
wait_for 20 '[ "$(api GET "/v1/ensembles/$ID/members/0" | jq -r "[.state, (.attempts | length > 1)] | @csv")" = "\"pending\",true" ]'
is "$(cancel 0) $(jq .cancelled api.body)" "202 true" "one that waits for its next try"
ok "is not tried again" wait_ensemble "$ID" 30
is "$(jq -c '[.state, .members.cancelled]' ensemble.json)" '["complete",1]' "the ensemble is complete"

# --- those that share a job
spec 2 "read x <$T/go" '.pack = 2'
wait_for 20 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.running)" = 2 ]' || bail "nothing runs"
is "$(cancel 0) $(jq .cancelled api.body)" "202 true" "one that shares its job"
restart
is "$(state 0)" "running 1" "is not ended while the other runs"
is "$(cancel 1)" 202 "both"
ok "end the job" wait_ensemble "$ID" 30
is "$(jq -c '[.state, .members.cancelled]' ensemble.json)" '["complete",2]' "both are cancelled"

# --- an ensemble that is cancelled
spec 2 "read x <$T/go"
api POST "/v1/ensembles/$ID/cancel" >/dev/null
wait_for 30 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.cancelled)" = 2 ]'
is "$(cancel 1) $(jq .cancelled api.body)" "202 true" "all members of a cancelled ensemble are"
done_testing
