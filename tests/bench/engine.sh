# A million members through the engine on a simulated cluster: engine_million.c tells which figures. BENCH_MEMBERS: how many.
# shellcheck shell=bash
make -s -C "${builddir:?}" tests/bench/engine-million >&2 ||
	{ echo "cannot build tests/bench/engine-million: the simulation needs cmocka, which configure has to find" >&2; exit 1; }
exec "$builddir/tests/bench/engine-million" "${BENCH_MEMBERS:-1000000}"
