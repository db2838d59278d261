#!/usr/bin/env bash
# Trainings that outlive their jobs are completed by follow-ups, whatever happens: made by themselves, and by crons that
# overlap while the daemon is killed and newest checkpoints are cut in half. FAMILY_MEMBERS=100 FAMILY_EPOCHS=32
# FAMILY_LIMIT=600 for the long form, by hand.
TEST_LIMIT=${FAMILY_LIMIT:-300} MANY_RUNNERS=1
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/families.sh
. "$srcdir/tests/t/families.sh"
members=${FAMILY_MEMBERS:-12} epochs=${FAMILY_EPOCHS:-24}
echo '{"adapters": {"local": {"slots": 24}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

# --- made by themselves
family_spec 3 24 '.follow_up = {auto: true}'
A=$(submit "$T/spec.json")
stretto wait "$A" >"$T/wait.out" 2>&1 &
waits=$!
submit_after() { api POST /v1/ensembles "$(jq -nc --argjson a "$1" '{name: "after", members: {command: ["true"], parameters: {grid: {i: [1]}}}, after: {ensemble: $a}}')" | jq .id; }
after=$(submit_after "$A")
wait_for 60 'sleep 0.2; is_over "$A"' || bail "it does not come to its end by itself"
like "$(family "$A" '[.family.follow_ups, .family.members.succeeded]')" '^\[[1-9][0-9]*,3\]$' "follow-ups are made by themselves until all have succeeded"
is "$(family_faults "$A" 3 24)" "" "the family is in order"
waited=0
wait "$waits" || waited=$?
is "$waited" 0 "stretto wait has waited for all of them"
ok "what begins after it ends" wait_ensemble "$after" 60
is "$(db "SELECT (SELECT max(id) FROM event WHERE kind = 'attempt.ended' AND ensemble <> $after) < (SELECT id FROM event WHERE kind = 'ensemble.begun')")" 1 \
	"and has begun after the last of them"
is "$(stretto follow-up --all)" "" "and needs no more"
rm -r "$STATE"/run/e*

family_spec 1 40 '.follow_up = {auto: true, max: 1}'
B=$(submit "$T/spec.json")
wait_for 60 'sleep 0.2; [ "$(family "$B" .family.state)" = "\"complete\"" ]'
is "$(family "$B" '[.family.follow_ups, .family.members.unfinished]')" '[1,1]' "no more of them than are allowed"
like "$(stretto status)" "$B\.\.[0-9]+ .* unfinished " "work that nobody goes on with is not complete in the list"
like "$(grep -c "has had 1 follow-ups" "$DAEMON_LOG")" '^1$' "which is told"
late=$(submit_after "$B")
like "$(family "$late" .notice.text)" "1 members are unfinished: .stretto follow-up" "what is to begin after it waits for somebody to go on with it"
newest=$(family "$B" .family.newest)
api POST "/v1/ensembles/$newest/cancel" '{}' >"$T/out"
is "$(stretto follow-up "$B" --walltime 5m | cut -d : -f 1)" "ensemble $((late + 1)) follows up $newest" "somebody may ask for another"
wait_for 60 'sleep 0.2; is_over "$B"'
is "$(family "$B" .family.members.succeeded)" 1 "with more time it is the last"
ok "and what was to begin after it ends" wait_ensemble "$late" 60
rm -r "$STATE"/run/e*

# --- crons that overlap, a daemon that is killed, and checkpoints that are cut in half
family_spec "$members" "$epochs"
C=$(submit "$T/spec.json")
family_cron 0.7 &
crons=$!
XDG_STATE_HOME=$T/other family_cron 1 & # with a lock of its own, so that only the daemon keeps the two apart
crons+=" $!"
kills=0 cuts=0 deadline=$((SECONDS + (${FAMILY_LIMIT:-240} - 20) * PATIENCE))
until is_over "$C" || [ $SECONDS -ge $deadline ]; do
	if [ $((kills % 3)) = 0 ]; then # when all that run have ended, and not at any moment
		touch "$T/hold"
		wait_for 60 'sleep 0.2; newest_is_complete "$C"'
	fi
	kill_daemon 2>/dev/null
	kills=$((kills + 1))
	if family_cut "$C"; then cuts=$((cuts + 1)); fi
	start_daemon --config "$T/config.json"
	rm -f "$T/hold"
	stretto follow-up "$C" >>"$T/cron.out" 2>>"$T/hand.err" # somebody who cannot wait
	sleep "1.$((RANDOM % 10))"
done
: >"$T/stop"
# shellcheck disable=SC2086 # pids
wait $crons
is "$(family "$C" .family.members.succeeded)" "$members" "all trainings are complete, though the daemon was killed $kills times"
is "$(family_faults "$C" "$members" "$epochs")" "" "no gap, no repeat, no epoch twice without a reason, no retry, nobody twice"
follow_ups=$(family "$C" .family.follow_ups)
like "$follow_ups" '^[2-9]$|^[1-9][0-9]$' "in several follow-ups"
ok "though checkpoints were cut in half" test $cuts -gt 0
is "$(family_cron_faults)" "" "crons say a line for each follow-up, and complain of the daemon alone"
diag "$members members, $follow_ups follow-ups, $kills kills, $cuts cuts, $(db "SELECT count(*) FROM attempt WHERE ensemble IN
	(SELECT id FROM ensemble WHERE id = $C OR root = $C)") attempts"
done_testing
