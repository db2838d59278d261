#!/usr/bin/env bash
# A database of the first schema, kept as its daemon left it: today's daemon migrates it, after a copy; a newer one it refuses.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

mkdir -m 700 "$STATE"
gzip -dc "$srcdir/tests/data/stretto-v1.db.gz" | tee "$T/kept.db" >"$STATE/stretto.db"
version() { sqlite3 -readonly "$1" 'PRAGMA user_version'; }
# Everything of the tables and columns that the kept database had, but replies to Idempotency-Keys, whose day is over.
content() {
	local table columns
	for table in $(sqlite3 -readonly "$T/kept.db" "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'idempotency'"); do
		columns=$(sqlite3 -readonly "$T/kept.db" "SELECT group_concat(name) FROM pragma_table_info('$table')")
		sqlite3 -readonly "$1" "SELECT '$table', $columns FROM $table" | grep -v "^meta|control_secret|"
	done
}
is "$(version "$STATE/stretto.db")" 1 "the kept database is of version 1"
content "$STATE/stretto.db" >"$T/before"
echo '{"keep_events": "30000d"}' >"$T/config.json" # they are old, and grow older
like "$(cat "$T/before")" 'kept.*plain' "and has something in it"

start_daemon --config "$T/config.json"
newest=$(find "$srcdir/migrations" -name '*.sql' | wc -l)
is "$(version "$STATE/stretto.db")" "$newest" "it is migrated"
content "$STATE/stretto.db" >"$T/after"
is "$(diff "$T/before" "$T/after")" "" "nothing is lost, nothing is added"
is "$(api GET /v1/ensembles | jq -c '[.ensembles[] | [.id, .name, .state, .members.succeeded, .members.cancelled]]')" \
	'[[2,"plain","complete",2,0],[1,"kept","cancelled",0,3]]' "what was there is shown"
is "$(api GET /v1/tokens | jq -c .tokens)" '[]' "what is new is there"
is "$(api GET /v1/ensembles | jq -c '[.ensembles[].training.adapter | strings]')" '["local"]' "a training is where its members are"
is "$(sqlite3 -readonly "$STATE/stretto.db" 'PRAGMA integrity_check; PRAGMA foreign_key_check')" ok "the database is whole"

is "$(stat -c %a "$STATE/stretto.db.v1") $(version "$STATE/stretto.db.v1")" "600 1" "the copy of before is beside it"
content "$STATE/stretto.db.v1" >"$T/copy"
is "$(diff "$T/before" "$T/copy")" "" "and has everything"
stop_daemon

# Likewise one of the fourth schema, with what came since: tokens, a parameter file, members that wait for another attempt.
version1=$STATE
mkdir -m 700 "$T/fourth"
STATE=$T/fourth SOCKET=$T/fourth/stretto.sock
gzip -dc "$srcdir/tests/data/stretto-v4.db.gz" | tee "$T/kept.db" >"$STATE/stretto.db"
is "$(version "$STATE/stretto.db")" 4 "another kept database is of version 4"
content "$STATE/stretto.db" >"$T/before"
like "$(cat "$T/before")" 'token\|1' "and has a token"
start_daemon --config "$T/config.json"
is "$(version "$STATE/stretto.db")" "$newest" "it is migrated"
content "$STATE/stretto.db" >"$T/after"
is "$(diff "$T/before" "$T/after")" "" "nothing is lost, nothing is added"
is "$(api GET /v1/ensembles | jq -c '[.ensembles[] | [.name, .state, .members.pending]]')" \
	'[["listed","complete",0],["cancelled","cancelled",0],["retrying","paused",3],["failing","complete",0],["plain","complete",0]]' \
	"what was there is shown"
metrics=$(api GET /metrics)
like "$metrics" 'stretto_ensembles\{state="complete"\} 3' "the ensembles of before are counted"
like "$metrics" 'stretto_members\{state="pending"\} 3' "and the members of those that are not over"
is "$(stat -c %a "$STATE/stretto.db.v4") $(version "$STATE/stretto.db.v4")" "600 4" "the copy of before is beside it"
api POST /v1/ensembles/3/resume >/dev/null
ok "members that waited go on" wait_for 20 '[ "$(api GET /v1/ensembles/3/members/0 | jq ".attempts | length")" -gt 3 ]'
api POST /v1/ensembles/3/cancel >/dev/null
wait_for 20 '[ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM job WHERE state <> '"'ended'"'")" = 0 ]'
stop_daemon
STATE=$version1 SOCKET=$version1/stretto.sock

mkdir -m 700 "$T/fresh"
schema() { sqlite3 -readonly "$1" "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name <> 'sqlite_sequence' ORDER BY type, name"; }
STATE=$T/fresh SOCKET=$T/fresh/stretto.sock start_daemon
stop_daemon
is "$(diff <(schema "$STATE/stretto.db") <(schema "$T/fresh/stretto.db"))" "" "the migrated schema is that of a new database"
ok "a new database needs no copy" test ! -e "$T/fresh/stretto.db.v1"

sqlite3 "$STATE/stretto.db" 'PRAGMA user_version = 4711'
before=$(sha256sum <"$STATE/stretto.db")
status_is 1 "a newer database is refused" timeout $((20 * PATIENCE)) strettod --state-dir "$STATE"
like "$(tail -n 1 "$T/err")" 'schema version 4711.*store_newer' "it says why"
is "$(sha256sum <"$STATE/stretto.db")" "$before" "and not touched"

done_testing
