#!/usr/bin/env bash
# The disk of the state directory is full: said so, new work refused, nothing harmed, and work goes on once there is
# room.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
mkdir "$STATE" "$T/run"
mount -t tmpfs -o size=16m tmpfs "$STATE" 2>/dev/null || skip_all "needs the right to mount a small tmpfs"
trap 'umount -l "$STATE" 2>/dev/null; cleanup' EXIT
start_daemon --run-dir "$T/run"
mkfifo "$T/go"
# Few ensembles fill it: of more than a hundred such lines the log leaves some out.
jq -n --arg script "read x <>$T/go # $(printf '%060000d' 0)" '{name: "d", members: {command: ["sh", "-c", $script],
	parameters: {grid: {i: [1, 2]}}, retries: 0}}' >"$T/spec.json"
is "$(api_status POST /v1/ensembles "@$T/spec.json")" 201 "there is room at first"
wait_for 20 '[ "$(api GET /v1/ensembles/1 | jq .members.running)" = 2 ]' || bail "nothing runs"

head -c 20000000 /dev/zero >"$STATE/fill" 2>/dev/null
submits() { [ "$(api_status POST /v1/ensembles "@$T/spec.json")" = 201 ]; }
while submits || submits; do :; done # until there is no room but what is kept for changes of what there is
is "$(api_status POST /v1/ensembles "@$T/spec.json")" 507 "new work gets 507"
is "$(jq -r .code "$T/api.body")" store_full "with the reason"
is "$(api_status GET /readyz)" 503 "/readyz says so"
is "$(api_status GET /v1/ensembles/1)" 200 "what there is can be read"
is "$(api_status GET /v1/backup) $(find "$STATE" -name 'backup-tmp*' | wc -l)" "507 0" "there is no room for a backup, and nothing is left of it"
width=2
widens() { width=$((width + 1)); [ "$(api_status PATCH /v1/ensembles/1 "{\"width\": $width}")" = 200 ]; }
while widens || widens; do :; done # until that room is used, too
known=$(api GET '/v1/ensembles?limit=1000' | jq '.ensembles | length')
lines=$(wc -l <"$DAEMON_LOG")
exec 9<>"$T/go"
yes | head -n 200 >&9 # its members end now, which cannot be stored
wait_for 20 '[ "$(ls "$T"/run/e1/members/0/*/a1/exit.json | wc -l)" = 2 ]' || bail "the members have not ended"
is "$(api_status PATCH /v1/ensembles/1 '{"width": 999}')" 507 "a change that cannot be stored is not accepted"
ok "and the log does not tell of it" test "$(grep -c 'width 999,' "$DAEMON_LOG")" = 0
ok "nor of ensembles that were not" test "$(grep -c 'info: ensemble [0-9]* "d"' "$DAEMON_LOG")" = "$known"
is "$(api GET '/v1/ensembles?limit=1000' | jq '.ensembles | length')" "$known" "nothing of what was refused is there"
ok "the log is not flooded" test $(($(wc -l <"$DAEMON_LOG") - lines)) -lt 60

rm "$STATE/fill"
ok "the first ensemble ends once there is room" wait_ensemble 1 60
is "$(jq -r '"\(.state) \(.members.succeeded)"' "$T/ensemble.json")" "complete 2" "as if nothing had been"
is "$(api_status POST /v1/ensembles "@$T/spec.json")" 201 "new work is accepted again"
is "$(api_status GET /readyz)" 200 "/readyz says so"
is "$(sqlite3 "$STATE/stretto.db" 'PRAGMA integrity_check')" ok "the database is whole"
head -c $(($(stat -f -c '%a * %S' "$STATE") - 500000)) /dev/zero >"$STATE/fill" # where a part of it has room, more is left
is "$(api_status GET /v1/backup) $(find "$STATE" -name 'backup-tmp*' | wc -l)" "507 0" "of a backup that fills the disk nothing is left either"
rm "$STATE/fill"
for id in $(api GET '/v1/ensembles?limit=1000' | jq '.ensembles[].id'); do api POST "/v1/ensembles/$id/cancel" >/dev/null; done
wait_for 30 '[ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM job WHERE state <> '"'ended'"'")" = 0 ]'
done_testing
