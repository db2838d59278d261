#!/usr/bin/env bash
# The main job, in which everything is killed: the daemon at chosen calls, runners at theirs, members and launchers at
# random. It ends with the books of an undisturbed run. If a training loses a rank or its runner, that is told.
TEST_LIMIT=300 MANY_RUNNERS=1
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
. "$srcdir/tests/t/kills.sh"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
# pids of its members' processes called NAME: the training runs a heat2d, too, for what it validates with
mine() {
	local pid name
	left_behind | while read -r pid; do
		{ read -r name <"/proc/$pid/comm"; } 2>/dev/null && [ "$name" = "$1" ] || continue
		! grep -q -s -z '^STRETTO_MEMBER=' "/proc/$pid/environ" || echo "$pid"
	done
}
over() { [[ $(api GET "/v1/ensembles/$ID" 2>/dev/null | jq -r .state) = @(complete|cancelled|failed) ]]; }
gone() { ! kill -0 "$DAEMON_PID" 2>/dev/null; }
jq -n --arg python "${STRETTO_PYTHON:-/bin/true}" '{adapters: {local: {slots: 3}}, python: $python}' >"$T/config.json"

# doomed PLAN: a daemon that dies by it (killer.c), and may do so before it is ready
doomed() {
	KILLER_strettod=$1 KILLER_LOTS=${LOTS:-103:15:2} KILLER_LOG=$T/kills LD_PRELOAD=$killer \
		"$builddir/strettod" --state-dir "$STATE" --config "$T/config.json" </dev/null >>"$DAEMON_LOG" 2>&1 &
	DAEMON_PID=$!
	disown $DAEMON_PID # the shell need not tell of its end
}

if [ -x "$builddir/examples/heat/heat2d" ] && [ -n "${STRETTO_PYTHON:-}" ]; then
	MEMBERS=16 STEPS=60
	SAMPLES=$((MEMBERS * STEPS))
	jq ".members.parameters.count = $MEMBERS | .max_same_failures = null | .members.retries = 50
		| .members.command |= (.[2] = \"64\" | .[4] = \"$STEPS\")
		| .training.command |= map(if . == \"20\" then \"$STEPS\" else . end)
		| .training.fields.temperature.shape = [64, 64] | .training.buffer.policy = \"fifo\"" "$srcdir/examples/heat/heat-small.json" >"$T/spec.json"
	start_daemon --config "$T/config.json"
	ID=$(submit "$T/spec.json")
	is "$(db "SELECT kind FROM job WHERE id = 1")" training "the first job is the training's, which is spared"
	kill_daemon
	victims=0
	# each of these calls is made for one or two members: whatever the machine, there are enough of them for all
	for plan in fdatasync:3:before pwrite64:20:after sendmsg:4:before recv:6:after \
		fdatasync:5:after pwrite64:30:before sendmsg:7:after recv:3:before; do
		doomed "$plan:late"
		until=$((SECONDS + 20 * PATIENCE))
		while ! gone && [ $SECONDS -lt $until ] && ! over; do
			if ((RANDOM % 2)); then victim=heat2d; else victim=mpiexec.mpich; fi
			victim=$(mine $victim | shuf -n 1)
			if [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null; then victims=$((victims + 1)); fi
			sleep 0.2 # others are to come to their end
		done
		pid=$DAEMON_PID
		kill_daemon
		wait_for 30 '! kill -0 $pid' # the shell does not wait for one that it has disowned
	done
	start_daemon --config "$T/config.json"
	ok "the ensemble ends" wait_ensemble "$ID" 150
	daemons=$(grep -c '^strettod ' "$T/kills") runners=$(grep -c '^stretto-run ' "$T/kills")
	ok "$daemons daemons at their calls, $runners runners, $victims members and launchers were killed" \
		test "$daemons" -ge 3 -a "$runners" -ge 1 -a $victims -ge 1
	E=$(cat "$T/ensemble.json")
	is "$(jq -r '"\(.state) \(.members.succeeded)"' <<<"$E")" "complete $MEMBERS" "every member succeeded in the end"
	is "$(jq .training.unique <<<"$E")" $SAMPLES "members x steps samples were received, each counted once"
	is "$(jq .training.drawn <<<"$E")" $SAMPLES "each was drawn at least once"
	is "$(jq '.training.received - .training.duplicates' <<<"$E")" $SAMPLES "received = unique + duplicates"
	is "$(jq .unique_drawn "$STATE/run/e$ID/training/g1/rank0/books.json")" $SAMPLES \
		"the trainer counted as many by itself"
	is "$(db "SELECT count(*) FROM attempt a JOIN attempt b USING (ensemble, idx) WHERE a.number < b.number
		AND a.ended > b.started")" 0 "no member ran twice at once"
	is "$(db "SELECT count(*) FROM attempt WHERE outcome IS NULL OR outcome NOT IN ('succeeded', 'failed', 'lost')
		OR (outcome <> 'succeeded' AND ifnull(reason, '') = '')")" 0 "each attempt has its end, and why"
	diag "$(db "SELECT outcome, count(*), max(reason) FROM attempt GROUP BY outcome")"
	stop_daemon
	is "$DAEMON_STATUS" 0 "the daemon ends cleanly"
else
	skip "no heat2d, or no Python with PyTorch"
fi

# --- a rank, or the runner of a training, is killed, with the daemon there or not
cat >"$T/rank.sh" <<'EOF'
case $STRETTO_TRAINING_DIR in */g1) ;; *) exit 3 ;; esac
echo $$ >"$1"
d=$STRETTO_STREAM/g1-rank0.json
echo '{"version": 1, "generation": 1, "rank": 0, "ranks": 1, "host": "h", "endpoints": ["ipc:///nowhere"]}' >"$d.tmp"
mv "$d.tmp" "$d"
sleep 600
EOF
jq -n --arg t "$T" '{name: "t", width: 2, members: {command: ["sleep", "600"], parameters: {grid: {i: [range(3)]}}},
	training: {retries: 0, command: ["sh", ($t + "/rank.sh"), ($t + "/rank.pid")], fields: {u: {dtype: "float32", shape: [4]}}}}' \
	>"$T/spec.json"
