# From the order to go on with two ranks, in place of one, until these can be reached and have all samples that were held: BENCH_HELD
# samples of 1 MB (2000), none of which was drawn; and back to one.
#
#   resize-up, resize-down    against the same with ten samples, which is what starting the ranks anew takes
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"

python=${STRETTO_PYTHON:-$(sed -n "s/^STRETTO_PYTHON = //p" "${builddir:?}/Makefile")}
held=${BENCH_HELD:-2000}
echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
cat >"$T/rank.py" <<'EOF'
import stretto.train
with stretto.train.open() as rx:
    def save():
        if rx.checkpoint_due():
            rx.checkpoint(lambda path: open(path, "wb").close(), rx.generation)
    rx.on_wait(save)
    for batch in rx.batches():
        pass
    rx.done()
EOF
cat >"$T/member.py" <<'EOF'
import os, sys, time
import numpy, stretto
with stretto.open() as member:
    for step in range(int(sys.argv[1])):
        member.send(step, u=numpy.zeros(250000, dtype=numpy.float32))
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.1)
EOF
training() { api GET "/v1/ensembles/$ID" | jq -r "$1"; }
holds() {
	[ "$(training .state)" = running ] || bail "it has ended: $(training .)"
	[ "$(training '[.training.state, .training.generation] | join(" ")')" = "running $1" ] && [ "$(api GET "/v1/trainings/$TRAINING/ranks" | jq --argjson n "$2" '([.ranks[].population] | add) == $n and all(.ranks[]; .state == "receiving")')" = true ]
}
resizes() { # SAMPLES: seconds of the way up and of that down, into up.SAMPLES and down.SAMPLES
	rm -f "$T/go"
	jq -n --arg python "$python" --arg t "$T" --arg n "$1" '{name: "held", members: {command: [$python, "-B", ($t + "/member.py"), $n, ($t + "/go")],
		parameters: {grid: {i: [0]}}, retries: 0}, training: {command: [$python, "-B", ($t + "/rank.py")], retries: 0, checkpoint: {},
		fields: {u: {dtype: "float32", shape: [250000]}}, buffer: {policy: "firo", capacity: 100000, threshold: 99000, batch: 1}}}' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
	TRAINING=$(training .training.id)
	wait_for 100 "holds 1 $1" || bail "it does not hold $1 samples: $(training .)"
	local generation=1 ranks begin
	for ranks in 2 1; do
		begin=$(now)
		api PATCH "/v1/trainings/$TRAINING" "{\"ranks\": $ranks}" >"$T/answer"
		wait_for 200 "holds $((++generation)) $1" || bail "$ranks ranks do not hold $1 samples: $(training .)"
		difference "$(now)" "$begin" >>"$([ $ranks = 2 ] && echo up || echo down).$1"
	done
	: >"$T/go"
	wait_ensemble "$ID" 200 || bail "it does not end"
}
for ((round = 0; round < BENCH_ROUNDS; round++)); do
	resizes "$held"
	resizes 10
done
figure resize-up "$(median <"up.$held")" s "ten samples" "$(median <up.10)"
figure resize-down "$(median <"down.$held")" s "ten samples" "$(median <down.10)"
bench_done
