#!/usr/bin/env bash
# The state directory is renamed, removed or replaced under a daemon: nothing is accepted that would be lost, nothing is
# submitted, and the daemon goes on once it is back. A damaged database is refused with what to do.
. "${srcdir:-.}/tests/t/lib.sh"

mkdir "$T/run"
start_daemon --run-dir "$T/run" --listen tcp:127.0.0.1:0
TOKEN=$(api POST /v1/tokens '{"role": "operator"}' | jq -r .token)
PORT=$(sed -n 's/.*listening on tcp:127.0.0.1:\([0-9]*\).*/\1/p' "$DAEMON_LOG" | head -n 1)
tcp() { # METHOD PATH [BODY]
	curl -s -m 100 -o "$T/tcp.body" -w '%{http_code}' -X "$1" -H "Authorization: Bearer $TOKEN" ${3:+-H 'Content-Type: application/json' -d "$3"} \
		"http://127.0.0.1:$PORT$2"
}
spec() { jq -n -c --arg script "$1" '{name: "g", members: {command: ["sh", "-c", $script], parameters: {grid: {i: [range(3)]}},
	retries: 0}, width: 1}'; }
mkfifo "$T/go"
exec 9<>"$T/go"
is "$(tcp POST /v1/ensembles "$(spec "echo {i} >>$T/ran; read x <>$T/go")")" 201 "accepted"
wait_for 30 '[ "$(cat "$T/ran")" = 0 ]' || bail "nothing runs"

lost() { # HOW
	is "$(tcp POST /v1/ensembles "$(spec true)") $(jq -r .code "$T/tcp.body")" "503 store_gone" "$1: a spec is not accepted"
	is "$(tcp POST /v1/ensembles/1/pause) $(jq -r .code "$T/tcp.body")" "503 store_gone" "$1: nor is a change"
	ok "$1: it is not ready" wait_for 30 '[ "$(tcp GET /readyz)" = 503 ]'
	ok "$1: the log says why" grep -q 'error: changes cannot be stored.*the state directory was removed, renamed or replaced' "$DAEMON_LOG"
}
mv "$STATE" "$T/elsewhere"
lost "renamed"
echo >&9 # its first member ends; the second is not submitted
wait_for 30 '[ -e "$T/run/e1/members/0/0/a1/exit.json" ]' || bail "the member does not end"
lines=$(wc -l <"$DAEMON_LOG")
for _ in 1 2 3 4 5; do tcp POST /v1/ensembles "$(spec true)" >/dev/null; done
is "$(cat "$T/ran")" 0 "nothing is submitted meanwhile"
is "$(sqlite3 -readonly "$T/elsewhere/stretto.db" 'SELECT count(*) FROM ensemble')" 1 "nothing is stored"
ok "the log is not flooded" test $(($(wc -l <"$DAEMON_LOG") - lines)) -lt 30
mv "$T/elsewhere" "$STATE"
ok "it is ready again once the directory is back" wait_for 30 '[ "$(tcp GET /readyz)" = 200 ]'
is "$(tcp POST /v1/ensembles "$(spec true)")" 201 "and accepts again"
ok "and goes on" wait_for 30 '[ "$(cat "$T/ran")" = "0
1" ]'

# noticed without a request, too
: >"$DAEMON_LOG"
cp -r "$STATE" "$T/copy"
mv "$STATE" "$T/elsewhere"
mv "$T/copy" "$STATE"
ok "a copy in its place is noticed by itself" wait_for 30 'grep -q "is not the file that the daemon has open" "$DAEMON_LOG"'
lost "replaced"
mv "$STATE" "$T/copy"
mv "$T/elsewhere" "$STATE"
wait_for 30 '[ "$(tcp GET /readyz)" = 200 ]' || fail "it is not ready again"
: >"$DAEMON_LOG"
mv "$STATE/stretto.db-wal" "$T/log"
lost "its log removed"
mv "$T/log" "$STATE/stretto.db-wal"
wait_for 30 '[ "$(tcp GET /readyz)" = 200 ]' || fail "it is not ready again"
echo >&9
echo >&9
ok "the ensemble ends" wait_ensemble 1 30
is "$(jq -c '[.state, .members.succeeded]' "$T/ensemble.json") $(sort -u "$T/ran" | wc -l) $(wc -l <"$T/ran")" '["complete",3] 3 3' "each member ran once"
cp -r "$STATE" "$T/whole"
: >"$DAEMON_LOG"
rm -rf "$STATE"
lost "removed"
stop_daemon
is "$DAEMON_STATUS" 0 "it ends on SIGTERM all the same"
ok "and leaves nothing where the directory was" test ! -e "$STATE/stretto.db"

# --- damaged: what the daemon was killed with, and a page of its database lost
cp -r "$T/whole" "$STATE"
start_daemon --run-dir "$T/run"
ok "a backup" stretto backup "$T/backup.db"
. "$srcdir/tests/t/kills.sh"
KILLER_stretto=fsync:1:before LD_PRELOAD=$killer status_is 137 "one that is killed" stretto backup "$T/cut.db"
ok "there is a log left by a daemon that was killed" test -e "$STATE/stretto.db-wal"
kill_daemon
sqlite3 "$STATE/stretto.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
: >"$STATE/stretto.db-wal"
cp -r "$STATE" "$T/killed"
refused() { # HOW
	status_is 1 "$1: refused" timeout $((30 * PATIENCE)) strettod --state-dir "$STATE" --run-dir "$T/run"
	like "$(cat "$T/err")" "error: the database $STATE/stretto.db is damaged .*To restore it: .* the newest backup, $T/backup.db, .*\(store_damaged\)" "$1: with what to do"
	rm -rf "$STATE"
	cp -r "$T/killed" "$STATE"
}
python3 - "$STATE/stretto.db" <<'END'
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'event'").fetchone()[0]
size = db.execute("PRAGMA page_size").fetchone()[0]
db.close()
open(sys.argv[1] + "-wal", "a").close()
with open(sys.argv[1], "r+b") as file:
    file.seek((page - 1) * size)
    file.write(os.urandom(size))
END
refused "a lost page"
head -c 100 /dev/urandom | dd of="$STATE/stretto.db" conv=notrunc status=none
refused "a lost header"
truncate -s 40000 "$STATE/stretto.db"
refused "cut short"
sqlite3 "$STATE/stretto.db" 'PRAGMA ignore_check_constraints = ON; UPDATE ensemble SET next_index = -1'
: >"$STATE/stretto.db-wal"
refused "a value that cannot be"
rm "$STATE"/stretto.db*
cp "$T/backup.db" "$STATE/stretto.db"
start_daemon --run-dir "$T/run"
is "$(api GET /v1/ensembles/1 | jq .members.succeeded)" 3 "the backup is restored as it was told"
stop_daemon
rm -rf "$STATE"
cp -r "$T/killed" "$STATE"
start_daemon --run-dir "$T/run"
is "$(api GET /v1/ensembles/1 | jq .members.succeeded)" 3 "a whole one is started on after the same end"
done_testing
