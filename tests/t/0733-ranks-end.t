#!/usr/bin/env bash
# One of two ranks of PyTorch's DistributedDataParallel ends before the other: out of batches, by rx.done(), by leaving its
# loop or its group, or with its process. Nobody waits for ever, and who began is named.
TEST_LIMIT=400
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
"$STRETTO_PYTHON" -c 'import torch' 2>"$T/torch" || skip_all "no PyTorch: $(tail -n 1 "$T/torch")"

MEMBERS=2 STEPS=40
SAMPLES=$((MEMBERS * STEPS))
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 32}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"
begin() { # HOW FIRST CAPACITY: sets ID
	jq -n --arg rank "$srcdir/tests/t/ends-rank.py" --arg how "$1" --arg first "$2" --arg mark "$T/mark-$1-$2" --argjson capacity "$3" \
		--arg member "$builddir/tests/t/stream-member" --arg steps $STEPS --argjson members $MEMBERS '{name: "\($how)-\($first)",
		members: {command: [$member, $steps], parameters: {grid: {i: [range($members)]}}, retries: 0},
		training: {command: ["python3", $rank, $how, $first, $mark], ranks: 2, retries: 0, checkpoint: {}, failure_after: "10s",
			fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
				particles: {dtype: "float32", shape: [-1, 3], max: 40}},
			buffer: {policy: "fifo", capacity: $capacity, threshold: 0, batch: 1}}}' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
}
told() { jq -c "$1" "$T/ensemble.json"; }

for first in 0 1; do
	begin out $first 200
	wait_for 120 "[ -e '$T/mark-out-$first' ]" || bail "rank $first is never out of batches: $(tail -n 5 "$STATE/run/e$ID"/training/g1/rank?/stderr)"
	api PATCH "/v1/trainings/$(api GET "/v1/ensembles/$ID" | jq .training.id)" '{"ranks": 1}' >"$T/resized.json" || bail "$(cat "$T/resized.json")"
	ok "the ranks end though rank $first has no more batches" wait_ensemble "$ID" 120
	is "$(told '[.state, .training.state, .training.generation, .training.failures, .training.unique, .training.drawn]')" \
		"[\"complete\",\"done\",2,0,$SAMPLES,$SAMPLES]" "they save the last checkpoint, and one rank goes on from it"
	is "$(jq -c '[length, (unique | length)]' "$STATE/run/e$ID/training/g2/rank0/learnt.json")" "[$SAMPLES,$SAMPLES]" "each sample is learnt once"
	is "$(jq -r .begin "$STATE/run/e$ID/training/g2/rank0/state.json")" \
		"$(jq -r .end "$STATE/run/e$ID/training/g1/rank$((1 - first))/state.json")" "the model is that of the rank that learnt on"
done

# --- those that cannot go on, or need not

begin done 1 200
DONE=$ID
begin leaves 0 200
LEAVES=$ID
begin exit 1 200
EXIT=$ID
begin breaks 0 8
BREAKS=$ID
begin thread 1 200
THREAD=$ID
fails() { # ID REGEX NAME
	ok "$3: it ends" wait_ensemble "$1" 120
	is "$(told '[.state, .training.state]')" '["failed","failed"]' "$3: the training fails"
	like "$(told .training.reason)" "$2" "$3: the reason names who began"
}
fails "$DONE" 'rank 1 failed.*rank 1 ended by rx.done\(\), after 3 batches, while rank 0 went on' "one rank calls rx.done()"
fails "$LEAVES" 'rank 0 failed.*rank 0 ended by leaving its loop.*, after 3 batches, while rank 1 went on' "one rank leaves the group"
fails "$EXIT" 'rank 1 failed.*exit status 0.*rx.done\(\)' "one rank ends with status 0"
ok "one rank leaves its loop in join(), and its buffer is full: it ends" wait_ensemble "$BREAKS" 120
is "$(told '[.state, .training.state, (.training.ended_early != null)]')" '["complete","done",true]' "the training is done for all"
like "$(cat "$STATE/run/e$BREAKS/training/g1/rank0/stderr")" 'rank 0 has left its loop after 3 batches, without rx.done\(\)' "who began is named"
ok "a thread is left after rx.done(): it ends" wait_ensemble "$THREAD" 120
is "$(told '[.state, .training.state, .training.unique, .training.drawn]')" "[\"complete\",\"done\",$SAMPLES,$SAMPLES]" "the training is done all the same"
done_testing
