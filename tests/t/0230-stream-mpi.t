#!/usr/bin/env bash
# MPI programs in C and Fortran, with each MPI that is here, stream their blocks into one rank, which checks each value.
# shellcheck disable=SC2317 # functions that are called by name, and text for eval
TEST_LIMIT=240
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -n "${STRETTO_MPIEXEC:-}" ] || skip_all "built without MPI"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
export MPIR_CVAR_POLLS_BEFORE_YIELD=1 # more processes than cores: let the others go on
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_vader_single_copy_mechanism=none
unset STRETTO_NTASKS STRETTO_STREAM
flags=(-g -O0 -Wall -Wextra -Werror)
case ${STRETTO_SANITIZE:-no} in
no) ;;
*) flags+=("-fsanitize=$STRETTO_SANITIZE" -fno-sanitize-recover=all) ;;
esac
# Of the module the sanitizer of memory alone, where it is one: the others see little of it, and take twice as long as
# all the rest.
module_flags=("${flags[@]/#-fsanitize=*address*/-fsanitize=address}")
python() { PYTHONPATH=$builddir/python "$STRETTO_PYTHON" -B "$@"; }

# CC:FC:LAUNCHER that belong together
mpis=()
echo '#include <mpi.h>' >"$T/probe.c"
for mpi in mpich openmpi; do
	# Debian has Open MPI's programs without its headers, where something depends on mpi-default-bin.
	if command -v mpiexec.$mpi >"$T/out" && mpicc.$mpi -c -o "$T/probe.o" "$T/probe.c" >"$T/out" 2>&1; then
		mpis+=("mpicc.$mpi:mpifort.$mpi:mpiexec.$mpi")
	fi
