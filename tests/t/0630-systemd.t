#!/bin/bash
# What systemd is told, by a socket of the test's own; and the unit, where there is systemd-analyze.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

# Prints what comes; at READY, what HTTP answers at that moment.
cat >listen.py <<'PY'
import socket, sys
name, http = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\0" + name[1:] if name[0] == "@" else name)
print("bound", flush=True)
while True:
    for line in s.recv(65536).decode().split("\n"):
        if line == "READY=1":
            c = socket.socket(socket.AF_UNIX)
            try:
                c.connect(http)
                c.sendall(b"GET /readyz HTTP/1.0\r\nHost: stretto\r\n\r\n")
                line += " " + c.recv(100).decode().split("\r\n")[0]
            except OSError as error:
                line += f" {error}"
        print(line, flush=True)
PY

# all_told WORD: told.out has all that was sent before
all_told() {
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(sys.argv[1].encode(), sys.argv[2])' "$1" "$T/notify.sock"
	wait_for 10 "grep -q -x $1 told.out"
}
listen() { # NAME: told.out gets what comes
	rm -f told.out # that of the one before says "bound", too
	python3 listen.py "$1" "$SOCKET" >told.out 2>&1 &
	listener=$!
	wait_for 10 'grep -q bound told.out'
}
unlisten() {
	kill "$listener"
	wait "$listener" 2>/dev/null
}

# Much to recover, so that a READY that came too early would find nobody.
jq -n '{name: "held", width: 3, members: {parameters: {grid: {x: [0, 1, 2]}},
	command: ["sh", "-c", "while ! test -e \"$HOME/go\"; do sleep 0.1; done"]}}' >held.json
jq -n '{name: "env", members: {parameters: {grid: {x: [0]}},
	command: ["sh", "-c", "tr \"\\000\" \"\\n\" </proc/$PPID/environ | grep -c -E \"^(NOTIFY_SOCKET|WATCHDOG)\"; true"]}}' >env.json
# shellcheck disable=SC2119 # no options
start_daemon
submit held.json >/dev/null
kill_daemon

listen "$T/notify.sock"
export NOTIFY_SOCKET=$T/notify.sock WATCHDOG_USEC=200000
unset WATCHDOG_PID
# shellcheck disable=SC2119 # no options
start_daemon
unset NOTIFY_SOCKET WATCHDOG_USEC
ok "READY is told" wait_for 10 'grep -q ^READY told.out'
is "$(grep ^READY told.out)" "READY=1 HTTP/1.1 200 OK" "once, when HTTP answers"
ok "the status too" wait_for 10 'grep -q -x "STATUS=1 ensembles and 3 jobs under way" told.out'
ok "the watchdog is fed" wait_for 10 '[ $(grep -c -x WATCHDOG=1 told.out) -gt 2 ]'
kill -STOP "$DAEMON_PID"
wait_for 10 '[ "$(awk "{ print \$3 }" "/proc/$DAEMON_PID/stat")" = T ]'
all_told stopped
before=$(grep -c WATCHDOG told.out)
sleep 1
all_told later
is "$(grep -c WATCHDOG told.out)" "$before" "by nobody but the daemon itself"
kill -CONT "$DAEMON_PID"
ok "and again once it runs on" wait_for 10 '[ "$(grep -c WATCHDOG told.out)" -gt "$before" ]'
touch "$HOME/go"
ok "the members end" wait_ensemble 1 30
id=$(submit env.json)
wait_ensemble "$id" 30
is "$(stretto logs "$id.0")" 0 "a member's runner is told nothing of systemd"
stop_daemon
ok "STOPPING is told" wait_for 10 'grep -q -x STOPPING=1 told.out'
unlisten

listen "@stretto-test-$$"
NOTIFY_SOCKET=@stretto-test-$$ start_daemon
ok "a socket without a file will do" wait_for 10 'grep -q "^READY=1 HTTP/1.1 200" told.out'
is "$(grep -c WATCHDOG told.out)" 0 "no watchdog where none is asked for"
stop_daemon
unlisten

NOTIFY_SOCKET=$T/none.sock start_daemon
is "$(api_status GET /healthz)" 200 "nobody at NOTIFY_SOCKET: the daemon runs"
stop_daemon

# --- the unit
unit=$builddir/daemon/strettod.service
if [ ! -e "$unit" ]; then
	skip "configured without a unit"
elif ! command -v systemd-analyze >/dev/null; then
	skip "no systemd-analyze here"
else
	# as installed, but for the program's place
	sed "s|^ExecStart=.*/strettod|ExecStart=$builddir/strettod|" "$unit" >strettod.service
	mkdir -m 700 runtime
	ok "systemd-analyze has nothing to say about the unit" env XDG_RUNTIME_DIR="$T/runtime" \
		bash -c 'out=$(systemd-analyze --user verify --man=no ./strettod.service 2>&1) && [ -z "$out" ] || { echo "$out"; false; }'
fi

done_testing
