# Many real members, one a job, while the daemon is killed 20 times: did each run once, does memory stay as it is, and how long does it
# take?
#
#   million-killed-twice, -missing   members that ran more than once, or never, as they wrote it down themselves
#   million-killed-attempts          attempts for each member, by the daemon's books
#   million-killed-rate              members a second, kills included; the baseline: xargs -P8, which runs the same program
#   million-killed-recovery          from a daemon's start until it answers, in the middle of it all
#   million-killed-memory            how much the last daemon took when it had run as many members as the first one had; the baseline: the first
#   million-killed-disk              of the database, for each member
#   million-killed-inodes            in the run directory for each member, when all is archived
#
# BENCH_MEMBERS: how many (100,000); with 1,000,000 it takes the better part of an hour
# shellcheck shell=bash
TEST_LIMIT=${TEST_LIMIT:-14400}
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"
make -s -C "${builddir:?}" tests/bench/append-member >&2 || bail "cannot build tests/bench/append-member"
MEMBERS=${BENCH_MEMBERS:-100000}
KILLS=20
append=$builddir/tests/bench/append-member
PATIENCE=100 # a stretch may take minutes

# counted FILE: how many members ran more than once, and how many never
counted() {
	/usr/bin/python3 -c 'import array, sys
ran = array.array("I", open(sys.argv[1], "rb").read())
print(len(ran) - len(set(ran)), int(sys.argv[2]) - len(set(ran)))' "$1" "$MEMBERS"
}
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
ended() { echo $(($(stat -c %s "$T/ran" 2>/dev/null || echo 0) / 4)); }
resident() { awk '/^VmRSS/ { print $2 / 1024 }' "/proc/$DAEMON_PID/status"; }

start=$(now)
yes "$T/baseline" | head -n 10000 | STRETTO_MEMBER=1 xargs -P8 -n1 "$append"
baseline=$(ratio 10000 "$(difference "$(now)" "$start")")

jq -n '{adapters: {local: {slots: 8}}, log_level: "warning", archive_after: "10s"}' >config.json
start_daemon --config config.json
start=$(now)
ID=$(api POST /v1/ensembles "$(jq -n -c --argjson count "$MEMBERS" '{name: "million", adapter: "local", width: 8, pack: 1, members: {
	command: $ARGS.positional, retries: 3, parameters: {method: "monte-carlo", count: $count, seed: 1, space: {x: [0, 1]}}}}' \
	--args "$append" "$T/ran")" | jq -r .id)
for ((kill = 1; kill <= KILLS; kill++)); do
	wait_for 100 "[ \$(ended) -ge $((MEMBERS * kill / (KILLS + 1))) ]" || bail "nothing goes on"
	resident >>memory
	kill -KILL "$DAEMON_PID"
	wait "$DAEMON_PID" 2>/dev/null
	began=$(now)
	start_daemon --config config.json
	difference "$(now)" "$began" >>recovery
	echo "kill $kill after $(difference "$began" "$start") s, $(ended) members; the daemon took $(tail -n 1 memory) MB" >&2
done
wait_for 100 "[ \$(ended) -ge $MEMBERS ]" || bail "nothing goes on"
wait_ensemble "$ID" 100 || bail "it does not end"
took=$(difference "$(now)" "$start")
resident >>memory
is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" "[\"complete\",$MEMBERS]" "all succeeded"
read -r twice missing < <(counted "$T/ran")
wait_for 300 '[ "$(db "SELECT (SELECT count(*) FROM job WHERE archived = 0) + (SELECT count(*) FROM archiving)")" = 0 ]' ||
	bail "not everything is archived"
figure million-killed-twice "$twice" members
figure million-killed-missing "$missing" members
figure million-killed-attempts "$(ratio "$(db 'SELECT count(*) FROM attempt')" "$MEMBERS")" attempts
figure million-killed-rate "$(ratio "$MEMBERS" "$took")" members/s "xargs -P8 -n1 append-member" "$baseline"
figure million-killed-recovery "$(median <recovery)" s
figure million-killed-memory "$(tail -n 1 memory)" MB "the first daemon" "$(head -n 1 memory)"
figure million-killed-disk "$(ratio "$(stat -c %s "$STATE/stretto.db")" "$MEMBERS")" bytes
figure million-killed-inodes "$(ratio "$(find "$STATE/run" | wc -l)" "$MEMBERS")" inodes
bench_done
