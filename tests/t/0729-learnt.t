#!/usr/bin/env bash
# Drawn is not learnt: a training that accumulates gradients goes on from a checkpoint with all samples of which no step of
# its optimiser had the gradients.
TEST_LIMIT=300
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
"$STRETTO_PYTHON" -c 'import torch' 2>"$T/torch" || skip_all "no PyTorch: $(tail -n 1 "$T/torch")"

STEPS=62 # the second half waits for the test
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 16}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"
begin() { # HOW POLICY GO: sets ID
	jq -n --arg rank "$srcdir/tests/t/accumulates-rank.py" --arg how "$1" --arg policy "$2" --arg go "$3" --arg steps $STEPS \
		--arg member "$builddir/tests/t/stream-member" '{name: "\($how)-\($policy)",
		members: {command: [$member, $steps, "-1", $go], parameters: {grid: {i: [0]}}, retries: 0},
		training: {command: ["python3", $rank, $how], retries: 1, checkpoint: {every: "1s"},
			fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
				particles: {dtype: "float32", shape: [-1, 3], max: 40}},
			buffer: {policy: $policy, capacity: 200, threshold: 0, batch: 1}}}' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
}
told() { jq -c "$1" "$T/ensemble.json"; }
learnt() { jq -sc 'add | [length, (unique | length)]' "$STATE/run/e$1/training/g$2"/rank?/learnt.json; } # ID GENERATION
: >"$T/gone"

begin killed fifo "$T/gone"
KILLED=$ID
begin flushes fifo "$T/gone"
FLUSHES=$ID
for policy in fifo firo; do
	begin waits $policy "$T/go-$policy"
	wait_for 60 "[ \"\$(api GET /v1/ensembles/$ID | jq .training.drawn)\" = 31 ]" || bail "the rank does not draw half of the steps"
	api PATCH "/v1/trainings/$(api GET "/v1/ensembles/$ID" | jq .training.id)" '{"ranks": 2}' >"$T/resized.json" || bail "$(cat "$T/resized.json")"
	wait_for 120 "[ \"\$(api GET /v1/ensembles/$ID | jq -c '[.training.generation, .training.state]')\" = '[2,\"running\"]' ]" ||
		bail "no second generation: $(tail -n 5 "$STATE/run/e$ID"/training/g1/rank?/stderr)"
	: >"$T/go-$policy"
	ok "$policy: the ensemble ends" wait_ensemble "$ID" 120
	is "$(told '[.state, .training.generation, .training.unique, .training.drawn]')" "[\"complete\",2,$STEPS,$STEPS]" "$policy: it is complete"
	is "$(learnt "$ID" 2)" "[$STEPS,$STEPS]" "$policy: each sample is learnt once, though three were accumulated when the ranks ended"
done
ok "a rank is killed: the ensemble ends" wait_ensemble "$KILLED" 120
is "$(told '[.state, .training.unique, .training.drawn]')" "[\"complete\",$STEPS,$STEPS]" "it is complete"
is "$(learnt "$KILLED" 1)" "[$STEPS,$STEPS]" "each sample is learnt once, though two were accumulated"
ok "it was killed" test -s "$STATE/run/e$KILLED/training/g1/restarts.json"
ok "the optimiser does not step after the loop: the ensemble ends" wait_ensemble "$FLUSHES" 120
like "$(cat "$STATE/run/e$FLUSHES/training/g1/rank0/stderr")" '2 samples were given out after the last step of the optimiser' "which is said"
done_testing
