#!/usr/bin/env bash
# The training of a new ensemble, with other members, starts from a checkpoint of an earlier ensemble's training: it
# takes the model over, and no samples. It has a copy of its own, whose digest is checked, and which outlives the
# earlier ensemble.
TEST_LIMIT=300
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

# Its model is the list of samples that it has learnt from. "fails": the first generation waits for the file "go", and
# fails.
cat >"$T/rank.py" <<'EOF2'
import json, os, sys, time, stretto.train
with stretto.train.open() as rx:
    learnt = json.load(open(rx.resume, encoding="ascii")) if rx.resume else []
    print(rx.resume_step, rx.stats()["drawn"], flush=True)
    def save(path):
        with open(path, "w", encoding="ascii") as file:
            json.dump(learnt, file)
    for batch in rx.batches():
        if sys.argv[1] == "fails" and rx.generation == 1:
            while not os.path.exists(sys.argv[2]):
                time.sleep(0.02)
            sys.exit(3)
        learnt += [[rx.ensemble, *sample] for sample in zip(batch.member.tolist(), batch.step.tolist())]
        if sys.argv[1] == "saves" and len(learnt) % 20 == 0:
            rx.checkpoint(save, len(learnt))
    save("learnt.json")
    rx.done()
EOF2
sed -i 's/rx.ensemble/int(os.environ["STRETTO_ENSEMBLE"])/' "$T/rank.py"
spec() { # MODE MEMBERS FROM
	jq -n --arg t "$T" --arg mode "$1" --argjson members "$2" --argjson from "$3" --arg member "$builddir/tests/t/stream-member" '{name: $mode,
		width: 4, members: {command: [$member, "10"], parameters: {grid: {i: [range($members)]}}},
		training: {command: ["python3", "-B", ($t + "/rank.py"), $mode, ($t + "/go")], checkpoint: {every: "1h", keep: 5, retain: 0}, steps: 10,
			retries: 1, fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
				particles: {dtype: "float32", shape: [-1, 3], max: 40}},
			buffer: {policy: "fifo", capacity: 40, threshold: 0, batch: 5}}}
		| if $mode == "none" then del(.training.checkpoint) else . end | if $from == null then . else .training.from = $from end' >"$T/spec.json"
}
begin() { # MODE MEMBERS FROM
	spec "$@"
	ID=$(submit "$T/spec.json")
	[ "$ID" != null ] || bail "it is refused: $(cat "$T/api.body")"
	RUN=$STATE/run/e$ID
}
ends() { wait_ensemble "$ID" 100 || bail "it does not end: $(tail -n 5 "$RUN"/training/g*/rank*/stderr)"; }
told() { jq -c "$1" "$T/ensemble.json"; }
learnt() { jq -c 'group_by(.[0]) | map([.[0][0], length, (unique | length)])' "$RUN/training/g$1/rank0/learnt.json"; }
answer() { # FROM: what a spec with it is answered
	spec saves 2 "$1"
	api POST /v1/ensembles "@$T/spec.json" | jq -c '[.code, .pointer]'
}

begin none 2 null
ends
begin saves 4 null
ends
OLD=$RUN
is "$(api GET "/v1/checkpoints?training=$(told .training.id)" | jq -c '[.checkpoints[].name]')" '["g1-s20","g1-s40"]' "a training has left two checkpoints"

is "$(answer '{"ensemble": 99}')" '["spec_impossible_value","/training/from/ensemble"]' "there is no such ensemble"
is "$(answer '{"ensemble": 1}')" '["spec_impossible_value","/training/from"]' "a training has left no checkpoint"
is "$(answer '{"ensemble": 2, "checkpoint": "g1-s30"}')" '["spec_impossible_value","/training/from/checkpoint"]' "nor one of that name"
is "$(answer '{"ensemble": 2, "checkpoint": 40}')" '["spec_wrong_type","/training/from/checkpoint"]' "a name is a string"
is "$(answer '{"ensemble": "2"}')" '["spec_wrong_type","/training/from/ensemble"]' "an ensemble's id is a number"
is "$(answer '{"checkpoint": "g1-s40"}')" '["spec_missing_key","/training/from/ensemble"]' "the ensemble has to be named"
is "$(answer '{"ensemble": 2, "step": 40}')" '["spec_unknown_key","/training/from/step"]' "an unknown key is refused"
is "$(answer '"2"')" '["spec_wrong_type","/training/from"]' "it is an object"

begin saves 6 '{"ensemble": 2}'
kill_daemon
start_daemon --config "$T/config.json"
is "$(stretto spec "$ID" | jq -c .training.from)" '{"checkpoint":"g1-s40","ensemble":2}' "the newest is the one from which another ensemble's starts"
ends
is "$(told '[.state, .members.succeeded, .training.unique, .training.drawn, .training.resumed_from]')" '["complete",6,60,60,null]' \
	"the books have the samples of its own members, and no others"
is "$(learnt 1)" '[[2,40,40],[3,60,60]]' "its model has learnt from all of both, from each once"
is "$(cat "$RUN/training/g1/rank0/stdout")" "40 0" "the program is told at which step the model was saved"
THIRD=$RUN

begin fails 4 '{"ensemble": 2, "checkpoint": "g1-s20"}'
wait_for 60 '[ -d "$RUN/training/from" ] && [ "$(api GET "/v1/ensembles/$ID" | jq -r .training.state)" = running ]' || bail "it does not run"
rm -r "$OLD/training/checkpoints"
: >"$T/go"
ends
is "$(told '[.state, .training.generation, .training.unique]')" '["complete",2,40]' "its next generation starts there, too, though the former ensemble's files are gone"
is "$(learnt 2)" '[[2,20,20],[4,40,40]]' "and has learnt from all of both, from each once"

begin on 2 '{"ensemble": 2}'
ends
is "$(told .state)" '"failed"' "what is gone is nothing to start from"
like "$(told .reason)" 'e5/training/from/' "which the reason says"
echo damaged >>"$THIRD/training/checkpoints/g1-s100/state-rank0"
begin on 2 '{"ensemble": 3}'
ends
like "$(told .reason)" "the checkpoint is damaged: .*/from/state-rank0 is not as it was written" "nor is what is not as it was written"
done_testing