start_daemon --config "$T/config.json"
for daemon in there gone; do
	for victim in rank runner; do
		rm -f "$T/rank.pid"
		ID=$(submit "$T/spec.json")
		wait_for 30 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.running)" = 2 ]' || bail "no member runs"
		[ $daemon = there ] || kill_daemon
		pid=$(cat "$T/rank.pid")
		[ $victim = rank ] || pid=$(awk '{print $4}' "/proc/$pid/stat")
		kill -KILL "$pid"
		[ $daemon = there ] || start_daemon --config "$T/config.json"
		ok "a training's $victim is killed, the daemon is $daemon: the ensemble ends" wait_ensemble "$ID" 60
		wait_for 60 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.cancelled)" = 3 ]'
		E=$(api GET "/v1/ensembles/$ID")
		is "$(jq -r '"\(.state) \(.training.state) \(.members.cancelled)"' <<<"$E")" "failed failed 3" \
			"failed, with all its members cancelled, since the training failed"
		why=runner
		[ $victim = runner ] || why='signal 9'
		like "$(jq -r '"\(.reason) | \(.training.reason)"' <<<"$E")" "^the training failed.*exit status 3.* [|] .*exit status 3" \
			"and both say why"
		like "$(api GET "/v1/trainings/$(jq .training.id <<<"$E")/generations" | jq -r '.generations[1] | "\(.end): \(.reason)"')" "^lost: .*$why" \
			"the generation that was killed was not, since that costs no retry"
		is "$(db "SELECT count(*) FROM attempt WHERE ensemble = $ID AND ifnull(outcome, '') <> 'cancelled'")" 0 \
			"what ran is told to have been cancelled"
		wait_for 20 '[ -z "$(mine sleep)" ]'
		is "$(mine sleep)" "" "and nothing of it runs on"
	done
done
done_testing
