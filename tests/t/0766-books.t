#!/usr/bin/env bash
# Books that must never lie: a database that is older than its run directory, damaged, or beside another run directory
# says so before it accepts anything, and nobody is given a result that was another's.
TEST_LIMIT=400
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

RUN=$T/run
start() { start_daemon --run-dir "$RUN" "$@"; }
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
marked() { [ "$(jq .commits "$RUN/mark.json")" = "$(db 'SELECT n FROM commits')" ]; }
member() { # NAME COMMAND [COUNT]
	jq -n --arg name "$1" --arg command "$2" --argjson n "${3:-4}" '{name: $name, members: {command: ["sh", "-c", $command],
		parameters: {grid: {x: [range($n)]}}, success: {file: "result"}, retries: 0}}' >"$1.json"
}
member first "echo first >>$T/ran; echo 1 >result"
member other "echo other >>$T/ran; echo 2 >result"
member later "[ ! -e result ] || exit 9; echo later >>$T/ran; echo 3 >result"
ran() { grep -c "^$1" "$T/ran" || true; }
put_back() { rm -f "$STATE"/stretto.db*; cp "$1"/stretto.db* "$STATE/"; }
said() { tail -n +"$LINES_BEFORE" "$DAEMON_LOG"; }
again() { LINES_BEFORE=$(($(wc -l <"$DAEMON_LOG") + 1)); start "$@"; }
refused() { # CODE NAME [OPTION...]
	local code=$1 name=$2
	shift 2
	status_is 1 "$name: refused" timeout $((30 * PATIENCE)) strettod --state-dir "$STATE" "$@"
	like "$(tail -n 1 err)" "\\($code\\)$" "$name: as $code"
}

# --- an older copy of its own database is put back
start
ok "an ensemble" stretto submit --wait first.json
stop_daemon
mkdir old && cp "$STATE"/stretto.db* old/
start
ok "another one, after the copy" stretto submit --wait other.json
stop_daemon
put_back old
again
like "$(said)" "warning: the database is older than the run directory $RUN, by [0-9]+ changes; ensembles 2 to 2 are not in it" "an older database says what is gone"
is "$(said | grep -n -e 'older than the run directory' -e ' ready: ' | sed 's/.*older.*/older/; s/.*ready.*/ready/' | xargs)" "older ready" "before it accepts anything"
is "$(submit later.json)" 3 "a new ensemble gets a number of its own"
ok "it ends" wait_ensemble 3 60
is "$(jq -c '[.state, .members.succeeded]' ensemble.json) $(ran later)" '["complete",4] 4' "by what its own members did"
ok "a restart" stop_daemon
again
is "$(said | grep -c older)" 0 "and nothing is older any more"

# --- the same where the ensemble is there, and its members have run meanwhile: they leave nothing to each other
mkfifo "$T/go"
member half "[ ! -e result ] || exit 9; echo half >>$T/ran; read x <>$T/go; echo 4 >result"
jq '.width = 1' half.json >narrow.json
id=$(submit narrow.json)
stretto pause "$id" >"$T/out"
ok "it is paused" wait_for 20 '[ "$(api GET "/v1/ensembles/$id" | jq -r .state)" = paused ]'
exec 9<>"$T/go"
yes | head -n 4 >&9 # the one that runs takes one; the others are for those that come
wait_for 30 '[ "$(api GET "/v1/ensembles/$id" | jq ".members.submitted + .members.running")" = 0 ]' || bail "members do not end"
stop_daemon
before=$(ran half)
rm -rf old && mkdir old && cp "$STATE"/stretto.db* old/
start
stretto resume "$id" >"$T/out"
yes | head -n 4 >&9
ok "it ends" wait_ensemble "$id" 60
stop_daemon
put_back old
again
stretto resume "$id" >"$T/out"
yes | head -n 4 >&9
ok "what ran since then runs again, and ends" wait_ensemble "$id" 60
is "$(jq -c '[.state, .members.succeeded]' ensemble.json) $(ran half)" "[\"complete\",4] $((before + 2 * (4 - before)))" "beside nothing that was left by others"
stop_daemon

