#!/usr/bin/env bash
# Members in every language stream into one rank, which checks each value.
# shellcheck disable=SC2317,SC2016 # functions that are called by name, and text for eval
TEST_LIMIT=240
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
echo detect_leaks=1 >"$T/asan.stream-member"
limit=$((120 * PATIENCE)) # seconds; a member, or a rank, that waits for what never comes fails by itself
python() { PYTHONPATH=$builddir/python "$STRETTO_PYTHON" -B "$@"; }
rank_python() { PYTHONPATH=$builddir/python timeout "$limit" "$STRETTO_PYTHON" -B "$@"; }
python_member() { python "$srcdir/tests/t/stream-member.py" "$@"; }

fields='{"temperature": {"dtype": "float32", "shape": [3, 4]}, "flux": {"dtype": "float64", "shape": [2]},
	"particles": {"dtype": "float32", "shape": [-1, 3], "max": 40}}'
member_kinds=(python_member python_member "$builddir/tests/t/stream-member")
fortran=$builddir/tests/t/stream-member-fortran
fortran_real32() { "$fortran" "$1" real32; }
[ ! -x "$fortran" ] || member_kinds+=("$fortran" fortran_real32)
steps=70

status_is 0 "a Python member that is not under stretto runs" python_member 14
is "$(cat "$T/out")" "idle inf" "its stream is idle, and it makes the same mistakes"
is "$(grep -c 'STRETTO_STREAM is not set' "$T/err")" 1 "that is said once"

if [ -x "$fortran" ]; then
	echo detect_leaks=1 >"$T/asan.stream-member-fortran"
	status_is 0 "a Fortran member that is not under stretto runs" "$fortran" 14
	is "$(cat "$T/out")" "idle, without a limit" "its stream is idle, and it makes the same mistakes"
	status_is 1 "a failure that no stat= asks for ends a Fortran program" env ASAN_OPTIONS= "$fortran" 14 stop
	like "$(cat "$T/err")" "stretto: the field was not declared" "with the reason"
	status_is 0 "a stream that cannot be opened may be tried again" env STRETTO_STREAM=/nowhere STRETTO_STREAM_KEY=x \
		STRETTO_METRICS="$T/metrics.jsonl" ASAN_OPTIONS=detect_leaks=0 "$fortran" 14 failing
	is "$(jq -c '[.name, .step, .value]' "$T/metrics.jsonl")" '["a loss",3,0.5]' "the name of a metric has no blanks behind it"
else
	skip "built without a Fortran compiler"
fi

# RUN MEMBERS CAPACITY: a rank's configuration
configure_run() {
	mkdir -p "$1/stream" "$1/g1" "$1/tmp"
	cat >"$1/g1/training.json" <<-END
		{"version": 1, "ensemble": 9, "training": 1, "job": "st-0-1", "generation": 1, "ranks": 1, "count": $2,
		 "stream": "$1/stream", "stream_key": "00000000000000ff", "parameters": ["p", "q"], "fields": $fields,
		 "buffer": {"policy": "reservoir", "capacity": $3, "threshold": 5, "batch": 8, "seed": 5}}
	END
	echo '{"version": 1, "generation": 1, "ranks": 1}' >"$1/stream/current.json"
}
rank_of() { # RUN COMMAND...
	local run=$1
	shift
	STRETTO_TRAINING_DIR=$run/g1 STRETTO_RANK=0 STRETTO_TMPDIR=$run/tmp "$@"
}
member_of() { # RUN INDEX COMMAND...
	local run=$1 index=$2
	shift 2
	STRETTO_STREAM=$run/stream STRETTO_STREAM_KEY=00000000000000ff STRETTO_ENSEMBLE=9 STRETTO_MEMBER=$index \
		STRETTO_DEADLINE=$(($(date +%s) + limit)) STRETTO_ATTEMPT=1 STRETTO_SEED=11 STRETTO_FIELDS=$fields STRETTO_STREAM_CHECKSUM=1 \
		STRETTO_PARAMS=$(jq -nc --argjson m "$index" '{p: ($m * 1.5), q: (-$m), name: "x"}') "$@"
}
over() { # RUN: no more members come
	echo '{"version": 1, "over": true, "succeeded": 1, "other": 0}' >"$1/g1/new"
	mv "$1/g1/new" "$1/g1/reception.json"
}

run=$T/all members=${#member_kinds[@]} pids=()
configure_run "$run" "$members" 500
rank_of "$run" rank_python "$srcdir/tests/t/stream-rank.py" plain "$members" $steps >"$run/books.json" 2>"$run/rank.log" &
rank=$!
for ((m = 0; m < members; m++)); do
	member_of "$run" $m "${member_kinds[m]}" $steps >"$run/member$m.log" 2>&1 &
	pids+=($!)
done
for ((m = 0; m < members; m++)); do
	bad=0
	wait "${pids[m]}" || bad=$?
	is $bad 0 "${member_kinds[m]##*/} (member $m) ends well"
	[ $bad = 0 ] || diag "$(tail -n 20 "$run/member$m.log")"
done
over "$run"
bad=0
wait $rank || bad=$?
is $bad 0 "the rank has seen every sample of every language, with the right contents"
[ $bad = 0 ] || diag "$(tail -n 20 "$run/rank.log")"
# shellcheck disable=SC2016 # for jq
ok "the books agree" jq -e --argjson n $((members * steps)) --argjson m "$members" '.own_unique == $n and
	.received == $n and .duplicates == 0 and .rejected == 0 and .finalized == $m' "$run/books.json"

# Python's signal handlers run while its member waits: for a rank that is not there yet, then for room in its buffer.
run=$T/full
configure_run "$run" 1 8
member_of "$run" 0 python_member full "$T/mark" >"$run/out" 2>"$run/err" &
member=$!
wait_for 20 '[ -s "$run/out" ]' || true
pid=$(cat "$run/out") # told once the handler is there
handles() { kill -USR1 "$pid" && wait_for 20 "[ -e $T/mark ]"; }
ok "a handler runs while a Python member waits for its rank" handles
rm -f "$T/mark"
# shellcheck disable=SC2016 # for Python
rank_of "$run" rank_python -c '
import sys, stretto.train
with stretto.train.open() as rx:
    print("there", flush=True)
    sys.stdin.read()' >"$run/rank.out" 2>"$run/rank.err" < <(sleep 1000 & echo $! >"$T/sleeper"; wait) &
rank=$!
population() { jq -e '.population == 8' "$run/g1/status-rank0.json"; }
wait_for 30 population || true
ok "a handler runs while a Python member waits for room" handles
kill -INT "$pid"
bad=0
wait $member || bad=$?
ok "and an exception of one ends the wait" [ $bad -ne 0 ]
like "$(tail -n 1 "$run/err")" '^KeyboardInterrupt' "it is the one that was raised"
kill "$(cat "$T/sleeper")"
wait $rank

run=$T/fail
configure_run "$run" 1 8
rank_of "$run" rank_python -c '
import stretto.train
with stretto.train.open() as rx:
    for batch in rx.batches():
        pass
    print(rx.stats()["finalized"])' >"$run/finalized" 2>"$run/rank.err" &
rank=$!
status_is 1 "a Python member that fails in its block ends with its own error" member_of "$run" 0 python_member fail
like "$(tail -n 1 "$T/err")" "ArithmeticError: the solver diverged" "and its own reason"
over "$run"
wait $rank
is "$(cat "$run/finalized")" 0 "the rank does not take it for finished"

done_testing
