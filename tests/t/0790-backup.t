#!/usr/bin/env bash
# A backup is made while the daemon runs, is whole or not there, and a daemon started on it has it all and harms
# nothing.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
start_daemon
{ echo x,padding; for x in $(seq 30); do printf '%d,%060000d\n' "$x" 0; done; } >"$T/rows.csv" # more than goes at once
mkfifo "$T/go"
submit() { api POST /v1/ensembles "$1" | jq .id; }
submit '{"name": "done", "members": {"command": ["true"], "parameters": {"grid": {"x": [1, 2]}}}}' >"$T/id"
ok "an ensemble ends" wait_ensemble 1 30
is "$(submit "$(jq -n --arg f "$T/rows.csv" --arg s "echo {x}; read y <>$T/go" '{name: "listed", width: 1,
	members: {command: ["sh", "-c", $s], parameters: {file: $f}}}')")" 2 "another one runs, by the rows of a file"
wait_for 20 '[ "$(api GET /v1/ensembles/2 | jq .members.running)" = 1 ]' || bail "nothing runs"
api POST /v1/tokens '{"role": "reader", "label": "kept"}' >"$T/token"
api POST /v1/sessions "{\"login\": \"$(stretto --json dashboard | jq -r .login)\"}" >"$T/session"
stretto dashboard >"$T/link"

is "$(stretto backup "$T/a.db")" "$T/a.db" "a backup is written"
is "$(stat -c %a "$T/a.db") $(sqlite3 -readonly "$T/a.db" 'PRAGMA integrity_check')" "600 ok" "a whole database, closed to others"
mkdir "$T/named"
before=$(date -u +stretto-%Y%m%dT%H%M%SZ.db)
name=$(cd "$T/named" && TZ=XYZ-5 stretto backup)
after=$(date -u +stretto-%Y%m%dT%H%M%SZ.db)
ok "one without a name has that of its time, in UTC" test -s "$T/named/$name" -a ! "$name" \< "$before" -a ! "$name" \> "$after"
status_is 2 "a file that is there is not replaced" stretto backup "$T/a.db"
like "$(cat "$T/err")" 'a[.]db is there already; --force replaces it' "which is said"
ok "unless told so" stretto backup --force "$T/a.db"
is "$(cd "$T" && stretto --json backup | jq -r '.file | test("^stretto-[0-9]{8}T[0-9]{6}Z[.]db$")')" true "or it gets a name of its own"
status_is 2 "where it cannot be written, there is no file" stretto backup "$T/nowhere/a.db"
is "$(api_status GET /v1/backup)" 200 "curl gets it, too"
is "$(sqlite3 -readonly "$T/api.body" 'SELECT count(*) FROM ensemble')" 2 "the same"
is "$(find "$STATE" "$T" -maxdepth 1 -name 'backup-tmp*' -o -name '*.db.*' | wc -l)" 0 "nothing is left beside it"
. "$srcdir/tests/t/kills.sh"
mkdir "$T/cut"
for force in '' --force; do
	cp "$T/a.db" "$T/cut/$force.db"
	[ -n "$force" ] || rm "$T/cut/.db"
	# shellcheck disable=SC2086 # an option or none
	KILLER_stretto=fsync:1:before KILLER_LOG=$T/kills LD_PRELOAD=$killer status_is 137 "a command is killed ($force)" \
		stretto backup $force "$T/cut/$force.db"
done
is "$(find "$T/cut" -type f)" "$T/cut/--force.db" "and leaves nothing but what was there"

example=$(sed -n 's/^0 3 \* \* \* //p' "$srcdir/docs/man/strettod.8" | sed 's/\\e%/%/')
like "$example" '^stretto backup .*date' "strettod(8) has an example for cron"
(cd / && sh -c "$example")
is "$(sqlite3 -readonly "$HOME/stretto-$(date +%a).db" 'SELECT count(*) FROM ensemble')" 2 "which works"

start_tcp() { stop_daemon; start_daemon --listen tcp:127.0.0.1:0; }
start_tcp
url=$(jq -r '.listeners[] | select(.listen | startswith("tcp:")).url' "$STATE/listen.json")
over_tcp() { curl -s -o "$T/body" -w '%{http_code}' -H "Authorization: Bearer $1" "$url/v1/backup"; }
is "$(over_tcp "$(jq -r .token "$T/token")")" 403 "no backup for a reader"
is "$(over_tcp "$(stretto --json token create --role operator | jq -r .token)")" 403 "nor for an operator"
is "$(over_tcp "$(stretto --json token create --role admin | jq -r .token)") $(head -c 15 "$T/body")" "200 SQLite format 3" "but for an admin"
STRETTO_TOKEN=$(jq -r .token "$T/token") status_is 3 "the command says that it was refused" stretto --url "$url" backup "$T/refused.db"
STRETTO_TOKEN=$(jq -r .token "$T/token") status_is 3 "also where a file would be replaced" stretto --url "$url" backup --force "$T/a.db"
is "$(find "$T" -maxdepth 1 -name 'refused.db*' -o -maxdepth 1 -name 'a.db?*')" "" "and leaves nothing where the backup would have been"
is "$(sqlite3 -readonly "$T/a.db" 'SELECT count(*) FROM ensemble')" 2 "nor harms the one that is there"