# --- another run directory
refused run_dir_other "another run directory" --run-dir "$T/elsewhere"
like "$(cat err)" "$RUN.*$T/elsewhere.*--run-dir $RUN" "both are named, and what to give"
mv "$RUN" "$T/moved"
refused run_dir_other "one that is not mounted" --run-dir "$RUN"
rm -rf "$RUN"
refused run_dir_other "nor given"
ok "which makes no directory" test ! -e "$RUN"
RUN=$T/moved
again
like "$(said)" "info: the run directory $T/run was moved to $T/moved" "one that was moved is known"
is "$(stretto status --json | jq '.ensembles | length')" 3 "with all that there is"
stop_daemon
LINES_BEFORE=$(($(wc -l <"$DAEMON_LOG") + 1))
start_daemon
is "$(ls "$STATE/run" | wc -l) $(said | grep -c "jobs in $T/moved$")" "0 1" "without --run-dir it is that of before"
stop_daemon
cp -r "$T/moved" "$T/copy"
refused run_dir_other "a copy" --run-dir "$T/copy"
rm "$RUN/owner.json"
again
is "$(jq -r .database "$RUN/owner.json")" "$(db "SELECT value FROM meta WHERE key = 'instance'")" "the claim is made again by the mark"
stop_daemon
RUN=$T/new
again --new-run-dir
like "$(said)" "the run directory of before is given up" "another one is used where a user says so"
ok "and work is done there" stretto submit --wait later.json
stop_daemon
again --new-run-dir
is "$(said | grep -c "given up")" 0 "once"

# --- damage: of a daemon that was killed
damaged() { # NAME
	refused store_damaged "$1" --run-dir "$RUN"
	like "$(cat err)" "To restore it: .* the newest backup, $T/backup.db," "$1: with what to do"
	put_back "$T/killed"
}
kill_with_log() {
	stretto submit --wait first.json >"$T/out" 2>&1
	ok "the mark is in the run directory" wait_for 20 marked
	kill_daemon
	rm -rf killed && mkdir killed && cp "$STATE"/stretto.db* killed/
}
ok "a backup" stretto backup --force "$T/backup.db"
kill_with_log
emptied() { [ "$(head -c 32 "$STATE/stretto.db-wal" | tr -d '\0' | wc -c)" = 0 ]; }
if emptied; then # it was slow, and the log was written back meanwhile
	skip "there is no log to damage"
else
	for at in 4 0.3 0.6; do # the header, and two places among the frames
		python3 - "$STATE/stretto.db-wal" $at <<'END'
import sys
with open(sys.argv[1], "r+b") as file:
    data = file.read()
    size, n = 24 + int.from_bytes(data[8:12], "big"), 0
    while data[32 + n * size + 8:32 + n * size + 16] == data[16:24]:
        n += 1
    at = int(sys.argv[2]) if "." not in sys.argv[2] else 32 + int(float(sys.argv[2]) * n) * size + 100
    file.seek(at)
    file.write(bytes([data[at] ^ 4]))
END
		damaged "a bit of the log at $at"
	done
	: >"$STATE/stretto.db-wal"
	damaged "a log that was cut"
fi
: >"$STATE/stretto.db"
damaged "an empty file"
rm "$STATE"/stretto.db-*
: >"$STATE/stretto.db"
damaged "an empty file without a log"
rm -f "$STATE"/stretto.db*
again
like "$(said)" "warning: the run directory $RUN has the files of a database that is gone, and this one is new; ensembles 1 to [0-9]+ are not in it" "a new one says what it finds"
stop_daemon
put_back killed
again
like "$(said)" "older than the run directory" "and the one of before that it was away"
ok "a new ensemble" stretto submit --wait later.json

# --- where nothing is done, the log is soon empty, also without an end
ok "the log is emptied" wait_for 30 emptied
kill_daemon
rm "$STATE/stretto.db-wal"
again
is "$(said | grep -c older)" 0 "without it nothing is missing"
stop_daemon

# --- at random
for seed in 1 2; do
	ok "ten restores at random, with seed $seed" python3 "$srcdir/tests/t/books.py" "$(command -v strettod)" "$T/b$seed" $seed 10
done
done_testing
