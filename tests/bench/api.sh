# The API under load: api_load.py tells which figures. BENCH_SECONDS: how long each of its turns takes (60). Needs wrk.
# shellcheck shell=bash
command -v wrk >/dev/null || { echo "the benchmark of the API needs wrk" >&2; exit 1; }
make -s -C "${builddir:?}" tests/bench/mhd-minimal tests/bench/stream-reader >&2 &&
	exec /usr/bin/python3 "${srcdir:?}/tests/bench/api_load.py" "${BENCH_SECONDS:-60}"
