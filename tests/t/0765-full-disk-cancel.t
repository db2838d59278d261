#!/usr/bin/env bash
# The disk of the state directory is full, and stays so all the time, since members and another program go on writing to
# it: ensembles can be cancelled and paused all the same, and ends of members are stored, also by a daemon that was
# killed or ended, and was started again then. New work is refused until there is room.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
mkdir "$STATE" "$T/run"
mount -t tmpfs -o size=24m,mode=0700 tmpfs "$STATE" 2>/dev/null || skip_all "needs the right to mount a small tmpfs"
trap 'umount -l "$STATE" 2>/dev/null; cleanup' EXIT
echo '{"adapters": {"local": {"slots": 8}}}' >"$T/config.json"
SETTINGS=(--run-dir "$T/run" --config "$T/config.json")
start_daemon "${SETTINGS[@]}"
# takes every byte that gets free, at once
cat >"$T/filler" <<'END'
import os, sys, time
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
while True:
    try:
        os.write(fd, bytes(int(sys.argv[2])))
    except OSError:
        time.sleep(0)
END
members() { # NAME COUNT WIDTH SCRIPT
	jq -n --arg name "$1" --argjson count "$2" --argjson width "$3" --arg script "$4" '{name: $name, width: $width, members: {
		command: ["sh", "-c", $script], parameters: {grid: {i: [range($count)]}}, retries: 0}}' >"$T/$1.json"
}
mkfifo "$T/go"
exec 9<>"$T/go" # a line stays in it until a member takes it, also where none has it open
jq -n '{name: "large", members: {command: ["true"], parameters: {grid: {x: [range(110) | tostring + "y" * 50000]}}}}' >"$T/large.json"
members ends 2 2 "read x <>$T/go"
members runs 3 3 "while :; do sleep 1000; done"
members gate 1 1 "while :; do sleep 1000; done"
members paused 9 1 "while :; do sleep 1000; done"
members fills 1 1 "exec python3 $T/filler $STATE/fill 65536"
members small 1 1 true
members more 1 1 "while :; do sleep 1000; done # $(printf '%020000d' 0)"
full() { [ "$(stat -f -c %a "$STATE")" = 0 ]; }
running() { pgrep -f "$STATE/fill" | wc -l; }
state() { api GET "/v1/ensembles/$1" | jq -r '"\(.state) \(.members.succeeded)"'; }
on_the_disk() { sqlite3 -readonly "$STATE/stretto.db" "SELECT state FROM ensemble WHERE id = $1"; }
restart() {
	strettod --state-dir "$STATE" "${SETTINGS[@]}" </dev/null >>"$DAEMON_LOG" 2>&1 & # not ready while nothing new is accepted
	DAEMON_PID=$!
	wait_for 30 '[ "$(api_status GET /healthz)" = 200 ] || ! kill -0 $DAEMON_PID'
}

GATE=$(submit "$T/gate.json") ENDS=$(submit "$T/ends.json") RUNS=$(submit "$T/runs.json") PAUSED=$(submit "$T/paused.json") FILLS=$(submit "$T/fills.json")
# these take room, and never begin: on a disk that is nearly full, each start would depend on who is quicker
for name in small more; do
	jq --argjson id "$GATE" '.after = {ensemble: $id}' "$T/$name.json" >"$T/waits.json" && mv "$T/waits.json" "$T/$name.json"
done
wait_for 30 full || bail "the disk is not full"
python3 "$T/filler" "$STATE/other" 1 &
OTHER=$!
is "$(api_status POST /v1/ensembles "@$T/large.json")" 507 "new work does not take the room that is kept"
submits() { [ "$(api_status POST /v1/ensembles "@$T/$1.json")" = 201 ]; }
for ((i = 0; i < 1000; i++)); do submits more || submits small || break; done # until what is left is kept for other changes
is "$(api_status POST /v1/ensembles "@$T/small.json") $(jq -r .code "$T/api.body")" "507 store_full" "nothing new is accepted"
is "$(api_status GET /readyz)" 503 "/readyz says so"
printf 'x\nx\n' >&9
ok "the end of an ensemble's members is stored" wait_ensemble "$ENDS" 60
is "$(state "$ENDS")" "complete 2" "as it was"
for ((i = 0; i < 30; i++)); do
	[ "$(api_status POST "/v1/ensembles/$PAUSED/pause")$(api_status POST "/v1/ensembles/$PAUSED/resume")" = 200200 ] || break
done
is "$i" 30 "an ensemble can be paused and go on, many times"
is "$(api_status POST "/v1/ensembles/$PAUSED/pause")" 200 "and is paused"
kill_daemon
restart
is "$(api_status GET /healthz)" 200 "a daemon that was killed can be started on the full disk"
is "$(state "$PAUSED")" "paused 0" "and what it had answered holds"
stop_daemon
is "$DAEMON_STATUS" 0 "it ends well"
restart
is "$(api_status GET /healthz)" 200 "and can be started once more"
ok "the disk is full still, or at once again" wait_for 30 full
is "$(api_status POST "/v1/ensembles/$FILLS/cancel")" 202 "what fills the disk can be cancelled"
is "$(on_the_disk "$FILLS")" cancelled "and that is on the disk"
ok "it ends" wait_for 60 '[ "$(running)" = 0 ]'
for id in "$RUNS" "$PAUSED"; do
	is "$(api_status POST "/v1/ensembles/$id/cancel") $(on_the_disk "$id")" "202 cancelled" "others can be cancelled, too, and that is on the disk"
done
under_way() { sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM job WHERE state <> 'ended' AND ensemble <> $GATE"; }
ok "nothing else is under way any more" wait_for 60 '[ "$(under_way)" = 0 ]'
is "$(api_status POST /v1/ensembles "@$T/small.json") $(jq -r .code "$T/api.body")" "507 store_full" "nothing new is accepted still"
kill "$OTHER"
rm "$STATE/fill" "$STATE/other"
ok "new work is accepted once there is room" wait_for 30 '[ "$(api_status POST /v1/ensembles "@$T/ends.json")" = 201 ]'
ok "and the daemon is ready" wait_for 30 is_ready
is "$(api_status POST "/v1/ensembles/$GATE/cancel")" 202 "what others wait for can be cancelled then"
printf 'x\nx\n' >&9
ok "and it is done" wait_ensemble "$(api GET '/v1/ensembles?limit=1000' | jq '[.ensembles[].id] | max')" 60
is "$(sqlite3 "$STATE/stretto.db" 'PRAGMA integrity_check')" ok "the database is whole"
done_testing
