#!/usr/bin/env bash
# The daemon refuses a damaged database with a sentence, or goes on: no value, in any column, makes it abort. A part of
# the cases is tried; STRETTO_DAMAGE=1 tries all of them.
TEST_LIMIT=600
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

# A daemon that was killed while much was under way. Nothing of it runs on its own in the cases, so that nothing
# outlives them.
echo '{"a": 1, "b": "x"}' >"$T/rows.jsonl"
echo '{"adapters": {"local": {"slots": 8}}}' >"$T/config.json"
mkfifo "$T/go"
hold="[ -e $T/over ] || read x <>$T/go"
start_daemon --python /bin/true --config "$T/config.json"
spec() { jq -n -c --arg script "$1" '{name: "d", members: {command: ["sh", "-c", $script], parameters: {grid: {i: [1, 2, 3]}}, retries: 0},
	width: 2} | '"$2"; }
post() { is "$(api_status POST /v1/ensembles "$(spec "$1" "$2")")" 201 "accepted: ${2:0:40}"; }
post "$hold" .
post "$hold" '.members.parameters = {file: "'"$T/rows.jsonl"'"}'
post "$hold" '.training = {command: ["sh", "-c", $script], fields: {u: {dtype: "float32", shape: [4]}}}'
post "$hold" '.allocation = {walltime: "10m", cpus: 1} | .members.resources = {walltime: "1m"}'
post "exit 1" .
wait_ensemble 5 60
is "$(api_status POST /v1/ensembles/5/follow-up '{"states": ["failed"]}')" 201 "a follow-up"
wait_for 60 '[ "$(api GET /v1/ensembles/4 | jq .members.running)" -ge 1 ]' || bail "nothing runs in an allocation"
is "$(curl -s --unix-socket "$SOCKET" -H 'Idempotency-Key: k' -H 'Content-Type: application/json' -d "$(spec "$hold" .)" -o /dev/null \
	-w '%{http_code}' http://stretto/v1/ensembles)" 201 "one with a key"
is "$(api_status POST /v1/tokens '{"label": "t", "role": "reader"}')" 201 "a token"
for id in 1 2 3 4 6 7; do api POST "/v1/ensembles/$id/pause" >/dev/null; done
kill_daemon
touch "$T/over"
# shellcheck disable=SC2046 # pids
kill -KILL $(left_behind) 2>/dev/null
python3 - "$STATE/stretto.db" <<'END' || fail "tables that are seldom filled"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("INSERT INTO bulk_operation (ensemble, kind, state, next) VALUES (1, 'resubmit', 'failed', 0), (2, 'cancel', '', 0), (7, 'stop', '', 1)")
db.execute("INSERT INTO handover (ensemble, source, state, next) VALUES (6, 5, 'unfinished', 1)")
db.execute("INSERT INTO member_checkpoint (home, idx, number, ensemble, attempt, path, step, size, digest, time) "
           "VALUES (1, 0, 1, 1, 1, 'a.ckpt', 1, 1, 'd', 1)")
db.execute("INSERT INTO metric (training, name, step, rank, time, value) VALUES (1, 'loss', 1, 0, 1, 0.5)")
db.execute("INSERT OR IGNORE INTO rank (training, generation, rank, status) VALUES (1, 1, 0, '{}')")
db.commit()
END
sqlite3 "$STATE/stretto.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
rm "$STATE"/*.sock
mv "$STATE" "$T/base"
mkdir "$STATE"
of=${STRETTO_DAMAGE_OF:-80}
[ -z "${STRETTO_DAMAGE:-}" ] || of=1
out=$(python3 "$srcdir/tests/t/damage.py" "$(command -v strettod)" "$T/base" "$STATE" "${STRETTO_DAMAGE_PART:-0}" $of 2>&1) || fail "the daemon refuses it or goes on"
diag "$out"
[ $TESTS_FAILED -gt 0 ] || pass "the daemon refuses it or goes on"
done_testing
