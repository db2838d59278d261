#!/bin/bash
# The end of an ALPS allocation: members that leave checkpoints are warned before it, none is started that could not get
# to its first one, and the daemon of the next allocation goes on with what is left.
# shellcheck disable=SC2016 # for wait_for
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/alps.sh
. "$srcdir/tests/t/alps.sh"
alps_start 3-4 4
alps_config
apruns() { grep -c '^aprun ' alps/counts; }

# The allocation's end is 12 s after that of what its members have: 2 s for the grace, 10 s for records. Two are started
# as long as there are twice 25 s besides, which is so for 40 s from now on; 25 s after that they are warned.
over=$(($(date +%s) + 40 + 2 * 25)) end=$((over + 12))
export COBALT_ENDTIME=$end.25
echo 2 >pace
start_daemon --config config.json
jq -n --arg program "$srcdir/tests/t/epochs.sh" --arg pace "$T/pace" '{name: "t", adapter: "alps", width: 2, follow_up: {auto: true}, members: {
	command: [$program, "40", $pace], parameters: {grid: {i: [1, 2, 3]}}, retries: 0, resources: {walltime: "10m"}, success: {file: "result"},
	checkpoint: {before: "25s", signal: "USR1", grace: "2s", glob: "*.ckpt", resume: ["--restart", "{checkpoint}"]}}}' >spec.json
jq '.name = "plain" | del(.follow_up, .members.checkpoint, .members.success) | .members.command = ["true"] | .members.parameters.grid.i = [1]' spec.json >plain.json
id=$(submit spec.json)
state() { api GET "/v1/ensembles/$id" | jq -c '[.members.submitted, .members.running, .members.unfinished]'; }
ok "two run" wait_for 30 '[ "$(state)" = "[0,2,0]" ]'
ok "they stop, and the third is not begun" wait_for 60 '[ "$(state)" = "[1,0,2]" ]'
for i in 0 1; do
	api GET "/v1/ensembles/$id/members/$i" >member.json
	is "$(jq -c '.attempts[0] | [.outcome, .exit_code]' member.json)" '["timeout",0]' "out of time, by the allocation's end: it stopped when it was warned"
	ok "before its time was over" test "$(date -d "$(jq -r '.attempts[0].ended' member.json)" +%s)" -lt $over
done
like "$(grep -c "too little is left of the allocation's time" "$DAEMON_LOG")" '^1$' "the third waits, which is told once"
is "$(apruns)" 2 "without an aprun"
plain=$(submit plain.json)
ok "what leaves no checkpoints is started" wait_ensemble "$plain" 30
is "$(jq .members.succeeded ensemble.json)" 1 "and may be done"

# --- another allocation
stop_daemon
echo 0.05 >pace
export COBALT_ENDTIME=$(($(date +%s) + 3600))
start_daemon --config config.json
ok "the next one takes them to the end" wait_for 60 'sleep 0.3; [ "$(api GET "/v1/ensembles/$id" | jq -c "[.family.state, .family.members.succeeded]")" = "[\"complete\",3]" ]'
is "$(api GET "/v1/ensembles/$id/members/2" | jq -c '[.attempts[].outcome]')" '["succeeded"]' "the third at its first attempt"
is "$(find "$STATE"/run/e*/members/0/[01] -name result -exec cat {} + | sort -n | uniq -c | awk '{ print $1 }' | sort -u)" 2 "each epoch once for each of the others"
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
done_testing
