#!/bin/bash
# The log: to stderr, a file or syslog, as text or JSON, over rotation, a full disk and a reader that hangs.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

log=$T/log/strettod.log
mkdir log
jq -n '{name: "bad", width: 1, members: {command: ["sh", "-c", "echo why >&2; exit 3"], retries: 0,
	parameters: {grid: {x: [0, 1]}}}}' >bad.json

# --- refused
jq -n '{log_to: "log.txt"}' >wrong.json
status_is 1 "a relative log is refused" strettod --state-dir "$STATE" --config wrong.json
like "$(cat err)" '/log_to' "and the key is named"
status_is 1 "an unknown format is refused" strettod --state-dir "$STATE" --log-format xml
status_is 1 "a log that cannot be made ends the start" strettod --state-dir "$STATE" --log-to "$T/none/log"
like "$(cat err)" "$T/none/log" "and stderr says which"

jq -n '{adapters: {local: {slot: 3}}}' >wrong.json
status_is 1 "an unknown setting of an adapter is refused" strettod --state-dir "$STATE" --config wrong.json
like "$(cat err)" 'unknown key "slot".*/adapters/local/slot' "with its place"
jq -n '{adapters: {lokal: {slots: 3}}}' >wrong.json
start_daemon --config wrong.json
ok "settings of an adapter that is not here are told" grep -q 'warning: .*"lokal"' "$DAEMON_LOG"
stop_daemon
: >"$DAEMON_LOG"

# --- a file, in JSON
jq -n --arg to "$log" '{log_to: $to, log_format: "json"}' >config.json
start_daemon --config config.json --listen tcp:127.0.0.1:0
is "$(stat -c %a "$log")" 600 "the file is closed to others"
id=$(submit bad.json)
ok "two members fail" wait_ensemble "$id" 30
is "$(jq -s 'length > 3 and all(.[]; .time and .level and .program == "strettod" and .pid and .message)' "$log")" true \
	"every line is an object with time, level, program, pid and message"
is "$(jq -c 'select(.member) | [.ensemble, .member, .attempt, .level, (.job | startswith("st-"))]' "$log" | sort | xargs)" \
	"[1,0,1,warning,true] [1,1,1,warning,true]" "ids are fields of their own"
is "$(cat "$DAEMON_LOG")" "" "nothing goes to stderr"

# --- the daemon's own trouble is found in the log by the number that the reply has
dir=$(api GET "/v1/ensembles/$id" | jq -r .dir)
stderr=$(find "$dir" -name stderr | head -n 1)
rm "$stderr" && mkdir "$stderr"
for index in 0 1; do
	curl -s -D head -o body --unix-socket "$SOCKET" "http://stretto/v1/ensembles/$id/members/$index/stderr"
	[ "$(head -n 1 head | cut -d ' ' -f 2)" != 500 ] || break
done
is "$(jq -r .code body)" output_unreadable "an output that cannot be read"
number=$(tr -d '\r' <head | sed -n 's/^X-Request-Id: //Ip')
like "$(jq -c "select(.request == $number) | [.level, .message]" "$log")" '^\["error",.*output_unreadable' \
	"is found in the log by the reply's X-Request-Id"

# --- no secret gets in
url=$(jq -r '.listeners[] | select(.listen | startswith("tcp")) | .url' "$STATE/listen.json")
token=$(api POST /v1/tokens '{"role": "reader", "label": "for the test"}' | jq -r .token)
like "$token" '^.{20,}$' "a token is made"
curl -s -o /dev/null -H "Authorization: Bearer $token" "$url/v1/ensembles"
curl -s -o /dev/null -H "Authorization: Bearer x$token" "$url/v1/ensembles"
curl -s -o /dev/null "$url/v1/ensembles?token=$token"
curl -s -o /dev/null -X POST -H "Authorization: Bearer $token" "$url/v1/ensembles/1/cancel"
ok "refusals are logged" grep -q '"level":"warning".*refused 127.0.0.1' "$log"
secret=$(tail -c +8 <<<"$token")
is "$(grep -c -F -e "$secret" "$log")" 0 "and tokens are not"

# --- rotation
mv "$log" "$log.1"
kill -HUP "$DAEMON_PID"
ok "SIGHUP begins a new file" wait_for 10 'test -s "$log"'
is "$(stat -c %a "$log")" 600 "closed to others as well"
before=$(wc -l <"$log.1")
api POST "/v1/ensembles/1/resubmit" '{}' >/dev/null
wait_for 10 'grep -q resubmitted "$log"'
is "$(wc -l <"$log.1")" "$before" "the old one gets nothing more"
kill_daemon

# --- a full disk, and a file that is removed: the daemon goes on
if [ -w /dev/full ]; then
	start_daemon --log-to /dev/full
	is "$(api_status GET /v1/ensembles)" 200 "a log on a full disk stops nothing"
	stop_daemon
	is "$DAEMON_STATUS" 0 "nor its end"
else
	skip "no /dev/full here"
	skip "no /dev/full here"
fi

# --- stderr is a pipe that nobody reads
mkfifo pipe
sleep 1000 <>pipe & # holds it open
reader=$!
strettod --state-dir "$STATE" --verbose 2>pipe </dev/null >/dev/null &
DAEMON_PID=$!
ok "a daemon whose stderr nobody reads gets ready" wait_for 30 is_ready
# far more than a pipe holds: each refused request is a line at this level
for _ in 1 2 3 4 5 6; do
	submit bad.json >/dev/null
	api POST /v1/ensembles '{"name": 7}' >/dev/null
done
dd if=/dev/zero of=pipe bs=4096 count=100 oflag=nonblock 2>/dev/null # full by now
kill -HUP "$DAEMON_PID"
is "$(api_status GET /v1/ensembles)" 200 "and answers when the pipe is full"
stop_daemon
is "$DAEMON_STATUS" 0 "and ends"
kill "$reader"
wait "$reader" 2>/dev/null

# --- syslog, and the journal
cat >receive.py <<'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True:
    print(s.recv(65536).decode(), flush=True)
PY
python3 receive.py "$T/syslog.sock" >syslog.out &
receiver=$!
wait_for 10 'grep -q bound syslog.out'
start_daemon --log-to "syslog:$T/syslog.sock"
ok "syslog gets lines in its own form" wait_for 10 'grep -q -E "^<30>[A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8} strettod\[[0-9]+\]: ready" syslog.out'
stop_daemon
kill "$receiver"
wait "$receiver" 2>/dev/null

: >journal.log
exec 9>>journal.log
JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/9) strettod --state-dir "$STATE" </dev/null >/dev/null 2>&9 &
DAEMON_PID=$!
exec 9>&-
wait_for 30 is_ready
stop_daemon
like "$(cat journal.log)" '(^|'$'\n'')<6>ready: ' "the journal gets priorities, and no time of ours"
is "$(grep -v -c '^<[0-7]>' journal.log)" 0 "before every line"

done_testing
