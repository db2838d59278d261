# Checkpoints of a training whose model has BENCH_MODEL bytes (1 GB), by stretto.torch.Checkpoints, against torch.save() of
# the same model into the same directory, in turns.
#
#   checkpoint-blocked          how long the training waits, against torch.save() and a flush of its file: what is saved
#                               then will survive a crash of the machine, as a checkpoint that counts will
#   checkpoint-blocked-cached   the same, against torch.save() alone, which leaves the file in the page cache
#   checkpoint-cost             all the training's time that a checkpoint takes: the wait, and what a loop of small steps
#                               loses until it counts; against background=False, where torch.save() is waited for
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"

python=${STRETTO_PYTHON:-$(sed -n "s/^STRETTO_PYTHON = //p" "${builddir:?}/Makefile")}
"$python" -c 'import torch' || bail "no Python with PyTorch"
start_daemon
jq -n --arg python "$python" --arg rank "$srcdir/tests/bench/checkpoint_bench.py" --arg bytes "${BENCH_MODEL:-1000000000}" \
	--arg rounds "$BENCH_ROUNDS" '{name: "checkpoint", members: {command: ["true"], parameters: {grid: {i: [0]}}},
	training: {streams: "optional", command: [$python, "-B", $rank, $bytes, $rounds], retries: 0, checkpoint: {every: "1s", keep: 1},
		fields: {u: {dtype: "float32", shape: [1]}}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
wait_ensemble "$ID" 800 || bail "the training does not end"
cp "$STATE/run/e$ID/training/g1/rank0/stdout" figures.json
cat figures.json
[ "$(wc -l <figures.json)" = "$BENCH_ROUNDS" ] || bail "$(tail -n 5 "$STATE/run/e$ID/training/g1/rank0/stderr")"
of() { jq ".$1" figures.json | median; }
figure checkpoint-blocked "$(of background)" s "torch.save, flushed" "$(of flushed)"
figure checkpoint-blocked-cached "$(of background)" s "torch.save" "$(of cached)"
figure checkpoint-cost "$(of background_cost)" s "background=False" "$(of foreground_cost)"
bench_done
