#!/usr/bin/env bash
# While members stream, the number of ranks is changed, and daemon, ranks and members are killed, by a seed: the ensemble ends by itself, and the
# model that is left has learnt from every sample, from each once.
# By hand, with other seeds: SEED=7 ROUNDS=100 tests/t/0748-training-disturbed.t
TEST_LIMIT=${TEST_LIMIT:-900}
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"

: "${SEED:=2}" "${ROUNDS:=7}"
diag "SEED=$SEED"
RANDOM=$SEED
MEMBERS=12 STEPS=60
SAMPLES=$((MEMBERS * STEPS))
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 12}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"
# each member sends half of its steps, and waits: so there is something to disturb until the test lets them go on
jq -n --arg rank "$srcdir/tests/t/goes-on-rank.py" --arg steps $STEPS --argjson members $MEMBERS --arg go "$T/go" \
	--arg member "$builddir/tests/t/stream-member" '{name: "disturbed", width: 4,
	members: {command: ["sh", "-c", "exec \"$0\" \"$1\" -1 \"$2.$((STRETTO_MEMBER / 2))\"", $member, $steps, $go],
		parameters: {grid: {i: [range($members)]}}, retries: 100},
	training: {command: ["python3", $rank, "disturbed", $steps], retries: 100, checkpoint: {every: "1h"},
		fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
			particles: {dtype: "float32", shape: [-1, 3], max: 40}},
		buffer: {policy: "fifo", capacity: 40, threshold: 0, batch: 5}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
RUN=$STATE/run/e$ID
training() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
is_running() { [ "$(training '[.training.state, .training.wanted_ranks]')" = '["running",null]' ]; }
victim() { # PATTERN: one of the processes, by chance
	local found
	mapfile -t found < <(left_behind | while read -r pid; do grep -qs "$1" "/proc/$pid/cmdline" && echo "$pid"; done)
	[ ${#found[@]} -eq 0 ] || echo "${found[RANDOM % ${#found[@]}]}"
}
kill_one() { local pid; pid=$(victim "$1"); [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; }
told=
for ((round = 0; round < ROUNDS; round++)); do
	wait_for 240 is_running || bail "round $round:$told: it does not run: $(training .training)"
	case $((RANDOM % 5)) in
	0) told+=" rank"; kill_one goes-on-rank ;;
	1) told+=" member"; kill_one stream-member ;;
	2) told+=" daemon"; kill_daemon; start_daemon --config "$T/config.json" ;;
	3) ranks=$((1 + RANDOM % 3)); told+=" $ranks"; api PATCH "/v1/trainings/$(training .training.id)" "{\"ranks\": $ranks}" >"$T/answer" ;;
	4) ranks=$((1 + RANDOM % 3)); told+=" $ranks+rank"; api PATCH "/v1/trainings/$(training .training.id)" "{\"ranks\": $ranks}" >"$T/answer"
		kill_one goes-on-rank ;;
	esac
	: >"$T/go.$((round * (MEMBERS / 2 - 1) / ROUNDS))" # now and then two members more go on, but for the last two
done
for ((i = 0; i < MEMBERS / 2; i++)); do : >"$T/go.$i"; done
diag "$told"
wait_ensemble "$ID" 300 || bail "$told: it does not end: $(training .)"
E=$(cat "$T/ensemble.json")
field() { jq -c "$1" <<<"$E"; }
is "$(field '[.state, .training.state, .training.unique, .training.drawn]')" "[\"complete\",\"done\",$SAMPLES,$SAMPLES]" \
	"it is complete, and its books balance, after$told"
is "$(jq -sc --argjson steps $STEPS 'map(.learnt[]) | [length, (map(.[0] * $steps + .[1]) | unique | length)]' \
	"$RUN/training/g$(field .training.generation)"/rank?/learnt.json)" "[$SAMPLES,$SAMPLES]" \
	"the model that is left has learnt from every sample, from each once"
done_testing
