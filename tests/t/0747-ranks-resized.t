#!/usr/bin/env bash
# A training gets another number of ranks while members stream: from one to two, and back to one. No member runs again,
# and the model that is left has learnt from every sample, from each once.
TEST_LIMIT=300
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/blocks.sh
. "$srcdir/tests/t/blocks.sh"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"

MEMBERS=6 STEPS=12 # the second half of each waits for the test
SAMPLES=$((MEMBERS * STEPS))
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 12}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"
spec() { # CHECKPOINT
	jq -n --arg rank "$srcdir/tests/t/goes-on-rank.py" --argjson checkpoint "$1" --arg steps $STEPS --argjson members $MEMBERS \
		--arg member "$builddir/tests/t/stream-member" --arg go "$T/go" '{name: "resized", width: 4,
		members: {command: [$member, $steps, "-1", $go], parameters: {grid: {i: [range($members)]}}},
		training: {command: ["python3", $rank, "resized", $steps], retries: 0,
			fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
				particles: {dtype: "float32", shape: [-1, 3], max: 40}},
			buffer: {policy: "fifo", capacity: 40, threshold: 0, batch: 5}}} |
		if $checkpoint == null then . else .training.checkpoint = $checkpoint end' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
	RUN=$STATE/run/e$ID
}
training() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
reaches() { # GENERATION RANKS
	wait_for 120 "[ \"\$(training '[.training.state, .training.generation, .training.ranks]')\" = '[\"running\",$1,$2]' ]" ||
		bail "no generation $1 of $2 ranks: $(training .training) $(tail -n 5 "$RUN"/training/g*/rank?/stderr)"
}

spec '{"every": "1h"}'
reaches 1 1
wait_for 60 '[ "$(training .training.received)" = 24 ]' || bail "four members do not send half of their steps"
TRAINING=$(training .training.id)
# as the README has it
mkdir -p "$T/states"
ln -s "$STATE" "$T/states/stretto"
URL=$STRETTO_URL
XDG_STATE_HOME=$T/states run_blocks "$srcdir/README.md" "tested with a training"
export STRETTO_URL=$URL
reaches 2 2
pass "two ranks go on, though no sample came meanwhile"
is "$(training '[.training.wanted_ranks, .training.failures, .members.running]')" "[null,0,4]" "it costs no retry, and members run on"
is "$(training .training.unique)" 24 "the new ranks have what the former one had"
# two ranks could come to wait for each other with more members than half the capacity of a buffer
widen() { api PATCH "/v1/ensembles/$ID" "{\"width\": $1}" | jq -c '[.status, .code, .pointer]'; }
is "$(widen 21)" '[422,"spec_impossible_value","/width"]' "no more members may send to several ranks than their buffers are for"
is "$(widen 20)" '[null,null,null]' "as many may"
ok "the host of both ranks is told" wait_for 60 "[ \"\$(stretto hosts $ID.training)\" = \"$(hostname):2\" ]"
is "$(stretto resize "$ID" --ranks 1)" "training $TRAINING: 1 rank, as soon as its 2 have saved a checkpoint" "one rank is asked for, by the command"
like "$(stretto hosts "$ID.training")" "^($(hostname):1)?$" "which has one slot less at once"
reaches 3 1
ok "it has one until the end" wait_for 60 "[ \"\$(stretto hosts $ID.training)\" = \"$(hostname):1\" ]"
: >"$T/go"
ok "the ensemble ends" wait_ensemble "$ID" 120
E=$(cat "$T/ensemble.json")
is "$(jq -c '[.state, .training.state, .training.unique, .training.drawn]' <<<"$E")" "[\"complete\",\"done\",$SAMPLES,$SAMPLES]" \
	"it is complete, and its books balance"
is "$(jq -c --argjson steps $STEPS '[.learnt | length, (map(.[0] * $steps + .[1]) | unique | length)]' "$RUN/training/g3/rank0/learnt.json")" \
	"[$SAMPLES,$SAMPLES]" "the model that is left has learnt from every sample, from each once"
is "$(api GET "/v1/ensembles/$ID/members" | jq -c '[.members[].attempts | if type == "number" then . else length end] | unique')" '[1]' \
	"no member ran again"
is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM event WHERE kind = 'training.resized'")" 2 "events tell of both changes"
is "$(api GET "/v1/trainings/$TRAINING/generations" | jq -c '[.generations[] | [.number, .ranks, .end, .reason]]')" \
	'[[3,1,"done",null],[2,2,"resized","its ranks ended because another number of them was asked for over the daemon'\''s Unix socket"],[1,1,"resized","its ranks ended because another number of them was asked for over the daemon'\''s Unix socket"]]' \
	"the generations say why each ended"

is "$(stretto hosts "$ID.training")" "" "a training that is over has no hosts"

# what cannot be
rm "$T/go"
answer() { api PATCH "/v1/trainings/$1" "$2" | jq -c '[.status, .code, .pointer]'; }
is "$(answer "$TRAINING" '{"ranks": 2}')" '[409,"ensemble_over",null]' "a training that is over keeps its ranks"
is "$(answer 999 '{"ranks": 2}')" '[404,"training_not_found",null]' "there is no such training"
spec null
reaches 1 1
TRAINING=$(training .training.id)
is "$(answer "$TRAINING" '{"ranks": 2}')" '[409,"training_no_checkpoints",null]' "a training without checkpoints keeps its ranks"
is "$(training .training.can_resize)" false "which it says"
is "$(answer "$TRAINING" '{"ranks": 0}')" '[422,"spec_impossible_value","/ranks"]' "none is no number of ranks"
is "$(answer "$TRAINING" '{"rank": 2}')" '[422,"spec_unknown_key","/rank"]' "a word that is not known is refused"
is "$(training '[.training.ranks, .training.wanted_ranks]')" '[1,null]' "nothing has changed"
api POST "/v1/ensembles/$ID/cancel" >/dev/null
spec '{"every": "1h"}'
reaches 1 1
TRAINING=$(training .training.id)
is "$(widen 21)" '[null,null,null]' "a single rank may have more members"
is "$(answer "$TRAINING" '{"ranks": 2}')" '[422,"spec_impossible_value","/ranks"]' "and then no second rank beside it"
is "$(widen 4)" '[null,null,null]' "with fewer members there may be more ranks"
is "$(answer "$TRAINING" '{"ranks": 500}')" '[422,"resources_impossible","/ranks"]' "nor may it have more than can ever run"
api POST "/v1/ensembles/$ID/cancel" >/dev/null
done_testing
