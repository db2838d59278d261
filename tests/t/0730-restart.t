#!/usr/bin/env bash
# The daemon goes and comes back: SIGTERM, SIGKILL, killed runners, queued jobs, a second daemon.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 2}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
running() { api GET "/v1/ensembles/$ID" | jq .members.running; }

status_is 1 "a second daemon on the state directory is refused" timeout $((20 * PATIENCE)) "$builddir/strettod" --state-dir "$STATE" \
	--listen "unix:$T/other.sock"
like "$(cat "$T/err")" 'another strettod' "and told why"

# two run, the others wait in the local queue, which is memory only
mkfifo "$T/go"
exec 9<>"$T/go" # a line stays in it until a member takes it, also where none has it open
jq -n --arg script "echo started >>$T/starts; read x <>$T/go" '{name: "r", width: 5, members: {command: ["sh", "-c", $script],
	parameters: {grid: {i: [range(5)]}}, retries: 0}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
wait_for 20 '[ "$(running)" = 2 ] && [ "$(wc -l <"$T/starts")" = 2 ]' || bail "nothing runs"
stop_daemon
is "$DAEMON_STATUS" 0 "SIGTERM ends the daemon with status 0"
is "$(wc -l <"$T/starts")" 2 "its jobs go on"
start_daemon --config "$T/config.json"
wait_for 20 '[ "$(running)" = 2 ]'
is "$(running)" 2 "after a start, two run as before"
is "$(wc -l <"$T/starts")" 2 "the same two"
kill_daemon
printf 'x\nx\n' >&9 # both end while nobody looks
wait_for 20 '[ "$(ls "$STATE"/run/e*/jobs/*/ended.json | wc -l)" = 2 ]' || bail "they have not ended"
start_daemon --config "$T/config.json"
wait_for 20 '[ "$(api GET "/v1/ensembles/$ID" | jq -c "[.members.succeeded, .members.running, .members.submitted]")" = "[2,2,1]" ]'
is "$(api GET "/v1/ensembles/$ID" | jq -c '[.members.succeeded, .members.running, .members.submitted]')" '[2,2,1]' \
	"what ended meanwhile is known, and the queue goes on"

# the runner of a member is killed: the member goes again without a retry, and its processes do not stay
victim=$(db "SELECT name FROM job WHERE state = 'running' ORDER BY id LIMIT 1")
kill -KILL "$(jq .pid "$STATE/run/e$ID/jobs/$victim/claim.json")"
wait_for 30 '[ "$(db "SELECT count(*) FROM attempt WHERE outcome = '"'lost'"'")" = 1 ]'
is "$(db "SELECT count(*) FROM attempt WHERE outcome = 'lost'")" 1 "an attempt whose runner was killed is lost"
printf 'x\nx\nx\n' >&9 # for the three that are left
ok "the ensemble ends" wait_ensemble "$ID" 60
is "$(jq -c '[.state, .members.succeeded]' "$T/ensemble.json")" '["complete",5]' "with every member"
is "$(db "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM attempt GROUP BY idx ORDER BY n)")" "1,1,1,1,2" \
	"no other attempt was made"
is "$(db "SELECT count(*) FROM attempt a JOIN attempt b USING (ensemble, idx) WHERE a.number < b.number
	AND a.ended > b.started")" 0 "no member ran twice at once"
done_testing
