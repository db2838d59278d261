# A GPU that is fed by the stream: samples of 4 MB, learnt in batches of ten by the network of the heat example at 1000 x 1000, and a
# checkpoint of what lies on the GPU. Needs a GPU and a PyTorch that can use it (STRETTO_PYTHON).
#
#   gpu-fed             steps a second with batches that StreamDataset(rx, device="cuda") brings; the baseline: with one batch that lies on
#                       the GPU already, so that the ratio is the utilisation
#   gpu-fed-pinned, gpu-fed-pageable   the same with batches that the program copies, from page-locked and from ordinary memory
#   gpu-checkpoint      how long a checkpoint of BENCH_MODEL bytes (1 GB) blocks the training, against torch.save() of the same
#   gpu-checkpoint-first-room   how long it takes to make the memory for the copy ready, which happens in the background
#
# BENCH_SENDERS: processes that send (4); BENCH_SAMPLES: that they send (6000)
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"

make -s -C "${builddir:?}" tests/bench/stream_bench >&2 || bail "cannot build tests/bench/stream_bench"
python=${STRETTO_PYTHON:-$(sed -n "s/^STRETTO_PYTHON = //p" "${builddir:?}/Makefile")}
"$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || bail "no GPU that PyTorch can use"
"$python" -c 'import torch; print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)' >&2
export PYTHONPATH=${builddir:?}/python
for ((round = 0; round < BENCH_ROUNDS; round++)); do
	for memory in device pinned pageable; do
		timeout 300 "${builddir:?}/tests/bench/stream_bench" run memory 4000000 "${BENCH_SENDERS:-4}" "${BENCH_SAMPLES:-6000}" \
			"$python" -B "$srcdir/tests/bench/gpu_bench.py" feed $memory "${BENCH_SAMPLES:-6000}" >one.json || bail "it failed"
		cat one.json >&2
		jq .fed one.json >>fed.$memory
		jq .resident one.json >>resident
	done
done
"$python" -B "$srcdir/tests/bench/gpu_bench.py" save "${BENCH_MODEL:-1000000000}" "$BENCH_ROUNDS" >saved.json || bail "it failed"
cat saved.json >&2
figure gpu-fed "$(median <fed.device)" steps/s "a batch on the GPU" "$(median <resident)"
figure gpu-fed-pinned "$(median <fed.pinned)" steps/s "a batch on the GPU" "$(median <resident)"
figure gpu-fed-pageable "$(median <fed.pageable)" steps/s "a batch on the GPU" "$(median <resident)"
of() { jq ".$1 // empty" saved.json | median; }
figure gpu-checkpoint "$(of blocked)" s "torch.save" "$(of save)"
figure gpu-checkpoint-first-room "$(of room)" s "PyTorch's page-locked memory" "$(of pinned)"
bench_done
