#!/usr/bin/env bash
# Member processes stream into a rank in Python, with NumPy and with a PyTorch DataLoader; and ranks wait for each other
# as long as they are told to.
TEST_LIMIT=240
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

member=$builddir/tests/t/stream-member
echo detect_leaks=1 >"$T/asan.stream-member"
limit=$((120 * PATIENCE)) # seconds; a member, or a rank, that waits for what never comes fails by itself

status_is 0 "a member that is not under stretto runs" "$member" 3
is "$(cat "$T/out")" "idle, without a limit" "its stream is idle"
is "$(grep -c STRETTO_STREAM "$T/err")" 1 "that is said once"

[ -n "${STRETTO_PYTHON:-}" ] || {
	skip "no Python with torch and numpy"
	done_testing
}
python() { PYTHONPATH=$builddir/python timeout "$limit" "$STRETTO_PYTHON" -B "$@"; }

status_is 1 "a training that is not under stretto fails" python -c 'import stretto.train; stretto.train.open()'
like "$(cat "$T/err")" "RuntimeError: this program was not started as a training by stretto" "and is told why"
ok "each part of the Python layers of a training does what it says" python "$srcdir/tests/t/python-parts.py"
ok "so does each of a member" python "$srcdir/tests/t/python-members.py"

fields='{"temperature": {"dtype": "float32", "shape": [3, 4]}, "flux": {"dtype": "float64", "shape": [2]},
	"particles": {"dtype": "float32", "shape": [-1, 3], "max": 40}}'
members=4
steps=60

start_member() { # RUN INDEX [STEP THAT IS SENT TWICE]
	STRETTO_STREAM=$1/stream STRETTO_STREAM_KEY=00000000000000ff STRETTO_ENSEMBLE=9 STRETTO_MEMBER=$2 STRETTO_ATTEMPT=1 \
		STRETTO_FIELDS=$fields STRETTO_STREAM_CHECKSUM=1 STRETTO_DEADLINE=$(($(date +%s) + limit)) \
		STRETTO_PARAMS=$(jq -nc --argjson m "$2" '{p: ($m * 1.5), q: (-$m), name: "x"}') \
		"$member" "$steps" ${3:+"$3"} >"$1/member$2.log" 2>&1 &
}

run() { # KIND CAPACITY: a rank of this kind, and its members, one of which sends a step twice
	local run=$T/$1 capacity=$2 rank pids=() bad=0 m
	mkdir -p "$run/stream" "$run/g1" "$run/tmp"
	cat >"$run/g1/training.json" <<-END
		{"version": 1, "ensemble": 9, "training": 1, "job": "st-0-1", "generation": 1, "ranks": 1, "count": $members,
		 "stream": "$run/stream", "stream_key": "00000000000000ff", "parameters": ["p", "q"], "fields": $fields,
		 "buffer": {"policy": "reservoir", "capacity": $capacity, "threshold": 20, "batch": 8, "seed": 5}}
	END
	echo '{"version": 1, "generation": 1, "ranks": 1}' >"$run/stream/current.json"
	STRETTO_TRAINING_DIR=$run/g1 STRETTO_RANK=0 STRETTO_TMPDIR=$run/tmp \
		python "$srcdir/tests/t/stream-rank.py" "$1" $members $steps >"$run/books.json" 2>"$run/rank.log" &
	rank=$!
	for ((m = 0; m < members; m++)); do
		start_member "$run" $m "$([ $m = 2 ] && echo 7)"
		pids+=($!)
	done
	for m in "${pids[@]}"; do wait "$m" || bad=1; done
	is $bad 0 "$1: every member ends well"
	echo '{"version": 1, "over": true, "succeeded": 4, "other": 0}' >"$run/g1/new"
	mv "$run/g1/new" "$run/g1/reception.json"
	bad=0
	wait $rank || bad=$?
	is $bad 0 "$1: the rank has seen every sample, with the right contents"
	[ $bad = 0 ] || diag "$(tail -n 20 "$run"/*.log)"
	# shellcheck disable=SC2016 # for jq
	ok "$1: the books agree" jq -e '.own_unique == 240 and .unique == 240 and .drawn == 240 and .received == 241 and
		.duplicates == 1 and .finalized == 4 and .rejected == 0 and .unseen == 0 and .batches == .own_batches' "$run/books.json"
	ok "$1: the done record has them" jq -e '.state == "done" and .drawn == 240 and .generation == 1 and .rank == 0 and
		.finalized == 4' "$run/g1/done-rank0.json"
	is "$(jq -s length "$run/g1/metrics-rank0.jsonl")" "$(jq .batches "$run/books.json")" "$1: every metric point is in the file"
	is "$(ls "$run/tmp")" "" "$1: no socket is left"
	is "$(stat -c %a "$run/stream/g1-rank0.json")" 600 "$1: the endpoint was private"
}

run numpy 500
run torch 30

# PyTorch's own patience with a rank that does not come is five minutes.
cat >"$T/alone.py" <<'END'
import datetime, os, sys, types
from stretto import distributed
os.environ["STRETTO_TRAINING_DIR"] = sys.argv[1]
try:
    with distributed.process_group(types.SimpleNamespace(rank=0, ranks=2), meet_within=datetime.timedelta(seconds=1)):
        print("both are there")
except RuntimeError as error:
    print(error)
END
mkdir "$T/alone"
like "$(python "$T/alone.py" "$T/alone" 2>&1)" '^rank 1 of 2 did not come: ' \
	"a rank waits for the others no longer than it is told to"
done_testing
