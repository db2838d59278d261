# kill -9 of one rank of two, in mid-stream, BENCH_KILLS times (20), each time when the ranks have learnt from 40 more batches.
#
#   recovery          from the kill to the next batch of both ranks, the median; against starting two processes at once that
#                     import PyTorch, make the model and load the checkpoint, as ranks do before they can receive anything
#   recovery-worst    the longest
#   recovery-again    members that ran again: 0 is wanted
#   recovery-lost     samples that were sent and are not learnt in the model that is left: 0 is wanted
#   recovery-repeated samples that this model has learnt twice: 0 is wanted
#   recomputed        batches that were learnt once more, since no checkpoint had them when the rank was killed
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"

python=${STRETTO_PYTHON:-$(sed -n "s/^STRETTO_PYTHON = //p" "${builddir:?}/Makefile")}
"$python" -c 'import torch' || bail "no Python with PyTorch"
kills=${BENCH_KILLS:-20} members=8 steps=$((400 + ${BENCH_KILLS:-20} * 300))
rank=$srcdir/tests/bench/recovery_rank.py
echo '{"adapters": {"local": {"slots": 12}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
jq -n --arg python "$python" --arg rank "$rank" --arg trace "$T/trace" --argjson kills "$kills" --argjson members $members \
	--arg steps $steps --arg member "$builddir/tests/t/stream-member" '{name: "recovery", width: $members,
	members: {command: [$member, $steps], parameters: {grid: {i: [range($members)]}}},
	training: {command: [$python, "-B", $rank, "train", $trace], ranks: 2, retries: ($kills + 2), checkpoint: {every: "1s"},
		fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
			particles: {dtype: "float32", shape: [-1, 3], max: 40}},
		buffer: {policy: "fifo", capacity: 2000, batch: 10}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
RUN=$STATE/run/e$ID

# kills the ranks in turn, and prints how long each time took
"$python" - "$T/trace" "$kills" >recoveries <<'PY' || bail "a rank does not come back: $(tail -n 3 "$RUN"/training/g1/rank?/stderr)"
import json, os, signal, sys, time

trace, kills = sys.argv[1], int(sys.argv[2])


def lines(rank, restart):
    try:
        with open("%s-rank%d" % (trace, rank), encoding="ascii") as file:
            every = [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []
    return [line for line in every if line["restart"] == restart]


def wait_for(number, restart):
    until = time.monotonic() + 120
    while any(len(lines(rank, restart)) < number for rank in (0, 1)):
        if time.monotonic() > until:
            sys.exit(1)
        time.sleep(0.02)


for kill in range(kills):
    wait_for(40, kill)
    killed = time.monotonic()
    os.kill(lines(kill % 2, kill)[-1]["pid"], signal.SIGKILL)
    wait_for(1, kill + 1)
    print(max(lines(rank, kill + 1)[0]["time"] for rank in (0, 1)) - killed, flush=True)
PY
wait_ensemble "$ID" 800 || bail "it does not end: $(tail -n 3 "$RUN"/training/g1/rank?/stderr)"
cat recoveries
state=$(find "$RUN/training/checkpoints" -name state-rank0 | tail -n 1)
for _ in $(seq "$BENCH_ROUNDS"); do
	from=$(now)
	PYTHONPATH=$builddir/python "$python" -B "$rank" load "$state" &
	PYTHONPATH=$builddir/python "$python" -B "$rank" load "$state" || bail "the state cannot be loaded"
	wait $! || bail "the state cannot be loaded"
	difference "$(now)" "$from"
done >loads
figure recovery "$(median <recoveries)" s "starting two ranks and loading the model" "$(median <loads)"
figure recovery-worst "$(jq -n '[inputs] | max' <recoveries)" s "starting two ranks and loading the model" "$(median <loads)"
api GET "/v1/ensembles/$ID" | jq -c '[.state, .training.state, .training.generation, .training.failures, .training.unique, .training.drawn]'
figure recovery-again "$(api GET "/v1/ensembles/$ID/members?limit=100" | jq '[.members[].attempts - 1] | add')" members
jq -s 'add | map(.[0] * 1000000 + .[1])' "$RUN"/training/g1/rank?/learnt.json >learnt
figure recovery-lost "$(jq --argjson all $((members * steps)) '$all - (unique | length)' learnt)" samples
figure recovery-repeated "$(jq 'length - (unique | length)' learnt)" samples
figure recomputed "$(cat "$T"/trace-rank? | jq -s 'length - (map([.rank, .batch]) | unique | length)')" batches
bench_done
