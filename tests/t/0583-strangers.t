#!/usr/bin/env bash
# Clients that only hold connections, or send a byte at a time, keep nobody out; and no listener takes another's room,
# nor the descriptors that jobs need.
TEST_LIMIT=180
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

echo '{"max_connections": 40, "heartbeat": "1s"}' >"$T/config.json" # 10 of them strangers
start_daemon --config "$T/config.json" --listen tcp:127.0.0.1:0
URL=$(jq -r '.listeners[].url | select(startswith("http"))' "$STATE/listen.json")
PORT=${URL##*:}
reader=$(stretto token create --role reader 2>/dev/null)
tcp() { curl -s -m 300 -o "$T/body" -w '%{http_code}' -H "Authorization: Bearer ${2:-$reader}" "$URL$1"; }

cat >"$T/hold.py" <<'EOF'
# hold.py PORT NUMBER KIND: opens connections, says "open", and holds them until its standard input ends; then tells how
# many are still open. A stream that is told there is no room tries again: the daemon may not have seen yet who went.
import socket, sys, threading, time
port, number, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
head = {"silent": b"", "half": b"GET /v1/ensembles HTTP/1.1\r\nHost: localhost\r\nX: ", "wrong": b"",
        "stream": b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer "
                  + sys.argv[4].encode() + b"\r\n\r\n" if len(sys.argv) > 4 else b""}[kind]
deadline = time.monotonic() + 200
def connect():
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(head)
    return s
def is_let_in(s):
    status = s.recv(12)
    if not status.startswith(b"HTTP/1.1 503") or time.monotonic() > deadline:
        return True
    s.close()
    return False
held = []
while len(held) < number:
    s = connect()
    if kind != "stream" or is_let_in(s):
        held.append(s)
print("open", flush=True)
over = threading.Event()
def drip():
    while not over.wait(0.2):
        for s in held:
            try:
                s.send(b"x", socket.MSG_DONTWAIT)
            except OSError:
                pass
if kind == "half":
    threading.Thread(target=drip, daemon=True).start()
sys.stdin.read()
over.set()
still = 0
for s in held:
    s.setblocking(False)
    try:
        while s.recv(65536):
            pass
    except BlockingIOError:
        still += 1
    except OSError:
        pass
print(still, flush=True)
EOF
mkfifo "$T/hold"
descriptors() { find "/proc/$DAEMON_PID/fd" -mindepth 1 | wc -l; }
hold() { # NAME ARGUMENT...
	local name=$1
	shift
	rm -f "$T/$name" # of one before of that name
	python3 "$T/hold.py" "$PORT" "$@" <"$T/hold" >"$T/$name" 2>"$T/$name.err" &
	HOLDER=$!
	exec 9>"$T/hold"
	wait_for 30 "grep -q open '$T/$name'" || diag "$(cat "$T/$name.err")"
}
release() { # NAME: LEFT becomes the number of connections that were still open
	exec 9>&-
	wait "$HOLDER"
	LEFT=$(tail -n 1 "$T/$1")
}

metric() { api GET /metrics | sed -n "s/^stretto_connections$1 //p"; }
hold silent 200 silent
ok "of 200 silent connections ten are left at most, and the others were closed" wait_for 20 \
	'left=$(metric '"'{state=\"stranger\"}'"') && [ $left -le 10 ] && [ $((left + $(metric _evicted_total))) = 200 ]'
is "$(tcp /readyz) $(api_status GET /readyz)" "200 200" "200 silent connections keep out nobody"
release silent
ok "the eldest went for the newest ($LEFT of 200 left)" test "$LEFT" -le 10
hold half 60 half
is "$(tcp /readyz) $(api_status GET /readyz)" "200 200" "nor do 60 that send a byte at a time"
# their time is over
wait_for 20 '[ "$(metric '"'{state=\"stranger\"}'"')" = 0 ]'
release half
is "$LEFT" 0 "who does not come to the point in ten seconds has to go"
# who has asked in time is answered, also where the daemon was stopped and reads it late
cat >"$T/ask.py" <<'EOF'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
sys.stdin.readline()
s.setblocking(False)
try: # the daemon is stopped: where it has not closed the connection by now, it was stopped in time
    s.recv(12)
    sys.exit("closed")
except BlockingIOError:
    s.setblocking(True)
s.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + sys.argv[2].encode() + b"\r\n\r\n")
print("sent", flush=True)
print(s.recv(12).decode(), flush=True)
EOF
mkfifo "$T/ask"
# a stranger that asks while the daemon is stopped; fails if the daemon had been rid of him by then, on a machine
# that stood still
ask_late() {
	python3 "$T/ask.py" "$PORT" "$reader" <"$T/ask" >"$T/asked" 2>&1 &
	asking=$!
	exec 8>"$T/ask"
	wait_for 20 '[ "$(metric '"'{state=\"stranger\"}'"')" = 1 ] || ! kill -0 $asking'
	kill -STOP "$DAEMON_PID"
	echo >&8
	wait_for 20 'grep -q -e sent -e closed "$T/asked"'
	grep -q sent "$T/asked" && return
	kill -CONT "$DAEMON_PID"
	wait $asking
	return 1
}
until ask_late; do :; done
sleep 10 # what a stranger may take at most
kill -CONT "$DAEMON_PID"
wait $asking
exec 8>&-
is "$(tail -n 1 "$T/asked")" "HTTP/1.1 200" "and is answered, though the daemon was stopped meanwhile for longer than a stranger may take"
hold stream 28 stream "$reader"
is "$(tcp /readyz) $(api_status GET /readyz)" "200 200" "28 streams leave room"
hold_more() { python3 "$T/hold.py" "$PORT" 2 stream "$reader" </dev/null; }
wait_for 10 '[ "$(metric '"'{state=\"admitted\"}'"')" = 29 ]' # those before are noticed to have gone
is "$(metric '{state="admitted"}')" 29 "which are counted, with who asks"
ok "for two more" test "$(hold_more | tail -n 1)" = 2
release stream
is "$LEFT" 28 "streams are left alone"
hold full 30 stream "$reader"
is "$(tcp /readyz) $(jq -r .code "$T/body")" "503 busy" "where all room is taken by those who were let in, one more is told so"
is "$(api_status GET /readyz)" 200 "and the Unix socket has its own"
release full
is "$LEFT" 30 "those who went away had been noticed, and nobody was sent away"
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"

# --- few descriptors: connections leave enough for jobs and files

ulimit -n 600
start_daemon --listen tcp:127.0.0.1:0
PORT=$(jq -r '.listeners[].url | select(startswith("http"))' "$STATE/listen.json" | sed 's/.*://')
URL=http://127.0.0.1:$PORT
hold silent 500 silent
echo '{"name": "x", "width": 4, "members": {"command": ["true"], "parameters": {"grid": {"i": [1, 2, 3, 4, 5, 6, 7, 8]}}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
ok "an ensemble is taken" wait_ensemble "$ID" 60
is "$(jq .members.succeeded "$T/ensemble.json")" 8 "and its members run, while 500 hold connections and 600 descriptors are all"
is "$(tcp /readyz)" 200 "and others get in"
ok "the daemon has descriptors left" test "$(descriptors)" -lt 400
release silent
done_testing
