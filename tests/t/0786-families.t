#!/usr/bin/env bash
# Trainings that outlive their jobs are completed by follow-ups, whatever happens: made by themselves, and by crons that
# overlap while the daemon is killed. FAMILY_MEMBERS=100 for the long form, by hand.
TEST_LIMIT=${FAMILY_LIMIT:-200}
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
members=${FAMILY_MEMBERS:-12} epochs=20
echo '{"adapters": {"local": {"slots": 24}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

# spec COUNT EPOCHS [JQ]: COUNT trainings of EPOCHS, of which a job has time for five or six
spec() {
	jq -n --arg program "$srcdir/tests/t/epochs.sh" --argjson count "$1" --arg total "$2" '{name: "t", members: {
		command: [$program, $total, "0.25"], env: {EPOCHS_LOUD: "1"}, parameters: {grid: {i: [range($count)]}}, retries: 0,
		resources: {walltime: "3s"}, success: {file: "result"},
		checkpoint: {before: "1500ms", signal: "USR1", grace: "2s", glob: "*.ckpt", attempts: 9,
			resume: ["--restart", "{checkpoint}"]}}} | '"${3:-.}" >"$T/spec.json"
}
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
family() { api GET "/v1/ensembles/$1" | jq -c "$2"; }
is_over() { [ "$(family "$1" '[(.family // .).state, (.family // .).members.unfinished]')" = '["complete",0]' ]; }

# what must hold of a family whose members all succeeded: ROOT MEMBERS EPOCHS
holds() {
	local i in_family="ensemble IN (SELECT id FROM ensemble WHERE id = $1 OR root = $1)"
	seq 1 "$3" >"$T/wanted"
	for ((i = 0; i < $2; i++)); do
		cat "$STATE"/run/e*/members/0/"$i"/a*/result >"$T/history" 2>/dev/null
		cmp -s "$T/history" "$T/wanted" || echo "the history of $i: $(tr '\n' ' ' <"$T/history")"
	done
	db "SELECT idx || ' is newest in ' || count(*) FROM member WHERE $in_family AND heir IS NULL GROUP BY idx HAVING count(*) <> 1;
		SELECT 'attempts of ' || a.idx || ' at once' FROM attempt a JOIN attempt b USING (idx) WHERE a.$in_family AND b.$in_family
			AND (a.ensemble, a.number) < (b.ensemble, b.number) AND a.ended > b.started;
		SELECT idx || ' has spent a retry' FROM member WHERE $in_family AND failures > 0;
		SELECT parent || ' has ' || count(*) || ' follow-ups' FROM ensemble WHERE root = $1 GROUP BY parent HAVING count(*) > 1;
		SELECT idx || ' began at the start again' FROM attempt a WHERE $in_family AND resumed IS NULL AND EXISTS (SELECT 1 FROM
			attempt b WHERE b.$in_family AND b.idx = a.idx AND (b.ensemble, b.number) < (a.ensemble, a.number));
		SELECT 'handed over: ' || count(*) FROM handover HAVING count(*) > 0"
}
# epochs of each member that were computed twice, and how often it was interrupted: 0 where none was too often
too_often() {
	local i n told
	for ((i = 0; i < $2; i++)); do
		told=$(cat "$STATE"/run/e*/members/0/"$i"/a*/stdout | wc -l)
		n=$(db "SELECT count(*) FROM attempt WHERE idx = $i AND ensemble IN (SELECT id FROM ensemble WHERE id = $1 OR root = $1)")
		[ $((told - $3)) -lt "$n" ] || echo "member $i: $told epochs in $n attempts"
	done
}

# --- made by themselves
spec 3 12 '.follow_up = {auto: true}'
A=$(submit "$T/spec.json")
wait_for 60 'is_over "$A"' || bail "it does not come to its end by itself"
like "$(family "$A" '[.family.follow_ups, .family.members.succeeded]')" '^\[[1-9][0-9]*,3\]$' "follow-ups are made by themselves until all have succeeded"
is "$(holds "$A" 3 12)" "" "the family is in order"
is "$(stretto follow-up --all)" "" "and needs no more"
rm -r "$STATE"/run/e*

spec 1 40 '.follow_up = {auto: true, max: 1}'
B=$(submit "$T/spec.json")
wait_for 60 '[ "$(family "$B" .family.state)" = "\"complete\"" ]'
is "$(family "$B" '[.family.follow_ups, .family.members.unfinished]')" '[1,1]' "no more of them than are allowed"
like "$(grep -c "has had 1 follow-ups" "$DAEMON_LOG")" '^1$' "which is told"
newest=$(family "$B" .family.newest)
api POST "/v1/ensembles/$newest/cancel" '{}' >"$T/out"
is "$(stretto follow-up "$B" --walltime 20s | cut -d : -f 1)" "ensemble $((newest + 1)) follows up $newest" "somebody may ask for another"
wait_for 60 'is_over "$B"'
is "$(family "$B" .family.members.succeeded)" 1 "with more time it is the last"
rm -r "$STATE"/run/e*

# --- crons that overlap, and a daemon that is killed
spec "$members" "$epochs"
C=$(submit "$T/spec.json")
cron() {
	until [ -e "$T/stop" ]; do
		stretto follow-up --all >>"$T/cron.out" 2>>"$T/cron.err"
		echo "$?" >>"$T/cron.status"
		sleep 0.3
	done
}
cron &
crons=$!
XDG_STATE_HOME=$T/other cron & # with a lock of its own, so that only the daemon keeps the two apart
crons+=" $!"
kills=0 deadline=$((SECONDS + ${FAMILY_LIMIT:-150} - 20))
until is_over "$C" || [ $SECONDS -ge $deadline ]; do
	sleep 0.$((RANDOM % 10))
	kill_daemon 2>/dev/null
	kills=$((kills + 1))
	start_daemon --config "$T/config.json"
	stretto follow-up "$C" >>"$T/cron.out" 2>>"$T/hand.err" # somebody who cannot wait
	sleep 1.$((RANDOM % 10))
done
: >"$T/stop"
# shellcheck disable=SC2086 # pids
wait $crons
is "$(family "$C" .family.members.succeeded)" "$members" "all trainings are complete, though the daemon was killed $kills times"
is "$(holds "$C" "$members" "$epochs")" "" "the family is in order: no gap, no repeat, no retry, nobody twice"
is "$(too_often "$C" "$members" "$epochs")" "" "at most one epoch was computed twice for each interruption"
follow_ups=$(family "$C" .family.follow_ups)
like "$follow_ups" '^[2-9]$|^[1-9][0-9]$' "in several follow-ups"
is "$(sed 's/ .*//' "$T/cron.err" | sort -u)" "$(grep -o '^stretto:' "$T/cron.err" | sort -u)" "crons complain of the daemon alone"
is "$(grep -v -E '^ensemble [0-9]+ follows up [0-9]+: [0-9]+ members, (running|paused|complete)$' "$T/cron.out")" "" "and say a line for each follow-up"
is "$(sort -u "$T/cron.status" | tr '\n' ' ' | sed 's/4 $//')" "0 " "their status is 0, or 4 where there was no daemon"
diag "$members members, $follow_ups follow-ups, $kills kills"
done_testing