# While it is made over and over, members run and changes are made: each is whole.
submit '{"name": "busy", "width": 4, "members": {"command": ["true"], "parameters": {"grid": {"x": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}}}}' >"$T/id"
good=0
for _ in 1 2 3 4 5; do
	stretto backup --force "$T/b.db" >"$T/out" && [ "$(sqlite3 -readonly "$T/b.db" "SELECT integrity_check = 'ok' AND (SELECT sum(n) FROM
		tally WHERE ensemble = 3) = 16 AND NOT EXISTS (SELECT 1 FROM member m WHERE (m.state IN ('submitted', 'running')) <>
		EXISTS (SELECT 1 FROM attempt a WHERE a.ensemble = m.ensemble AND a.idx = m.idx AND a.outcome IS NULL))
		FROM pragma_integrity_check")" = 1 ] && good=$((good + 1))
done
is "$good" 5 "backups under load are whole, and their books balance"
ok "and the work goes on" wait_ensemble 3 60

# A second daemon on the backup, with directories of its own, while the first goes on.
first=$STATE first_socket=$SOCKET first_pid=$DAEMON_PID
name=$(sqlite3 -readonly "$first/stretto.db" "SELECT name FROM job WHERE ensemble = 2")
STATE=$T/second SOCKET=$T/second/stretto.sock
mkdir -m 700 "$STATE" && cp "$T/a.db" "$STATE/stretto.db"
start_daemon
is "$(api GET /v1/ensembles | jq -c '[.ensembles[] | [.name, .members.succeeded]]')" '[["listed",0],["done",2]]' "it has what was there then"
is "$(api GET '/v1/ensembles/2/members?limit=3' | jq -c '[.members[].parameters.x]')" '[1,2,3]' "and the rows of the file"
is "$(diff -rq "$first/parameters" "$STATE/parameters")" "" "all of them"
is "$(api GET /v1/tokens | jq -r '.tokens[0].label')" kept "and the tokens"
is "$(sqlite3 -readonly "$T/a.db" 'SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM login)') $(
	sqlite3 -readonly "$STATE/stretto.db" 'SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM login)')" "1|1 0|0" \
	"but no session of a browser, since it may have ended after the backup"
is "$(api GET /v1/ensembles/2/members/0 | jq -r '.attempts[0].outcome')" lost "what was under way there is not followed here"
wait_for 20 '[ "$(api GET /v1/ensembles/2 | jq .members.running)" = 1 ]' || bail "nothing runs in the second"
is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT name = '$name' FROM job WHERE state <> 'ended'")" 0 "its jobs have names of their own"
is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM sqlite_schema WHERE name = 'backup_file'")" 0 "the mark is gone"
api POST /v1/ensembles/2/cancel >/dev/null
wait_for 20 '[ "$(api GET /v1/ensembles/2 | jq .members.running)" = 0 ]' || bail "the second's member does not end"
is "$(STRETTO_URL=unix:$first_socket stretto --json status 2 | jq -r '"\(.state) \(.members.running)"')" "running 1" \
	"cancelling here does not touch what runs there"
stop_daemon
STATE=$first SOCKET=$first_socket DAEMON_PID=$first_pid

# Restored in place: the job that was under way is followed, and ids since then are not used again.
stop_daemon
rm -f "$STATE"/stretto.db "$STATE"/stretto.db-wal "$STATE"/stretto.db-shm "$STATE"/parameters/*
cp "$T/a.db" "$STATE/stretto.db"
touch "$STATE/backup-tmp.abcdef" "$STATE/last-backup.12.3.tmp" "$STATE/run/mark.json.12.3.tmp" "$STATE/run/mine.3.tmp"
start_daemon
is "$(api GET /v1/ensembles/2 | jq .members.running)" 1 "what was under way is followed on"
is "$(submit '{"name": "new", "members": {"command": ["true"], "parameters": {"grid": {"x": [1]}}}}')" 4 "an id that was used since is not used again"
exec 9<>"$T/go"
yes | head -n 30 >&9
ok "it ends as if nothing had been" wait_ensemble 2 60
is "$(api GET /v1/ensembles/2/members/0 | jq -c '[.attempts[] | [.outcome, .job]]')" "[[\"succeeded\",\"$name\"]]" "in the job of before"
is "$(find "$STATE" -maxdepth 2 -name '*tmp*' -printf '%f ')" "mine.3.tmp " "what a killed daemon left half-written is removed"
ok "the new one ends, too" wait_ensemble 4 60


# A daemon that is told to end does not finish a backup first: of a large database, which takes seconds. It is stopped
# when it has written some of it, so that it is told in the middle, however late.
stop_daemon
sqlite3 "$STATE/stretto.db" "CREATE TABLE large AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE
	i < 3000000) SELECT i, 'what takes its time to be copied' AS text FROM n"
KILLER_strettod=pwrite64:1000:before:late KILLER_SIGNAL=19 KILLER_LOG=$T/stopped LD_PRELOAD=$killer \
	"$builddir/strettod" --state-dir "$STATE" </dev/null >>"$DAEMON_LOG" 2>&1 &
DAEMON_PID=$!
wait_for 30 is_ready || bail "the daemon does not start"
api GET /v1/backup >/dev/null 2>&1 &
client=$!
wait_for 20 '[ "$(awk "{ print \$3 }" "/proc/$DAEMON_PID/stat")" = T ]' || bail "no backup is made"
ok "a backup has begun" test -n "$(find "$STATE" -name 'backup-tmp*' -size +1M)"
kill -TERM "$DAEMON_PID"
kill -CONT "$DAEMON_PID"
DAEMON_STATUS=0
wait "$DAEMON_PID" || DAEMON_STATUS=$?
DAEMON_PID=
is "$DAEMON_STATUS" 0 "told to end while it makes a backup, the daemon ends"
wait $client
is "$(grep -c 'GET /v1/backup: the daemon ends: the backup is abandoned' "$DAEMON_LOG")" 1 "without finishing it"
is "$(find "$STATE" -name 'backup-tmp*')" "" "and leaves nothing of it"
done_testing
