#!/usr/bin/env bash
# The options that heat2d refuses, and its message: one line, the last on stderr, which the exit record has as the
# reason.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -n "${STRETTO_MPIEXEC:-}" ] || skip_all "built without MPI"
export PATH=$builddir/examples/heat:$PATH
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset STRETTO_NTASKS STRETTO_STREAM

refused() { # STATUS REGEX COMMAND...
	local status=$1 regex=$2
	shift 2
	status_is "$status" "refused: ${*: -2}" timeout $((30 * PATIENCE)) "$@"
	like "$(tail -n 1 err)" "$regex" "the reason is the last line"
	is "$(grep -c "^heat2d: " err)" 1 "and the only one of its own"
}

refused 2 '--grid wants a whole number .*"0"' heat2d --grid 0
refused 2 '--grid wants a whole number .*"99999999999999999999"' heat2d --grid 99999999999999999999
refused 2 '--grid wants a whole number .*"1x"' heat2d --grid 1x
refused 2 '--west wants a number, not "[{]tw[}]"' heat2d --west '{tw}'
refused 2 '--west wants a number, not "300K"' heat2d --west 300K
refused 2 '--dt wants a number above 0, not "0[.]1 s"' heat2d --dt '0.1 s'
refused 2 '--tolerance wants a number above 0, not ""' heat2d --tolerance ''
refused 2 '--east wants a number, not "nan"' heat2d --east nan
refused 2 '--dt wants a number above 0' heat2d --dt 0
refused 2 '--substeps wants a whole number from 1' heat2d --substeps 0
refused 2 '--steps times --substeps is more than 1000000000' heat2d --steps 1000000 --substeps 1001
refused 2 '--alpha wants a number above 0' heat2d --alpha -1
refused 2 '"--colour" is no option' heat2d --colour
refused 2 '"--steps" is no option .* value is missing' heat2d --steps
refused 2 'nothing to do with "mesh.dat"' heat2d --steps 2 mesh.dat
refused 1 'cannot write no/such/x.npy: No such file' heat2d --output no/such/x.npy
refused 1 'did not converge: relative residual .* after 2 iterations' heat2d --output x.npy --west 500 --max-iterations 2
refused 1 'did not converge' heat2d --initial 1e200
is "$(ls x.npy* 2>/dev/null)" "" "a failed run leaves no output"
ln -s /dev/full x.npy.part # a disk that is full when the file is closed
refused 1 'cannot write x[.]npy: No space left' heat2d --grid 4 --steps 2 --output x.npy
is "$(ls x.npy* 2>/dev/null)" "" "nor does one that could not write its output"

# A field of all steps, in the place of an older file: a header of 128 bytes, and a float32 for each point of each step.
values() { od -A n -t f4 -v -w4 -j 128 "$1" | tr -d ' '; }
for n in 1 2; do
	echo older >$n.npy
	status_is 0 "--output of $n" timeout $((30 * PATIENCE)) "$STRETTO_MPIEXEC" -n $n heat2d --grid 4 --steps 3 --substeps 40 --west 500 --output $n.npy
	is "$(ls $n.npy*) $(stat -c %s $n.npy)" "$n.npy $((128 + 3 * 4 * 4 * 4))" "is there whole, alone"
	is "$(head -c 128 $n.npy | tr -d '\0' | grep -a -o '{.*}')" "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4, 4), }" "with its shape"
	ok "each value is between the coldest and the warmest side, and each step is warmer" \
		awk '!($1 >= 300 && $1 < 500) { exit 1 } { sum[int((NR - 1) / 16)] += $1 } END { exit !(NR == 48 && sum[0] < sum[1] && sum[1] < sum[2]) }' <(values $n.npy)
done
ok "two processes write what one does" awk 'NR == FNR { of_one[FNR] = $1; next } ($1 - of_one[FNR]) ^ 2 > 1e-6 { exit 1 } END { exit FNR != 48 }' \
	<(values 1.npy) <(values 2.npy)

for option in help version; do
	status_is 0 "--$option" timeout $((30 * PATIENCE)) heat2d --$option
	is "$(grep -c 'iterations a step' out) $(grep -c heat2d out | sed 's/[1-9][0-9]*/some/')" "0 some" "is answered, and nothing is computed"
	cp out alone
	status_is 0 "--$option of two processes" timeout $((30 * PATIENCE)) "$STRETTO_MPIEXEC" -n 2 heat2d --$option
	is "$(cat out)" "$(cat alone)" "of which one answers"
done
status_is 2 "two processes refuse together" timeout $((30 * PATIENCE)) "$STRETTO_MPIEXEC" -n 2 heat2d --grid 0
is "$(grep -c 'heat2d: --grid wants' err)" 1 "and one speaks for both"
ln -s /dev/full x.npy.part
status_is 1 "two processes end together where the output cannot be written" \
	timeout $((30 * PATIENCE)) "$STRETTO_MPIEXEC" -n 2 heat2d --grid 4 --steps 2 --output x.npy
like "$(cat err)" 'cannot write x[.]npy: No space left' "which is told"
status_is 1 "more processes than points" timeout $((30 * PATIENCE)) "$STRETTO_MPIEXEC" -n 3 heat2d --grid 2
like "$(cat err)" '3 processes cannot share a grid of 2 x 2' "is told"

# Each of two processes wants 4 GiB.
case ${STRETTO_SANITIZE:-no} in
*address*) short=(env ASAN_OPTIONS=max_allocation_size_mb=500:allocator_may_return_null=1:detect_leaks=0) ;;
no) short=(sh -c 'ulimit -v 4000000; exec "$@"' sh) ;;
*) short=() ;;
esac
if [ ${#short[@]} -gt 0 ]; then
	status_is 1 "two processes end together where memory is short" \
		timeout $((30 * PATIENCE)) "${short[@]}" "$STRETTO_MPIEXEC" -n 2 heat2d --grid 32768 --steps 1
	like "$(cat err)" 'heat2d: no memory for the grid' "which is told"
fi

# A launcher of another MPI makes two worlds of one; here there is no launcher at all, which looks the same inside.
export STRETTO_NTASKS=2
refused 1 'started as 2 processes \(STRETTO_NTASKS\), but the MPI world has 1: .*launcher' heat2d --grid 8
status_is 0 "a world of the right size is taken" timeout $((30 * PATIENCE)) "$STRETTO_MPIEXEC" -n 2 heat2d --grid 8 --steps 2
done_testing
