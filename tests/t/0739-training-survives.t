#!/usr/bin/env bash
# A rank that is killed goes on where it is, with all samples that it held: no member runs again, none sends anything
# twice, and the model that is left has learnt from every sample, from each once.
TEST_LIMIT=600
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"

MEMBERS=8 STEPS=10
SAMPLES=$((MEMBERS * STEPS)) HOURLY='{"every": "1h"}'
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

survive() { # NAME DEATHS [RANKS] [CHECKPOINT] [CAPACITY] [EVERY]
	jq -n --arg name "$1" --argjson retries "${RETRIES:-2}" --arg rank "$srcdir/tests/t/survive-rank.py" --arg deaths "$2" --argjson ranks "${3:-1}" \
		--argjson checkpoint "${4:-$HOURLY}" --argjson capacity "${5:-40}" --arg every "${6:-4}" --arg steps $STEPS \
		--argjson members $MEMBERS --arg member "$builddir/tests/t/stream-member" '{name: $name, width: 2,
		members: {command: [$member, $steps], parameters: {grid: {i: [range($members)]}}},
		training: {command: ["python3", $rank, $deaths, $every], ranks: $ranks, retries: $retries, checkpoint: $checkpoint,
			fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
				particles: {dtype: "float32", shape: [-1, 3], max: 40}},
			buffer: {policy: "fifo", capacity: $capacity, threshold: 0, batch: 5}}}' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
	RUN=$STATE/run/e$ID
	wait_ensemble "$ID" 60 || bail "it does not end: $(tail -n 5 "$RUN"/training/g*/rank*/stderr)"
	E=$(cat "$T/ensemble.json")
}
field() { jq -c "$1" <<<"$E"; }
attempts() { api GET "/v1/ensembles/$ID/members?limit=100" | jq -c '[.members[].attempts | if type == "number" then . else length end] | unique'; }
learnt_all() { # GENERATION FAILURES
	is "$(jq -cs --argjson steps $STEPS 'map(.learnt) | add | [length, (unique | length), (map(.[0] * $steps + .[1]) | max)]' \
		"$RUN/training/g$1"/rank*/learnt.json)" "[$SAMPLES,$SAMPLES,$((SAMPLES - 1))]" \
		"$(field .name): the model that is left has learnt from every sample, from each once"
	is "$(field '[.state, .training.state, .training.generation, .training.failures, .training.unique, .training.drawn]')" \
		"[\"complete\",\"done\",$1,$2,$SAMPLES,$SAMPLES]" "$(field .name): the ensemble is complete, and its books balance"
}
restarts() {
	api GET "/v1/trainings/$(field .training.id)/generations" |
		jq -c '[.generations[0].restarts[] | [.number, .rank, .cost_retry, (.reason | sub(" [0-9].*"; ""))]]'
}
curve() {
	api GET "/v1/trainings/$(field .training.id)/metrics?buckets=10000" | jq -c '[.series.loss.buckets[] | .count] | [length, add]'
}

survive twice 0:6:killed,0:10:raises
learnt_all 1 1
is "$(attempts)" '[1]' "no member runs again"
is "$(restarts)" '[[2,0,true,"exit status"],[1,0,false,"killed by signal"]]' "the generation tells how often its ranks began again, why, and what cost a retry"
is "$(curve)" "[$((SAMPLES / 5)),$((SAMPLES / 5))]" "the loss curve has each batch once, without a gap"

RETRIES=0 survive thrice 0:5:killed,0:9:killed,0:13:killed
learnt_all 1 0
is "$(restarts | jq 'map(.[2]) | length, any' | xargs)" '3 false' "a rank that is killed again and again costs no retry while each of its lives saves a checkpoint"

survive early 0:3:killed
learnt_all 1 0
is "$(attempts)" '[1]' "no member runs again where no checkpoint was saved yet, since all is kept that was learnt"
survive ranks 1:6:killed,0:7:killed 2
learnt_all 1 0
is "$(attempts)" '[1]' "no member runs again where one rank of two is killed"

survive renewed 0:5:killed 1 '{"every": "1h", "retain": 3}'
learnt_all 1 0
is "$(attempts)" '[1]' "no member runs again where samples were let go, and a checkpoint has them by now"

# by then more was drawn than the buffer had when the limit was reached, so reception has not waited for the rank, which
# saves nothing
survive lacking 0:6:killed 1 '{"every": "1h", "retain": 3}' 5 100
learnt_all 2 0
is "$(attempts | jq 'max')" 2 "members run again where samples were let go that no checkpoint has"

survive endless 0:2:raises,0:2:raises,0:2:raises,0:2:raises
is "$(field '[.state, .training.state, .training.generation, .training.restarts, .training.failures]')" '["failed","failed",1,2,3]' \
	"the training has failed once its retries are used up"

survive off 0:5:killed 1 '{"every": "1h", "retain": 0}' 40 3
learnt_all 2 0
is "$(attempts | jq 'max')" 2 "members run again where nothing is to be kept"
AGAIN=$(api GET "/v1/ensembles/$ID/members?limit=100" | jq -c '[.members[] | select((.attempts | if type == "number" then . else length end) > 1) | .index]')
is "$(field '[.training.skipped, .training.duplicates]')" \
	"$(jq -c --argjson again "$AGAIN" '[(.learnt | map(select(.[0] | IN($again[]))) | length), 0]' "$RUN/training/checkpoints/g1-s3/state-rank0")" \
	"they send only steps that the checkpoint has not, so that none comes twice"
is "$(api GET "/v1/trainings/$(field .training.id)/generations" | jq -c '[.generations[] | [.number, .samples_lost, .members_again]]')" \
	"[[2,$(jq '.unique - 15' "$RUN/training/g1/status-rank0.json"),$(jq length <<<"$AGAIN")],[1,0,0]]" \
	"it is told how many samples were lost, and how many members ran again"
done_testing
