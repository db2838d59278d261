#!/usr/bin/env bash
# People use the dashboard, in a real browser: log in, look, pause, resume, resize, cancel; and what they see is what
# the API says.
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/dashboard.sh
. "$srcdir/tests/t/dashboard.sh"
echo '{"adapters": {"local": {"slots": 10}}}' >config.json
start_daemon --config config.json
hostile=$'<b>bold</b> \u202eevil\u202c <script>alert(1)</script> \u0645\u0631\u062d\u0628\u0627 \u200f"&amp;'
jq -n '{name: "steady", width: 2, members: {command: ["sh", "-c", "while ! test -e \($go); do sleep 0.1; done; test {i} -lt 4 || exec sleep 10000"],
	parameters: {grid: {i: [range(12)]}}}}' --arg go "$T/go" >steady.json
jq -n --arg name "$hostile" '{name: $name, width: 2, members: {command: ["sh", "-c",
	"printf \"\\033[31mred\\033[0m <script>alert(2)</script> \\342\\200\\256turned\\n\"; printf \"<img src=x onerror=alert(3)>\\001\\n\" >&2; exit 3"],
	retries: 0, parameters: {grid: {"<b>p</b>": ["</td><script>alert(4)</script>", "b"]}}}}' >hostile.json
jq -n '{name: "a-million", width: 1, members: {command: ["sleep", "10000"],
	parameters: {method: "halton", count: 1000000, seed: 1, space: {alpha: [0, 1]}}}}' >million.json
submit steady.json >ids
# shellcheck disable=SC2016 # for wait_for
wait_for 30 '[ "$(api GET /v1/ensembles/1 | jq .members.running)" = 2 ]' || bail "nothing runs"
submit hostile.json >>ids
wait_ensemble 2 60
submit million.json >>ids
is "$(xargs <ids)" "1 2 3" "three ensembles"

mkfifo answers
"$T/bin/python3" "$srcdir/tests/t/dashboard.py" "$SOCKET" "$chromium" "$T" "$hostile" <answers 2>errors | (
	exec 3>answers
	while IFS= read -r line; do
		case $line in
		ok\ * | not\ ok\ * | \#*) echo "$line" >>told ;;
		*) echo "$line" >wish && while [ -e wish ]; do sleep 0.1; done && echo >&3 ;;
		esac
	done
) &
using=$!
# The browser's part asks for a daemon that is stopped, goes on, is killed or is started.
while kill -0 $using 2>/dev/null; do
	case $(cat wish 2>/dev/null) in
	hold) kill -STOP "$DAEMON_PID" && rm wish ;;
	continue) kill -CONT "$DAEMON_PID" && rm wish ;;
	kill) kill_daemon && rm wish ;;
	start) start_daemon --config config.json && rm wish ;;
	esac
	sleep 0.1
done
wait $using
tell_of told "token: no message"
api POST /v1/ensembles/1/cancel >/dev/null
wait_ensemble 1 30
done_testing
