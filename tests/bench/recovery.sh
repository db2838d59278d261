# kill -9, in mid-stream, of a training with two ranks of PyTorch and its ensemble, each time when the ranks have learnt from 40 more batches,
# and what becomes of what was sent. Of each kind that is killed there is an ensemble of its own.
#
#   recovery          a rank, BENCH_KILLS times (20): from the kill to the next batch of both ranks, the median; against starting two
#                     processes at once that import PyTorch, make the model and load the checkpoint, as ranks do before they receive
#   recovery-worst    the longest
#   recovery-job      the runner of the training's job, a quarter as often, and with it both ranks and all that they held; the next
#                     generation goes on from the newest checkpoint alone, in another job, after a back-off of at least a second
#   recovery-member   a member: from the kill to the start of its next attempt; against the back-off before the first retry
#   recovery-daemon   the daemon: from the kill to when the next one is ready; against one that has nothing to go on with
#   recovery-daemon-pause  the longest time without a batch from the kill to then, against the longest in as long a time before
#   …-again           members that ran again: 0 is wanted, but one for each member that was killed; of "job", against the members
#                     that had begun: those of which the checkpoint has everything stay
#   …-lost            samples that were sent and are not learnt in the model that is left: 0 is wanted
#   …-repeated        samples that this model has learnt twice: 0 is wanted
#   …-recomputed      batches that were learnt once more, since no checkpoint had them when the ranks were killed
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"

python=${STRETTO_PYTHON:-$(sed -n "s/^STRETTO_PYTHON = //p" "${builddir:?}/Makefile")}
"$python" -c 'import torch' || bail "no Python with PyTorch"
make -s -C "${builddir:?}" tests/t/stream-member >&2
kills=${BENCH_KILLS:-20} members=8
rank=$srcdir/tests/bench/recovery_rank.py
echo '{"adapters": {"local": {"slots": 12}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

begin() { # WHAT STEPS WIDTH
	what=$1 steps=$2 trace=$T/trace-$1
	jq -n --arg name "$what" --arg python "$python" --arg rank "$rank" --arg trace "$trace" --argjson members $members --arg steps "$steps" \
		--argjson width "$3" --arg member "$builddir/tests/t/stream-member" '{name: $name, width: $width, max_same_failures: null,
		members: {command: ["sh", "-c", "echo \"{{\\\"member\\\": $STRETTO_MEMBER, \\\"pid\\\": $$, \\\"time\\\": $(date +%s.%N)}}\" >>\"$0\"; exec \"$@\"",
				($trace + "-members"), $member, $steps], parameters: {grid: {i: [range($members)]}}, retries: 1000},
		training: {command: [$python, "-B", $rank, "train", $trace], ranks: 2, retries: 1000, checkpoint: {every: "1s"},
			fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
				particles: {dtype: "float32", shape: [-1, 3], max: 40}},
			buffer: {policy: "fifo", capacity: 2000, batch: 10}}}' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
	[ "$ID" != null ] || bail "$what is refused: $(cat "$T/api.body")"
	RUN=$STATE/run/e$ID
}
kill_often() { # KILLS
	PYTHONPATH=$builddir/python "$python" -B "$srcdir/tests/bench/recovery_kills.py" "$what" "$trace" "$1" "$STATE/stretto.db" >"$T/$what.times" ||
		bail "$what: it does not go on: $(tail -n 3 "$RUN"/training/g*/rank?/stderr)"
	sed "s/^/$what: /" "$T/$what.times"
}
# ends NAME: and tells what has become of members and samples
ends() {
	wait_ensemble "$ID" 800 || bail "$what: it does not end: $(tail -n 3 "$RUN"/training/g*/rank?/stderr)"
	api GET "/v1/ensembles/$ID" | jq -c '[.name, .state, (.training | .state, .generation, .restarts, .failures, .received, .unique, .drawn)]'
	figure "$1-again" "$(api GET "/v1/ensembles/$ID/members?limit=100" | jq '[.members[].attempts - 1] | add')" members "${@:2}"
	jq -s 'add | map(.[0] * 1000000 + .[1])' "$RUN/training/g$(jq .training.generation "$T/ensemble.json")"/rank?/learnt.json >learnt
	figure "$1-lost" "$(jq --argjson all $((members * steps)) '$all - (unique | length)' learnt)" samples
	figure "$1-repeated" "$(jq 'length - (unique | length)' learnt)" samples
	figure "$1-recomputed" "$(cat "$trace"-rank? | jq -s 'length - (map([.rank, .batch]) | unique | length)')" batches
}

begin rank $((400 + kills * 300)) $members
kill_often "$kills"
ends recovery
load=$(median <"$trace-loads")
figure recovery "$(median <rank.times)" s "starting two ranks and loading the model" "$load"
figure recovery-worst "$(jq -n '[inputs] | max' <rank.times)" s "starting two ranks and loading the model" "$load"

begin job 3000 2
kill_often $(((kills + 3) / 4))
figure recovery-job "$(median <job.times)" s "starting two ranks and loading the model" "$load"
ends recovery-job "members that had begun" "$(jq -n '[inputs] | add' <"$trace-begun")"

begin member $((400 + kills * 600)) $members
kill_often "$kills"
figure recovery-member "$(median <member.times)" s "the back-off" 1
ends recovery-member "members that were killed" "$kills"

# From now on the daemon is killed. pauses FROM TO: the longest time without a batch of any rank between these, by the monotonic clock
pauses() {
	cat "$trace"-rank? | jq -s --argjson from "$1" --argjson to "$2" 'map(.time | select(. >= $from and . <= $to)) + [$from, $to] | sort |
		[.[1:], .[:-1]] | transpose | map(.[0] - .[1]) | max'
}
monotonic() { "$python" -c 'import time; print(time.monotonic())'; }
learnt() { cat "$trace"-rank? 2>/dev/null | wc -l; }
begin daemon $((400 + kills * 600)) $members
for ((i = 0; i < kills; i++)); do
	until=$(($(learnt) + 80))
	wait_for 240 '[ "$(learnt)" -ge $until ]' || bail "the ranks do not go on"
	from=$(monotonic)
	kill_daemon
	start_daemon --config "$T/config.json"
	to=$(monotonic)
	difference "$to" "$from" >>daemon.times
	wait_for 240 '[ "$(learnt)" -ge $((until + 40)) ]' || bail "the ranks do not go on"
	pauses "$from" "$to" >>pauses
	pauses "$(jq -n "2 * $from - $to")" "$from" >>pauses-before
done
ends recovery-daemon
stop_daemon
for _ in $(seq "$BENCH_ROUNDS"); do
	from=$(monotonic)
	STATE=$T/fresh SOCKET=$T/fresh/stretto.sock start_daemon --config "$T/config.json"
	difference "$(monotonic)" "$from" >>fresh.times
	kill_daemon
	rm -rf "$T/fresh"
done
figure recovery-daemon "$(median <daemon.times)" s "starting a daemon that knows nothing" "$(median <fresh.times)"
figure recovery-daemon-pause "$(median <pauses)" s "as long a time before the kill" "$(median <pauses-before)"
bench_done
