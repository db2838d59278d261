#!/usr/bin/env bash
# Members that are suggested while the ensemble runs stream into a training, whose rank is killed meanwhile: it waits
# for more of them until the ensemble is closed, and its model has learnt from every sample, from each once.
# shellcheck disable=SC2016 # for wait_for
TEST_LIMIT=400
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"

STEPS=10
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"
jq -n --arg rank "$srcdir/tests/t/goes-on-rank.py" --arg steps $STEPS --arg member "$builddir/tests/t/stream-member" '{name: "streamed", width: 1,
	members: {command: [$member, $steps], parameters: {open: ["i"], most: 9}},
	training: {command: ["python3", $rank, "killed", $steps], retries: 2, checkpoint: {every: "1h", retain: 0},
		fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
			particles: {dtype: "float32", shape: [-1, 3], max: 40}},
		buffer: {policy: "fifo", capacity: 40, threshold: 0, batch: 5}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
suggest() { api_status POST "/v1/ensembles/$ID/suggestions" "$(jq -cn --argjson from "$1" --argjson to "$2" '{suggestions: [range($from; $to) | {parameters: {i: .}}]}')"; }
get() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }

is "$(api_status POST "/v1/ensembles/$ID/suggestions" '{"suggestions": [{"parameters": {"i": "x"}}]}') $(jq -r .pointer "$T/api.body")" \
	"422 /suggestions/0/parameters/i" "a parameter that is no number cannot be streamed"
is "$(suggest 0 5)" 201 "five members"
# the second generation is killed when it has learnt from all of their samples
ok "the rank is killed twice" wait_for 120 '[ "$(get "[.training.generation, .training.state]")" = "[3,\"running\"]" ]'
is "$(suggest 5 8)" 201 "three more, of which no checkpoint knows"
ok "all have ended" wait_for 120 '[ "$(get .members.succeeded)" = 8 ]'
ok "all that they sent is learnt" wait_for 120 '[ "$(get "[.training.drawn, .training.unique]")" = "[80,80]" ]'
is "$(get '[.state, .training.state, .notice.code]')" '["running","running","waits_for_suggestions"]' "the training waits for more"
is "$(suggest 8 10)" 409 "and has no room for more than the spec says"
is "$(suggest 8 9)" 201 "for one more it has"
api POST "/v1/ensembles/$ID/close" >/dev/null
ok "closed, it ends" wait_ensemble "$ID" 280
is "$(jq -c '[.state, .count, .training.state, .training.generation, .training.unique, .training.drawn]' "$T/ensemble.json")" '["complete",9,"done",3,90,90]' \
	"the ensemble is complete with the third generation, and its books balance"
is "$(jq -c '[.learnt | length, (unique | length), (map(.[0]) | unique | length)]' "$STATE/run/e$ID/training/g3/rank0/learnt.json")" '[90,90,9]' \
	"the model that is left has learnt from every sample of every member, from each once"
# Three processes have reported of the members, two of which were killed.
reported() { api GET "/v1/ensembles/$ID/members?metrics=statistic&limit=50${1:-}" | jq -c '[.members[] | [.index, .metrics.statistic.last]]'; }
is "$(reported)" "$(jq -cn '[range(9) | [., 10 * . + 0.5]]')" "each member has the statistic that the training reported of it"
is "$(reported '&sort=metric:statistic&order=desc' | jq -c '[.[][0]]')" '[8,7,6,5,4,3,2,1,0]' "by which members are sorted"
is "$(api GET "/v1/ensembles/$ID/results?after=0" | jq -c '[.results[] | .metrics.statistic.last == 10 * .index + 0.5] | [length, all]')" '[9,true]' \
	"and results have it"

# Its training is resubmitted: all members run again, with the parameters that were suggested.
is "$(api_status POST "/v1/trainings/$(jq .training.id "$T/ensemble.json")/resubmit" '{"from": "start"}')" 202 "its training begins once more"
ok "it ends again" wait_ensemble "$ID" 280
is "$(jq -c '[.state, .members.succeeded, .training.generation, .training.drawn]' "$T/ensemble.json")" '["complete",9,4,90]' "with all members"
done_testing
