#!/usr/bin/env bash
# Members that stream into a full buffer and leave checkpoints are killed at random, with their runners, the ranks and
# the daemon: at the end either every step of every member was used, or the ensemble says that it was not.
#
# KILLS (12), MEMBERS (8), STEPS (8 for each kill), SEED (drawn): more, or the same again, by hand.
TEST_LIMIT=${LIMIT:-200}
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
KILLS=${KILLS:-12} MEMBERS=${MEMBERS:-8} STEPS=${STEPS:-$((8 * KILLS))} RANDOM=${SEED:=$RANDOM}
diag "SEED=$SEED"
jq -n --arg python "$STRETTO_PYTHON" --argjson members "$MEMBERS" '{adapters: {local: {slots: ($members + 2)}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

# Slower than its members, until nobody is killed any more.
cat >"$T/rank.py" <<'EOF2'
import os, sys, time, stretto.train
with stretto.train.open() as rx:
    for batch in rx.batches():
        if not os.path.exists(sys.argv[1]):
            time.sleep(0.2)
    rx.done()
EOF2
jq -n --arg t "$T" --arg member "$builddir/tests/t/held-member" --argjson members "$MEMBERS" --arg steps "$STEPS" '{name: "killed",
	width: $members, members: {command: [$member, "both", $steps, "7", "20000"], parameters: {grid: {i: [range($members)]}}, retries: 1000,
		checkpoint: {glob: "*.ckpt", attempts: 1000}},
	training: {command: ["python3", ($t + "/rank.py"), ($t + "/over")], ranks: 2, retries: 1000, steps: ($steps | tonumber),
		fields: {data: {dtype: "uint8", shape: [20000]}}, buffer: {policy: "fifo", capacity: 40, threshold: 0, batch: 2}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
RUN=$STATE/run/e$ID
ensemble() { api GET "/v1/ensembles/$ID" | jq -r "$1"; }

# The pids of our processes of that name.
named() {
	local pid
	for pid in $(left_behind); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$1" ] || echo "$pid"
	done
}
runner_pids() { jq -r '.pid // empty' "$RUN"/jobs/*/claim.json 2>/dev/null; }
rank_pids() { # each rank's first process
	runner_pids | while read -r runner; do pgrep -P "$runner" python3; done
}
live_runners() { # of members
	runner_pids | while read -r runner; do ! pgrep -P "$runner" held-member >/dev/null || echo "$runner"; done
}
one_of() { shuf -n 1 --random-source=<(yes "$RANDOM"); }
declare -A killed=([daemon]=0 [rank]=0 [runner]=0 [member]=0)
kill_one() { # WHAT PID...
	[ -n "${2:-}" ] && kill -KILL "$2" 2>/dev/null && killed[$1]=$((killed[$1] + 1))
}
for ((n = 0; n < KILLS; )); do
	# a rank that was killed stops them all for a while
	wait_for 60 '[ "$(ensemble .state)" != running ] || [ -n "$(named held-member)" ]' || bail "nothing goes on: $(ensemble .)"
	[ "$(ensemble .state)" = running ] || break
	sleep "0.$((RANDOM % 5))$((RANDOM % 10))" # until some moment
	case $((RANDOM % 12)) in
	0 | 1)
		kill_daemon
		killed[daemon]=$((killed[daemon] + 1))
		start_daemon --config "$T/config.json"
		;;
	2) # the training waits twice as long each time that it begins anew
		[ "${killed[rank]}" -lt 5 ] && kill_one rank "$(rank_pids | one_of)" || continue
		;;
	3 | 4) kill_one runner "$(live_runners | one_of)" || continue ;;
	*) kill_one member "$(named held-member | one_of)" || continue ;;
	esac
	n=$((n + 1))
done
: >"$T/over"
wait_ensemble "$ID" 60
diag "killed: ${killed[daemon]} times the daemon, ${killed[rank]} ranks, ${killed[runner]} runners, ${killed[member]} members"
diag "$(jq -c '{state, reason, members, generation: .training.generation, missing: .training.missing, unique: .training.unique, drawn: .training.drawn, duplicates: .training.duplicates}' "$T/ensemble.json")"
status=0
stretto wait "$ID" >"$T/out" 2>&1 || status=$?
like "$status $(jq .training.unique "$T/ensemble.json")" "^(0 $((MEMBERS * STEPS))|[1-9].*)$" \
	"every step of every member was used, or the exit status is not 0"
diag "exit status $status, resumed $(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM attempt WHERE resumed IS NOT NULL") of $(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM attempt") attempts"
done_testing
