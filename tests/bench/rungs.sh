# Early stopping of 10,000 trials through the engine on a simulated cluster: engine_rungs.c tells which figures. BENCH_TRIALS: how many.
# shellcheck shell=bash
make -s -C "${builddir:?}" tests/bench/engine-rungs >&2 ||
	{ echo "cannot build tests/bench/engine-rungs: the simulation needs cmocka, which configure has to find" >&2; exit 1; }
exec "$builddir/tests/bench/engine-rungs" "${BENCH_TRIALS:-10000}"