done
[ ${#mpis[@]} -gt 0 ] || mpis=("mpicc:mpifort:$STRETTO_MPIEXEC")

fields='{"temperature": {"dtype": "float32", "shape": [3, 4]}, "flux": {"dtype": "float64", "shape": [2]},
	"particles": {"dtype": "float32", "shape": [-1, 3], "max": 40}}'
steps=20
member_of() { # RUN INDEX COMMAND...
	local run=$1 index=$2
	shift 2
	STRETTO_STREAM=$run/stream STRETTO_STREAM_KEY=00000000000000ff STRETTO_ENSEMBLE=9 STRETTO_MEMBER=$index \
		STRETTO_DEADLINE=$(($(date +%s) + 60 * PATIENCE)) STRETTO_ATTEMPT=1 STRETTO_FIELDS=$fields STRETTO_STREAM_CHECKSUM=1 \
		STRETTO_PARAMS=$(jq -nc --argjson m "$index" '{p: ($m * 1.5), q: (-$m), name: "x"}') "$@"
}
configure_run() { # RUN MEMBERS
	mkdir -p "$1/stream" "$1/g1" "$1/tmp"
	cat >"$1/g1/training.json" <<-END
		{"version": 1, "ensemble": 9, "training": 1, "job": "st-0-1", "generation": 1, "ranks": 1, "count": $2,
		 "stream": "$1/stream", "stream_key": "00000000000000ff", "parameters": ["p", "q"], "fields": $fields,
		 "buffer": {"policy": "reservoir", "capacity": 1000, "threshold": 5, "batch": 8, "seed": 5}}
	END
	echo '{"version": 1, "generation": 1, "ranks": 1}' >"$1/stream/current.json"
}

for mpi in "${mpis[@]}"; do
	IFS=: read -r cc fc launcher <<<"$mpi"
	dir=$T/${cc##*.} programs=()
	mkdir "$dir"
	cd "$dir" || exit 99
	ok "stretto-mpi.h compiles without a warning by $cc" "$cc" -std=c99 "${flags[@]}" -I"$srcdir/tasks/member" \
		-o stream-mpi "$srcdir/tests/t/stream-mpi.c" -L"$builddir/.libs" -Wl,-rpath,"$builddir/.libs" -lstretto
	programs=("$dir/stream-mpi")
	if command -v g++ "${cc/mpicc/mpicxx}" >/dev/null; then
		echo '#include <stretto-mpi.h>' >header.cc
		ok "and as C++" "${cc/mpicc/mpicxx}" -Wall -I"$srcdir/tasks/member" -c header.cc
		is "$("${cc/mpicc/mpicxx}" -Wall -I"$srcdir/tasks/member" -c header.cc 2>&1 | grep stretto-mpi.h:)" "" "without a warning"
	else
		skip "no C++ for $cc"
	fi
	if [ -e "$builddir/libstretto-fortran.la" ] && command -v "$fc" >/dev/null; then
		compile() {
			"$cc" "${flags[@]}" -I"$srcdir/tasks/member" -c "$srcdir/tasks/member/fortran/stretto_mpi_shim.c" &&
				"$fc" "${module_flags[@]}" -c "$builddir/tasks/member/fortran/stretto_mpi.f90" &&
				"$fc" "${flags[@]}" -o stream-mpi-fortran "$srcdir/tests/t/stream-mpi.f90" stretto_mpi.o \
					stretto_mpi_shim.o -L"$builddir/.libs" -Wl,-rpath,"$builddir/.libs" -lstretto
		}
		ok "so does the Fortran module, by $fc" compile
		programs+=("$dir/stream-mpi-fortran")
	else
		skip "no Fortran for $cc"
	fi
	rank=
	on() { # PROCESSES COMMAND...: ended as soon as the rank has ended, which it does at a wrong value
		local job ended=
		timeout $((100 * PATIENCE)) "$launcher" -n "$@" </dev/null &
		job=$!
		if [ -n "$rank" ]; then
			wait -n -p ended "$job" "$rank"
			[ "$ended" = "$job" ] || kill "$job"
		fi
		wait "$job"
	}

	status_is 0 "$cc: idle" on 3 ./stream-mpi 5
	is "$(cat "$T/out")" "idle, without a limit" "it says so once"

	# the first MPI in full, the others where they could differ
	runs=("3 ./stream-mpi $steps outside" "2 ./stream-mpi $steps float32")
	[ "$mpi" != "${mpis[0]}" ] || runs+=("1 ./stream-mpi $steps" "2 ./stream-mpi $steps" "4 ./stream-mpi $steps")
	if [ ${#programs[@]} -gt 1 ]; then
		runs+=("3 ./stream-mpi-fortran $steps")
		[ "$mpi" != "${mpis[0]}" ] || runs+=("1 ./stream-mpi-fortran $steps" "4 ./stream-mpi-fortran $steps")
	fi
	run=$dir/run
	configure_run "$run" ${#runs[@]}
	STRETTO_TRAINING_DIR=$run/g1 STRETTO_RANK=0 STRETTO_TMPDIR=$run/tmp \
		python "$srcdir/tests/t/stream-rank.py" plain ${#runs[@]} $steps >"$run/books.json" 2>"$run/rank.log" &
	rank=$!
	for ((m = 0; m < ${#runs[@]}; m++)); do
		# shellcheck disable=SC2086 # words
		status_is 0 "$cc: ${runs[m]}" member_of "$run" $m on ${runs[m]}
		kill -0 $rank 2>"$T/err" || bail "$cc: the rank has ended: $(tail -n 3 "$run/rank.log")"
	done

	# mistakes
	while read -r kind status reason; do
		status_is "$status" "$cc: refused: $kind" member_of "$run" 0 on 3 ./stream-mpi 3 "$kind"
		is "$(grep -c -E -- "^process [012]: $reason" "$T/out")" 3 "every process is told: $reason"
		[ "$mpi" = "${mpis[0]}" ] || break
	done <<-END
		overlap 4 field "temperature": the blocks of processes 0 and 1 overlap
		hole 4 field "temperature": the blocks do not cover it
		beyond 4 field "temperature", process 2: its block does not lie in its array
		unlike 4 field "temperature", process 2: it has another type or shape of the field than process 0
		name 5 the spec's training has no field "flow"
		negative 6 a step cannot be negative: -1
		placed 5 field "particles", process 2: where the first extent varies, a block has no place: the rest of it is 0
		backward 6 process 1 has a negative count of entries
		crowd 6 the first extent of field "particles" is from 0 to 40, not 4
		unnumbered 6 the first extent of the field varies: stretto_mpi_send_extent\(\) sends it
	END
	# failures of the stream of process 0: it does not open; it is refused once it sends
	status_is 3 "$cc: a stream that does not open" member_of "$run" 0 on 3 env STRETTO_STREAM_KEY=none ./stream-mpi 3
	is "$(grep -c '^process [012]: STRETTO_STREAM_KEY is no number' "$T/out")" 3 "every process is told"
	status_is 6 "$cc: a stream that is refused" member_of "$run" 99 on 3 ./stream-mpi 100
	is "$(grep -c '^process [012]: rank 0 refuses member 9.99' "$T/out")" 3 "every process is told"
	STRETTO_NTASKS=2 status_is 3 "$cc: a process alone in its world, of two" member_of "$run" 0 ./stream-mpi 3
	like "$(cat "$T/out")" "^process 0: started as 2 processes \(STRETTO_NTASKS\), but the MPI world has 1: " "and is told"
	STRETTO_NTASKS=1 status_is 0 "$cc: a launcher in a script that was started as one process" on 2 ./stream-mpi 3
	if [ ${#programs[@]} -gt 1 ]; then
		status_is 4 "$cc: refused in Fortran" member_of "$run" 0 on 3 ./stream-mpi-fortran 3 outside
		is "$(grep -c -E '^process [012]: field "temperature", process 2: its block does not lie in the field' "$T/out")" 3 \
			"every process is told why"
	fi

	echo '{"version": 1, "over": true, "succeeded": 1, "other": 0}' >"$run/g1/new"
	mv "$run/g1/new" "$run/g1/reception.json"
	bad=0
	wait $rank || bad=$?
	is $bad 0 "$cc: the rank has seen every sample, with the right contents"
	[ $bad = 0 ] || diag "$(tail -n 20 "$run/rank.log")"
	# shellcheck disable=SC2016 # for jq
	ok "$cc: the books agree" jq -e --argjson n $((${#runs[@]} * steps)) --argjson m ${#runs[@]} \
		'.own_unique == $n and .finalized == $m' "$run/books.json"
	cd "$T" || exit 99
done
done_testing
