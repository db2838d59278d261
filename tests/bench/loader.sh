# A PyTorch loop whose model does nothing, over StreamDataset, against the same loop in C: samples a second that go into
# batches while one 4 MB sender keeps the stream busy.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"

make -s -C "${builddir:?}" tests/bench/stream_bench || bail "cannot build tests/bench/stream_bench"
python=${STRETTO_PYTHON:-$(sed -n "s/^STRETTO_PYTHON = //p" "${builddir:?}/Makefile")}
"$python" -c 'import torch' || bail "no Python with PyTorch"
export PYTHONPATH=${builddir:?}/python

for ((round = 0; round < BENCH_ROUNDS; round++)); do
	for what in loop run; do
		timeout 120 "${builddir:?}/tests/bench/stream_bench" $what ipc 4000000 1 2000 \
			"$python" -B "$srcdir/tests/bench/loader_bench.py" 2000 >one.json || bail "stream_bench $what failed"
		jq .samples_per_second one.json >>$what
	done
done
figure loader-4mb "$(median <run)" samples/s "the C library alone" "$(median <loop)"
bench_done
