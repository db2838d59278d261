#!/usr/bin/env bash
# heat2d against exact solutions, and the same field on any number of processes.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -n "${STRETTO_MPIEXEC:-}" ] || skip_all "built without MPI"
export PATH=$builddir/examples/heat:$PATH
export MPIR_CVAR_POLLS_BEFORE_YIELD=1 # more processes than cores: let the others go on
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset STRETTO_NTASKS STRETTO_STREAM

heat() { # PROCESSES OPTION...
	local n=$1
	shift
	timeout $((60 * PATIENCE)) "$STRETTO_MPIEXEC" -n "$n" heat2d "$@" </dev/null
}
error_of() { awk -v name="$1" '$1 == name { print $2 }' "$T/out"; }
between() { awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(x >= low && x <= high) }'; }

# The scheme's own solution, known exactly, down to what CG leaves: |error| <= steps × tolerance × |b|. On several
# processes few steps and small grids are enough: while one waits for another, which it does in every iteration, MPI
# keeps its processor busy.
for n in 1 2 4; do
	status_is 0 "analytic case on $n processes" heat $n --analytic --grid 21 --steps 3 --initial 100
	ok "the error against the discrete solution is that of CG on $n processes" \
		between "$(error_of error_discrete)" 0 "$(awk 'BEGIN { print 3 * 1e-10 * 640 * 21 }')"
done
status_is 0 "a finer grid" heat 1 --analytic --grid 43 --steps 10 --initial 100
fine=$(error_of error_space)
heat 1 --analytic --grid 21 --steps 10 --initial 100 >"$T/out"
coarse=$(error_of error_space) long=$(error_of error_time)
ok "halving the grid's width quarters its error" between "$(awk "BEGIN { print $coarse / $fine }")" 3.9 4.1
heat 1 --analytic --grid 21 --steps 20 --dt 0.0005 --initial 100 >"$T/out"
short=$(error_of error_time) discrete=$(error_of error_discrete)
ok "halving the time step halves its error" between "$(awk "BEGIN { print $long / $short }")" 1.9 2.1
heat 1 --analytic --grid 21 --steps 10 --substeps 2 --initial 100 >"$T/out"
is "$(error_of error_time) $(error_of error_discrete)" "$short $discrete" "and so do two substeps: it is the same computation"

heat 1 --analytic --grid 21 --steps 10 --dt 0.002 --alpha 0.5 --initial 100 >"$T/out"
is "$(error_of error_time)" "$long" "half the diffusivity in twice the time is the same computation"

case_options=(--initial 120 --west 500 --east 150 --south 320 --north 410 --steps 4)
[ -n "${STRETTO_PYTHON:-}" ] || { skip "no Python with NumPy to compare fields"; done_testing; }
compare() { # TOLERANCE FILE FILE
	"$STRETTO_PYTHON" - "$@" <<'PY'
import sys
import numpy
tolerance, one, other = float(sys.argv[1]), numpy.load(sys.argv[2]), numpy.load(sys.argv[3])
assert one.shape == other.shape and one.dtype == other.dtype == numpy.float32, (one.shape, other.shape)
assert one.max() > one.min() + 10, "nothing happens in this field"
worst = abs(one.astype(float) - other).max()
assert worst <= tolerance, f"the fields differ by {worst} K"
PY
}
for grid in 12 11; do # one that 2, 3 and 4 divide, one that none of them does
	heat 1 --grid $grid "${case_options[@]}" --output $grid-1.npy >/dev/null
	# Two solutions, each within steps × tolerance × |b|, and two roundings to float32.
	tolerance=$(awk -v n=$grid 'BEGIN { print 2 * 4 * 1e-10 * 500 * n + 2 * 500 * 6e-8 }')
	for n in 2 3 4; do
		heat $n --grid $grid "${case_options[@]}" --output $grid-$n.npy >/dev/null
		ok "$n processes compute the field of one on $grid x $grid" compare "$tolerance" $grid-1.npy $grid-$n.npy
	done
done
status_is 0 "as many points as processes" heat 3 --grid 3 "${case_options[@]}" --output 3-3.npy
heat 1 --grid 3 "${case_options[@]}" --output 3-1.npy >/dev/null
ok "one column a process is right, too" compare 1e-4 3-1.npy 3-3.npy

# West is the first column, south the first row, and every step is in the file, in order.
ok "the file has the shape and the orientation that it should" "$STRETTO_PYTHON" - <<'PY'
import numpy
field = numpy.load("12-4.npy")
assert field.shape == (4, 12, 12), field.shape
last = field[-1]
west, east, south, north = last[6, 0], last[6, -1], last[0, 6], last[-1, 6]
assert west > north > south > east, (west, north, south, east)
assert (numpy.diff(field[:, 6, 6]) > 0).all(), "the centre warms up from step to step"
PY
done_testing
