#!/usr/bin/env bash
# Trainings that go wrong: the ensemble ends with the reason, and nothing hangs.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
start_daemon

spec() { # TRAINING-SCRIPT
	jq -n --arg script "$1" '{name: "t", width: 2, members: {command: ["sleep", "600"],
		parameters: {grid: {i: [range(3)]}}}, training: {command: ["sh", "-c", $script],
		fields: {u: {dtype: "float32", shape: [4]}}}}' >"$T/spec.json"
}
ended() { wait_ensemble "$ID" 60; jq -r "$1" "$T/ensemble.json"; }

spec 'echo "no GPU today" >&2; exit 3'
ID=$(submit "$T/spec.json")
is "$(ended .state)" failed "a training that fails ends its ensemble, which has failed"
is "$(jq -r .training.state "$T/ensemble.json")" failed "it has failed"
like "$(jq -r .reason "$T/ensemble.json")" 'training failed.*exit status 3.*no GPU today' "the reason names its last words"
is "$(jq .members.cancelled "$T/ensemble.json")" 3 "no member was started for nothing"
is "$(jq .training.generation "$T/ensemble.json")" 1 "nor was the training begun anew: it had not got as far as to be reached"

spec 'exit 0'
ID=$(submit "$T/spec.json")
is "$(ended .training.state)" failed "exit 0 without a done record is no success"
like "$(jq -r .reason "$T/ensemble.json")" 'without saying that it was done' "and told so"

# a rank that gives its endpoint and then dies, with members under way
cat >"$T/rank.sh" <<'EOF'
d=$STRETTO_STREAM/g1-rank0.json
echo '{"version": 1, "generation": 1, "rank": 0, "ranks": 1, "host": "h", "endpoints": ["ipc:///nowhere"]}' >"$d.tmp"
mv "$d.tmp" "$d"
while [ ! -e "$1/die" ]; do sleep 0.1; done
kill -SEGV $$
EOF
spec ". $T/rank.sh $T"
sed -i 's|"\. \([^ ]*\) \([^"]*\)"|"sh \1 \2"|' "$T/spec.json"
ID=$(submit "$T/spec.json")
wait_for 30 '[ "$(api GET /v1/ensembles/$ID | jq .members.running)" -ge 1 ]' || bail "no member runs"
pass "members start once every rank can be reached"
: >"$T/die"
is "$(ended .state)" failed "an ensemble has failed when a rank is killed once more than it may be"
wait_for 30 '[ "$(api GET /v1/ensembles/$ID | jq .members.cancelled)" = 3 ]'
is "$(api GET "/v1/ensembles/$ID" | jq .members.cancelled)" 3 "its members are ended"
like "$(api GET "/v1/ensembles/$ID" | jq -r .training.reason)" 'signal 11|Segmentation' "the training says why"
is "$(api GET "/v1/ensembles/$ID" | jq .training.generation)" 2 "it had begun anew once"

# cancel with a training under way
spec 'sleep 600'
ID=$(submit "$T/spec.json")
wait_for 20 '[ "$(api GET /v1/ensembles/$ID | jq -r .training.state)" = submitted ]'
api POST "/v1/ensembles/$ID/cancel" >/dev/null
wait_for 30 '[ "$(api GET /v1/ensembles/$ID | jq -r .training.state)" = cancelled ]'
is "$(api GET "/v1/ensembles/$ID" | jq -r .training.state)" cancelled "a training is cancelled with its ensemble"
done_testing
