# Early stopping of 10,000 trials through the engine on a simulated cluster: engine_rungs.c tells which figures. BENCH_TRIALS: how many.
# shellcheck shell=bash
make -s -C "${builddir:?}" tests/bench/engine-rungs >&2 && exec "$builddir/tests/bench/engine-rungs" "${BENCH_TRIALS:-10000}"
