#!/usr/bin/env bash
# Trainings that need several jobs each, while the daemon is killed, runners are told to end or killed, and newest
# checkpoints are cut in half: all are finished, with histories without gap or repeat, and no retry is spent.
#
# MEMBERS (20), EPOCHS (10), SEED (drawn): more, by hand.
TEST_LIMIT=${LIMIT:-240} MANY_RUNNERS=1
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
MEMBERS=${MEMBERS:-20} EPOCHS=${EPOCHS:-10} RANDOM=${SEED:=$RANDOM}
diag "SEED=$SEED"
echo '{"adapters": {"local": {"slots": 10}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

jq -n --arg epochs "$srcdir/tests/t/epochs.sh" --argjson count "$MEMBERS" --arg total "$EPOCHS" '{name: "t", members: {
	command: [$epochs, $total, "0.4"], parameters: {grid: {i: [range($count)]}}, retries: 0, resources: {walltime: "2500ms"},
	success: {file: "result"}, checkpoint: {before: "1s", signal: "USR1", grace: "2s", glob: "*.ckpt", attempts: 20,
	resume: ["--restart", "{checkpoint}"]}}, pack: 2}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
run=$STATE/run/e$ID
sql() { sqlite3 -readonly "$STATE/stretto.db" ".timeout 5000" "$1"; }

# One that has stopped, or is to go on: nobody writes to its directory meanwhile.
halve_one() {
	local index file
	index=$(sql "SELECT idx FROM member WHERE ensemble = $ID AND state = 'unfinished' ORDER BY random() LIMIT 1")
	[ -n "$index" ] || return 0
	file=$(sql "SELECT path FROM member_checkpoint WHERE home = $ID AND idx = $index ORDER BY number DESC LIMIT 1")
	file=$run/members/0/$index/checkpoint/$file
	[ -f "$file" ] && truncate -s "$(($(stat -c %s "$file") / 2))" "$file" && halved=$((halved + 1))
}
under_way() { sql "SELECT name FROM job WHERE ensemble = $ID AND state = 'running' ORDER BY random() LIMIT 1"; }
# A runner of a job under way, once there is one: $1 its signal
end_one() {
	local name='' pid
	# shellcheck disable=SC2016 # for wait_for
	wait_for 20 'name=$(under_way); [ -n "$name" ] || [ "$(api GET "/v1/ensembles/$ID" | jq -r .state)" = complete ]'
	pid=$([ -z "$name" ] || jq -r '.pid // empty' "$run/jobs/$name/claim.json" 2>/dev/null)
	[ -n "$pid" ] && kill "-$1" "$pid" 2>/dev/null && ended=$((ended + 1))
}
halved=0 ended=0 killed=0
for ((round = 0; round < 60; round++)); do
	case $((round % 3)) in
	0) end_one TERM ;;
	1) end_one KILL ;;
	esac
	if [ $((RANDOM % 3)) -eq 0 ]; then
		kill_daemon
		killed=$((killed + 1))
		start_daemon --config "$T/config.json"
	fi
	wait_ensemble "$ID" 60 || break
	[ "$(jq -r .members.unfinished "$T/ensemble.json")" -gt 0 ] || break
	halve_one
	api POST "/v1/ensembles/$ID/resubmit" '{"states": ["unfinished"]}' >/dev/null
	sleep "0.$((RANDOM % 10))" # until some moment
done
diag "$round rounds, $halved checkpoints cut in half, $ended runners ended, $killed times the daemon"
is "$(jq -r '"\(.state) \(.members.succeeded)"' "$T/ensemble.json")" "complete $MEMBERS" "all members are finished"
# of those that succeeded: a runner may be killed just after its member is done, which is then done once more
sql "SELECT '$run/members/0/' || idx || '/a' || number || '/result' FROM attempt WHERE ensemble = $ID AND outcome = 'succeeded' ORDER BY idx" |
	xargs cat >"$T/histories"
for ((i = 0; i < MEMBERS; i++)); do seq "$EPOCHS"; done >"$T/wanted"
ok "their histories are without gap or repeat" cmp "$T/histories" "$T/wanted"
is "$(sql "SELECT sum(failures) FROM member WHERE ensemble = $ID")" 0 "no retry was spent"
is "$(sql "SELECT count(*) FROM attempt WHERE ensemble = $ID AND outcome = 'failed'")" 0 "no attempt failed: no half of a checkpoint was taken"
ok "runners were ended, and checkpoints cut" test "$halved" -gt 0 -a "$ended" -gt 0
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
done_testing
