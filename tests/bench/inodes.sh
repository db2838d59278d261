# What members that have ended leave behind: 100,000 members of `true`, and as many with 1 KB of output each, one a job.
#
#   inodes-each, inodes-each-1k    inodes in the run directory for each member
#   bytes-each, bytes-each-1k      bytes on its disk for each member, blocks as they are allocated
#   inodes-running                 inodes in the run directory for each member that runs, 200 of them
#   inodes-rate, inodes-rate-1k    members a second, from the ensemble's acceptance until all is archived
#
# BENCH_MEMBERS asks for another number.
# shellcheck shell=bash
TEST_LIMIT=${TEST_LIMIT:-3600}
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"
MEMBERS=${BENCH_MEMBERS:-100000}
RUNNING=200

spec() { # COUNT WIDTH COMMAND...: of an ensemble
	jq -n -c --argjson count "$1" --argjson width "$2" '{name: "inodes", adapter: "local", width: $width, pack: 1,
		members: {command: $ARGS.positional, retries: 0,
			parameters: {method: "monte-carlo", count: $count, seed: 1, space: {x: [0, 1]}}}}' --args "${@:3}"
}
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
inodes() { find "$STATE/run/e$1" | wc -l; }
blocks() { find "$STATE/run/e$1" -printf '%b\n' | awk '{ n += $1 } END { print 512 * n }'; }

# measure SUFFIX COMMAND...
measure() {
	local start suffix=$1
	shift
	start=$(now)
	ID=$(submit "$(spec "$MEMBERS" 8 "$@")")
	wait_ensemble "$ID" 3000 || bail "the members do not end"
	[ "$(jq '.members.succeeded == .count' "$T/ensemble.json")" = true ] || bail "not every member succeeded"
	wait_for 300 '[ "$(db "SELECT (SELECT count(*) FROM job WHERE archived = 0) + (SELECT count(*) FROM archiving)")" = 0 ]' ||
		bail "not everything is archived"
	figure "inodes-rate$suffix" "$(ratio "$MEMBERS" "$(difference "$(now)" "$start")")" members/s
	figure "inodes-each$suffix" "$(ratio "$(inodes "$ID")" "$MEMBERS")" inodes
	figure "bytes-each$suffix" "$(ratio "$(blocks "$ID")" "$MEMBERS")" bytes
}

jq -n --argjson slots $RUNNING '{adapters: {local: {slots: $slots}}, log_level: "warning", archive_after: "0s"}' >config.json
start_daemon --config config.json
submit() { api POST /v1/ensembles "$1" | jq -r .id; }
measure "" true
printf '%s\n' '#!/bin/sh' 'printf %01024d 0' >kilobyte
chmod +x kilobyte
measure -1k "$T/kilobyte"

printf '%s\n' '#!/bin/sh' "read x <>$T/go" >waits
chmod +x waits
mkfifo go
ID=$(submit "$(spec $RUNNING $RUNNING "$T/waits")")
wait_for 60 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.running)" = '$RUNNING' ]' || bail "they do not all run"
figure inodes-running "$(ratio "$(inodes "$ID")" $RUNNING)" inodes
api POST "/v1/ensembles/$ID/cancel" >"$T/out"
wait_ensemble "$ID" 60
bench_done
