#!/usr/bin/env bash
# A training goes on from its checkpoints, after its rank was killed and at the end of its time: the model that is left
# has learnt from every sample, from each once, and members of which nothing is missing do not run again.
TEST_LIMIT=600
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"

MEMBERS=8 STEPS=10
SAMPLES=$((MEMBERS * STEPS))
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

go_on() { # MODE CHECKPOINT [RESOURCES]
	jq -n --arg rank "$srcdir/tests/t/goes-on-rank.py" --arg mode "$1" --argjson checkpoint "$2" --argjson resources "${3:-{\}}" \
		--arg steps $STEPS --argjson members $MEMBERS --arg member "$builddir/tests/t/stream-member" '{name: $mode, width: 1,
		members: {command: [$member, $steps], parameters: {grid: {i: [range($members)]}}},
		training: {command: ["python3", $rank, $mode, $steps], retries: 2, checkpoint: $checkpoint, resources: $resources,
			fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
				particles: {dtype: "float32", shape: [-1, 3], max: 40}},
			buffer: {policy: "fifo", capacity: 40, threshold: 0, batch: 5}}}' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
	RUN=$STATE/run/e$ID
	wait_ensemble "$ID" 280 || bail "it does not end: $(tail -n 5 "$RUN"/training/g*/rank0/stderr)"
	E=$(cat "$T/ensemble.json")
}
field() { jq -c "$1" <<<"$E"; }
attempts() { api GET "/v1/ensembles/$ID/members?limit=100" | jq -c '[.members[].attempts | if type == "number" then . else length end]'; }
learnt_all() { # from what the model that is left has learnt
	is "$(jq -c --argjson steps $STEPS '[.learnt | length, (unique | length), (map(.[0] * $steps + .[1]) | max)]' "$RUN/training/g3/rank0/learnt.json")" \
		"[$SAMPLES,$SAMPLES,$((SAMPLES - 1))]" "the model that is left has learnt from every sample, from each once"
	is "$(field '[.state, .training.state, .training.generation, .training.unique, .training.drawn]')" \
		"[\"complete\",\"done\",3,$SAMPLES,$SAMPLES]" "the ensemble is complete with the third generation, and its books balance"
	is "$(api GET "/v1/trainings/$(field .training.id)/metrics?buckets=10000" |
		jq -c '[.series.loss.buckets[] | .count] | [length, add]')" "[$((SAMPLES / 5)),$((SAMPLES / 5))]" \
		"the loss curve has each batch once, without a gap"
}

go_on killed '{"every": "1h", "retain": 0}'
learnt_all
is "$(field '[.training.failures, .training.resumed_from]')" '[0,"g2-s8"]' "both deaths have cost no retry, since each generation had got further"
is "$(attempts | jq -c '.[:3]')" '[1,1,2]' "members of which a checkpoint has everything do not run again"
is "$(attempts | jq -c '.[4] > 1')" true "one whose samples were lost does"

# the rank learns on while a thread writes what it was at the checkpoint
go_on behind '{"every": "1h", "retain": 0}'
learnt_all
is "$(field '[.training.failures, .training.resumed_from]')" '[0,"g2-s12"]' "both deaths have cost no retry"
is "$(api GET "/v1/events?ensemble=$ID&kind=training.checkpoint&limit=1000" | jq -c '[.events[].detail.name]')" \
	'["g1-s4","g2-s12","g3-s16"]' "a checkpoint that was being written when the rank was killed, or that could not be written, never counted"
like "$(cat "$RUN/training/g2/rank0/stderr")" "the checkpoint of step 8 is not saved.*No space left on device" "the rank's output tells why"

go_on warned '{"before": "1m"}' '{"walltime": "1h"}'
learnt_all
is "$(field '[.training.failures, .training.resumed_from]')" '[0,"g2-s10"]' "an end of the time is no failure"
is "$(attempts | jq -c 'unique')" '[1]' "no member runs again, as the buffer is handed over, and members go on with the next generation"
done_testing
