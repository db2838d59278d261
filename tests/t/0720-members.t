#!/usr/bin/env bash
# Members of an ensemble without a training: retries, reasons, limits, output, cancel.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"
trap '' QUIT USR1
start_daemon --config "$T/config.json" # it ignores these, as what shells and batch systems start in the background may
trap - QUIT USR1

# spec COUNT SCRIPT [JQ]: a spec of COUNT members that run a shell script; the parameter is i
spec() {
	jq -n --arg script "$2" --argjson count "$1" '{name: "t", members: {command: ["sh", "-c", $script],
		parameters: {grid: {i: [range($count)]}}, retries: 0}} | '"${3:-.}" >"$T/spec.json"
}
member() { api GET "/v1/ensembles/$ID/members/$1" | jq -r "$2"; }
ended() { wait_ensemble "$ID" 60; jq -r "$1" "$T/ensemble.json"; }

spec 20 'echo "member $STRETTO_MEMBER of $STRETTO_ENSEMBLE: {i}"; echo oops >&2; test {i} -ne 7'
ID=$(submit "$T/spec.json")
is "$(ended '"\(.state) \(.members.succeeded) \(.members.failed)"')" "complete 19 1" "one fails, the ensemble goes on"
is "$(api GET "/v1/ensembles/$ID/members/3/stdout")" "member 3 of $ID: 3" "its output is kept"
is "$(api GET "/v1/ensembles/$ID/members/3/stderr")" "oops" "and its standard error"
is "$(member 7 '.attempts[0] | "\(.outcome) \(.exit_code)"')" "failed 1" "the attempt says how it ended"
like "$(member 7 .reason)" 'exit status 1.*oops' "and the member why, with the last line of its standard error"
is "$(api GET "/v1/ensembles/$ID/members?state=failed" | jq -c '[.members[].index]')" '[7]' "failed members are listed"

spec 1 'echo "{index} $STRETTO_PARAMS"' 'del(.members.parameters)'
ID=$(submit "$T/spec.json")
is "$(ended '"\(.count) \(.width) \(.members.succeeded)"')" "1 1 1" "without parameters there is one member"
is "$(api GET "/v1/ensembles/$ID/members/0/stdout") $(member 0 '.parameters | tojson')" "0 {} {}" "which has none"

# (Signals 32 and 33 are the C library's own, which it lets nobody change.)
spec 1 'grep -E "SigIgn|SigBlk" /proc/self/status'
ID=$(submit "$T/spec.json")
is "$(ended .members.succeeded; api GET "/v1/ensembles/$ID/members/0/stdout" | while read -r _ set; do echo $((0x$set & ~0x180000000)); done)" "1
0
0" "no signal is ignored or blocked in it, whatever the daemon and its runner ignore"

spec 3 'test "$STRETTO_ATTEMPT" -ge 2' '.members.retries = 2'
ID=$(submit "$T/spec.json")
is "$(ended '.members.succeeded')" 3 "a failed attempt is retried"
is "$(member 1 '[.attempts[].outcome] | join(" ")')" "failed succeeded" "and every attempt is kept"

spec 2 'test {i} = 0 && : >result; exit 0' '.members.success = {file: "result"}'
ID=$(submit "$T/spec.json")
is "$(ended '"\(.members.succeeded) \(.members.failed)"')" "1 1" "success is judged by the file that it leaves, not by exit 0"

spec 1 'sleep 100 & sleep 100' '.members.resources = {walltime: "1s"}'
ID=$(submit "$T/spec.json")
is "$(ended '.members.failed')" 1 "a member is ended at its walltime"
is "$(member 0 '.attempts[0].outcome')" timeout "and that is what its attempt says"

spec 1 'kill -SEGV $$'
ID=$(submit "$T/spec.json")
is "$(ended '.members.failed')" 1 "a member that a signal of its own ends has failed"
is "$(member 0 '.attempts[0].signal')" 11 "by signal 11"

spec 1 true '.members.command = ["no-such-program"]'
ID=$(submit "$T/spec.json")
is "$(ended '.members.failed')" 1 "a program that is not there is a failure"
like "$(member 0 .reason)" 'no-such-program.*not found' "told as such"

# packing: ten members share a job, each with what is its own
spec 10 'echo "$STRETTO_MEMBER $STRETTO_SEED $(pwd)"; test {i} -ne 4' \
	'.pack = 10 | .members.resources = {cpus_per_task: 1}'
is "$(api_status POST /v1/ensembles "@$T/spec.json")" 422 "a pack that cannot fit the slots is refused"
is "$(jq -r .code "$T/api.body")" resources_impossible "with the reason"
spec 10 'echo "$STRETTO_MEMBER $STRETTO_SEED $(pwd)"; test {i} -ne 4' '.pack = 4'
ID=$(submit "$T/spec.json")
is "$(ended '"\(.members.succeeded) \(.members.failed)"')" "9 1" "packed members fail on their own"
is "$(for i in 0 1 2 3 4 5 6 7 8 9; do api GET "/v1/ensembles/$ID/members/$i/stdout"; done | sort -u | wc -l)" 10 \
	"with index, seed and directory of their own"
is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM job WHERE ensemble = $ID")" 3 "in three jobs"

# the width is kept
spec 12 'd='"$T"'/w; mkdir -p $d; : >$d/$$; ls $d | wc -l >>'"$T"'/widths; sleep 0.2; rm $d/$$' '.width = 2'
ID=$(submit "$T/spec.json")
is "$(ended '.members.succeeded')" 12 "narrow ensembles end as well"
ok "never more than width members at once" test "$(sort -n "$T/widths" | tail -1)" -le 2

# cancel: pending ones at once, running ones with all their processes
nap=300.0$$ # no other test's
spec 100 'setsid sleep '"$nap"' & trap "" TERM; sleep '"$nap"' & wait' '.width = 3'
ID=$(submit "$T/spec.json")
wait_for 20 '[ "$(api GET /v1/ensembles/$ID | jq .members.running)" = 3 ]' || bail "nothing runs"
is "$(api_status POST "/v1/ensembles/$ID/cancel")" 202 "cancel is accepted"
is "$(jq -r '"\(.state) \(.members.pending)"' "$T/api.body")" "cancelled 0" "what was pending is cancelled at once"
wait_for 40 '[ "$(api GET /v1/ensembles/$ID | jq .members.cancelled)" = 100 ]'
is "$(api GET "/v1/ensembles/$ID" | jq .members.cancelled)" 100 "the rest when it has ended"
ok "no process of it is left" wait_for 5 "! pgrep -f 'sleep $nap'"
is "$(api_status POST "/v1/ensembles/$ID/cancel")" 202 "cancelling again is no error"
is "$(api_status POST /v1/ensembles/4711/cancel)" 404 "there is no ensemble 4711"

# a million members cost nothing until they run
spec 1 'exit 0' '.members.parameters = {method: "monte-carlo", count: 1000000, space: {x: [0, 1]}} | .width = 1
	| .members.command = ["sleep", "600"]'
ID=$(submit "$T/spec.json")
is "$(api GET "/v1/ensembles/$ID/members/999999" | jq -r '"\(.state) \(.parameters.x | type)"')" "pending number" \
	"a million members are accepted at once, the last one has its parameters"
ok "and no rows" test "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM member WHERE ensemble = $ID")" -le 1
api POST "/v1/ensembles/$ID/cancel" >/dev/null
ok "it is cancelled" wait_for 20 '[ "$(api GET /v1/ensembles/$ID | jq .members.cancelled)" = 1000000 ]'
done_testing
