#!/usr/bin/env bash
# The daemon is told to end, or killed, at inconvenient moments: at every call of its start, while it reads a large file
# of parameters, while others want its state directory, again and again while jobs wait.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
. "$srcdir/tests/t/kills.sh"
echo '{"adapters": {"local": {"slots": 1}}, "python": "/bin/true", "log_level": "warning"}' >"$T/config.json"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
copies() { find "$STATE/parameters" -type f | wc -l; }

# a signal right before each call that a start makes: it ends, and the next start is none the worse
signals=0 bad=
for ((n = 1; ; n++)); do
	KILLER_strettod=any:$n:before KILLER_SIGNAL=$((n % 2 ? 2 : 15)) KILLER_LOG=$T/signals LD_PRELOAD=$killer \
		env --default-signal=INT "$builddir/strettod" --state-dir "$STATE" --config "$T/config.json" \
		</dev/null >>"$DAEMON_LOG" 2>&1 &
	DAEMON_PID=$!
	wait_for 30 "is_ready || ! kill -0 $DAEMON_PID" || break
	[ "$(cat "$T/signals" 2>/dev/null | wc -l)" = $n ] || break # it was ready before it came so far
	signals=$n status=0
	wait $DAEMON_PID || status=$?
	[[ $status = @(0|130|143) ]] || bad="$bad $n:$status"
done
ok "signals were sent before each of the $signals calls of a start" test $signals -ge 10
is "$bad" "" "each ended it, and well"
kill_daemon
start_daemon --config "$T/config.json"
ok "and it starts" is_ready
stop_daemon
is "$DAEMON_STATUS" 0 "and ends"

# of many that start at once, one gets the state directory
pids=()
for i in 1 2 3 4; do
	strettod --state-dir "$STATE" --config "$T/config.json" </dev/null 2>"$T/log.$i" &
	pids+=($!)
done
alive() { for pid in "${pids[@]}"; do ! kill -0 "$pid" || echo "$pid"; done; }
wait_for 30 '[ "$(cat "$T"/log.? | grep -c "another strettod")" = 3 ] && [ "$(alive | wc -l)" = 1 ] && is_ready' || diag "$(cat "$T"/log.?)"
left=() statuses=
for pid in "${pids[@]}"; do
	if kill -0 "$pid" 2>/dev/null; then left+=("$pid"); else wait "$pid" || statuses="$statuses $?"; fi
done
is "${#left[@]}$statuses" "1 1 1 1" "of four daemons on one state directory, three are refused"
DAEMON_PID=${left[0]:?}
kill_daemon

# a job that waits in the local queue (the one that waits ahead of a free place) is not lost, however often the daemon
# is restarted
start_daemon --config "$T/config.json"
mkfifo "$T/go"
exec 9<>"$T/go"
jq -n --arg go "$T/go" '{name: "q", width: 3, members: {command: ["sh", "-c", "read x <" + $go],
	parameters: {grid: {i: [1, 2, 3]}}, retries: 0}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
wait_for 30 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.running)" = 1 ] && ls "$STATE"/run/e1/jobs/*/claim.json' ||
	bail "nothing runs"
submitted() { db "SELECT group_concat(submissions) FROM (SELECT * FROM job ORDER BY submissions)"; }
for i in 1 2 3 4 5 6 7; do
	wait_for 30 '[ "$(submitted)" = '"1,$i ]" || break
	kill_daemon
	start_daemon --config "$T/config.json"
done
printf 'x\nx\nx\n' >&9
ok "the ensemble ends" wait_ensemble "$ID" 60
is "$(jq -r .members.succeeded "$T/ensemble.json") $(db "SELECT count(*) FROM attempt")" "3 3" \
	"with every member at its first attempt"
ok "it was submitted again, more than 5 times" test "$(db "SELECT max(submissions) FROM job")" -gt 5

# killed right before it starts a runner, and right after: one runner has the job in the end, at the first attempt
for when in before after; do
	stop_daemon
	KILLER_strettod=posix_spawn:1:$when KILLER_LOG=$T/spawn-$when LD_PRELOAD=$killer \
		"$builddir/strettod" --state-dir "$STATE" --config "$T/config.json" </dev/null >>"$DAEMON_LOG" 2>&1 &
	DAEMON_PID=$!
	wait_for 30 is_ready || bail "the daemon does not start"
	jq -n --arg starts "$T/starts-$when" '{name: "s", members: {command: ["sh", "-c", "echo start >>" + $starts],
		parameters: {grid: {i: [1]}}, retries: 0}}' >"$T/spec.json"
	submit "$T/spec.json" >"$T/out"
	wait $DAEMON_PID 2>/dev/null
	ID=$(db "SELECT max(id) FROM ensemble") # the answer may not have left
	is "$(cut -d ' ' -f 3- "$T/spawn-$when")" "posix_spawn 1 $when" "the daemon is killed $when it starts a runner"
	start_daemon --config "$T/config.json"
	ok "the ensemble ends" wait_ensemble "$ID" 60
	is "$(wc -l <"$T/starts-$when") $(jq .members.succeeded "$T/ensemble.json") $(db "SELECT count(*) FROM attempt WHERE ensemble = $ID")" \
		"1 1 1" "the member was started once, at its first attempt"
done

# a large file of parameters is being read
python3 -c 'print("x,y\n" + "1,2\n" * 30000000, end="")' >"$T/large.csv"
jq -n --arg file "$T/large.csv" '{name: "l", members: {command: ["true"], parameters: {file: $file}}}' >"$T/spec.json"
reading() { # starts a submission, and returns when its file is being copied
	curl -s -m 100 --unix-socket "$SOCKET" -o "$T/answer" -w '%{http_code}' -H 'Content-Type: application/json' \
		-d "@$T/spec.json" http://stretto/v1/ensembles >"$T/answer.status" &
	CLIENT=$!
	wait_for 30 '[ "$(find "$STATE/parameters" -type f -size +1000k | wc -l)" -ge 1 ]'
}
for end in stop_daemon kill_daemon; do
	DAEMON_STATUS=0
	if reading; then pass "a large file of parameters is being read"; else fail "the file is not read"; fi
	$end
	wait "$CLIENT"
	is "$DAEMON_STATUS $(cat "$T/answer.status")" "0 000" "$end meanwhile: the submission is not answered"
	start_daemon --config "$T/config.json"
	is "$(db "SELECT count(*) FROM ensemble") $(copies)" "3 0" "and nothing of it is there"
done

# A child of a daemon that was killed may hold its socket for a moment longer: here until somebody connects.
kill_daemon
rm "$SOCKET"
"${STRETTO_PYTHON:-python3}" -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
s.accept()' "$SOCKET" &
wait_for 30 '[ -S "$SOCKET" ] && grep -q "^[0-9a-f]*: [0-9]* [0-9]* 00010000 .* $SOCKET\$" /proc/net/unix'
start_daemon --config "$T/config.json"
is "$(api_status GET /readyz)" 200 "a socket on which somebody answers once is taken over"
done_testing
