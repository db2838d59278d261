#!/usr/bin/env bash
# A member fills the disk of the state directory: it can be cancelled, also by a daemon that is killed and started again then; nothing
# is left that runs. New work is refused until there is room.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
mkdir "$STATE" "$T/run"
mount -t tmpfs -o size=4m,mode=0700 tmpfs "$STATE" 2>/dev/null || skip_all "needs the right to mount a small tmpfs"
trap 'umount -l "$STATE" 2>/dev/null; cleanup' EXIT
start_daemon --run-dir "$T/run"
wait_for 30 '[ "$(stat -c %s "$STATE/reserve")" = 1048576 ]' || bail "no reserve is made"
is "$(stat -c %a "$STATE/reserve")" 600 "a reserve is made"
# It does not try again once the disk is full: whatever it wrote would take the reserve's room, now and then before the daemon does.
filler() { jq -n --arg script "cat /dev/zero >>$STATE/fill.{i} 2>/dev/null; while :; do sleep 1000; done" '{name: "f", members: {
	command: ["sh", "-c", $script], parameters: {grid: {i: [1, 2]}}, retries: 0}}' >"$T/spec.json"; }
filler
full() { [ "$(stat -f -c %a "$STATE")" = 0 ]; }
running() { pgrep -f "$STATE/fill" | wc -l; }

is "$(api_status POST /v1/ensembles "@$T/spec.json")" 201 "members that fill the disk"
wait_for 30 full || bail "the disk is not full"
until [ "$(api_status POST /v1/ensembles "@$T/spec.json")" != 201 ]; do :; done # until the last free page is used
is "$(api_status POST /v1/ensembles/1/cancel)" 202 "they can be cancelled all the same"
# shellcheck disable=SC2016 # for wait_for
ok "and end" wait_for 60 '[ "$(running)" -le "$((2 * ($(api GET /v1/ensembles | jq "[.ensembles[] | select(.state == \"running\")] | length"))))" ]'
is "$(api GET /v1/ensembles/1 | jq -r .state)" cancelled "as the daemon says"
is "$(api_status POST /v1/ensembles "@$T/spec.json") $(jq -r .code "$T/api.body")" "507 store_full" "nothing new is accepted meanwhile"
for id in $(api GET /v1/ensembles | jq '.ensembles[] | select(.state == "running") | .id'); do
	is "$(api_status POST "/v1/ensembles/$id/cancel")" 202 "ensemble $id can be cancelled, too"
done
ok "nothing runs any more" wait_for 60 '[ "$(running)" = 0 ]'
rm "$STATE"/fill*
ok "the reserve is made again once there is room" wait_for 30 '[ "$(stat -c %s "$STATE/reserve")" = 1048576 ]'
ok "new work is accepted then" wait_for 30 '[ "$(api_status POST /v1/ensembles "@$T/spec.json")" = 201 ]'

id=$(api GET /v1/ensembles | jq '.ensembles[0].id')
wait_for 30 full || bail "the disk is not full again"
kill_daemon
head -c 4000000 /dev/zero >"$STATE/last" 2>/dev/null
strettod --state-dir "$STATE" --run-dir "$T/run" </dev/null >>"$DAEMON_LOG" 2>&1 & # not ready: it cannot store changes
DAEMON_PID=$!
ok "a daemon can be started on the full disk" wait_for 30 '[ "$(api_status GET /healthz)" = 200 ]'
is "$(api_status POST "/v1/ensembles/$id/cancel")" 202 "and cancels"
ok "no runner outlives it" wait_for 60 '[ "$(running)" = 0 ]'
rm "$STATE"/fill* "$STATE/last"
ok "all is over" wait_for 60 '[ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM job WHERE state <> '"'ended'"'")" = 0 ]'
is "$(sqlite3 "$STATE/stretto.db" 'PRAGMA integrity_check')" ok "the database is whole"
done_testing
