#!/usr/bin/env bash
# The README opens with a picture of the dashboard: such a one can be taken of a real run, small here, or, with
# STRETTO_PICTURE=heat.json:350, of the quickstart's when 350 members have succeeded, which then takes the place of
# those in docs/.
TEST_LIMIT=${PICTURE_LIMIT:-400}
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/dashboard.sh
. "$srcdir/tests/t/dashboard.sh"
[ -x "$builddir/examples/heat/heat2d" ] || skip_all "heat2d is not built (no MPI)"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"

# The pictures that README shows: before its first heading of a section, and there
for name in $(sed '/^## /q' "$srcdir/README.md" | grep -o 'docs/[a-z-]*\.webp' | sort -u); do
	is "$(head -c 4 "$srcdir/$name")$(head -c 12 "$srcdir/$name" | tail -c 4)" RIFFWEBP "$name is there, and a picture"
	pictures="${pictures:-} ${name#docs/}"
done
is "${pictures:-}" " dashboard-dark.webp dashboard.webp" "the README opens with it, light and dark"

run=${STRETTO_PICTURE:-heat-small.json:6}
start_daemon
submit "$srcdir/examples/heat/${run%:*}" >/dev/null
use_dashboard dashboard_picture.py "picture: no message" "${run#*:}"
if [ -n "${STRETTO_PICTURE:-}" ]; then cp dashboard.webp dashboard-dark.webp "$srcdir/docs/"; fi
api POST /v1/ensembles/1/cancel >/dev/null
wait_ensemble 1 60
done_testing
