# The dashboard with an ensemble of a million members of which some run, a hundred events a second: how soon it is there, how long frames take
# while it is moved and zoomed, the CPU time of the page's longest tasks (which the load of the machine does not change), and the memory of the page before and after BENCH_SECONDS (60) of that. Needs Chromium. dashboard_bench.py
# tells which figures.
# shellcheck shell=bash
TEST_LIMIT=$((1200 + ${BENCH_SECONDS:-60}))
. "${srcdir:?}/tests/bench/lib.sh"
chromium=$(command -v chromium) || bail "the benchmark of the dashboard needs chromium"
make -s -C "$builddir" tests/bench/fill_members >&2
mkdir -p "$STATE" && chmod 700 "$STATE"
printf '#!/bin/sh\nexec sleep 0.03\n' >member
chmod +x member
"$builddir/tests/bench/fill_members" "$STATE" 1000000 300000 97 "$T/member"
echo '{"adapters": {"local": {"slots": 2}}}' >config.json
start_daemon --config config.json
api POST /v1/ensembles/1/resume >/dev/null
PYTHONPATH="$srcdir/tests/t" "$T/bin/python3" "$srcdir/tests/bench/dashboard_bench.py" "$SOCKET" "$chromium" "$T" "${BENCH_SECONDS:-60}" >figures || fail "the browser did all"
while read -r name value unit; do
	figure "$name" "$value" "$unit"
done <figures
api POST /v1/ensembles/1/cancel >/dev/null
wait_ensemble 1 120
bench_done
