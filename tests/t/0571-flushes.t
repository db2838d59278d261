#!/usr/bin/env bash
# While the disk takes its time, what is asked is answered from what is on it, and what is changed waits, and so do
# those who find it changed; where the disk fails, the daemon ends, and nothing that was answered or shown is lost.
. "${srcdir:-.}/tests/t/lib.sh"

flushes=$builddir/tests/t/.libs/flushes.so
case ${STRETTO_SANITIZE:-no} in *address*) flushes=$(gcc -print-file-name=libasan.so):$flushes ;; esac
echo '{"adapters": {"local": {"slots": 2}}}' >"$T/config.json"
mkfifo "$T/held" "$T/end" "$T/go"

# as start_daemon, with flushes.c
start_held() {
	FLUSHES=$T LD_PRELOAD=$flushes "$builddir/strettod" --state-dir "$STATE" --config "$T/config.json" \
		</dev/null >>"$DAEMON_LOG" 2>&1 &
	DAEMON_PID=$!
	wait_for 30 "is_ready || ! kill -0 $DAEMON_PID"
	is_ready || bail "the daemon did not get ready"
}
# post KEY: what is answered to it goes to $T/KEY, once it is
post() {
	touch "$T/next"
	(
		curl -s -m 600 --unix-socket "$SOCKET" -H 'Content-Type: application/json' -H "Idempotency-Key: $1" \
			-d "$spec" -o "$T/$1.body" -w '%{http_code}' http://stretto/v1/ensembles >"$T/$1.status"
		echo "answered" >>"$T/$1"
	) &
	POST_PID=$!
	read -r _ <"$T/held"
}
names() { api GET /v1/ensembles | jq -r '[.ensembles[].name] | sort | join(" ")'; }

start_held
# one whose member runs all the while, until it is told to end
jq -n --arg script "read x <>'$T/go'" '{name: "first", members: {command: ["sh", "-c", $script],
	parameters: {grid: {x: [1]}}, retries: 0}}' >"$T/spec.json"
is "$(api_status POST /v1/ensembles "@$T/spec.json")" 201 "accepted"
wait_for 30 '[ "$(api GET /v1/ensembles/1 | jq .members.running)" = 1 ]' || bail "nothing runs"

spec='{"name": "slow", "members": {"command": ["true"], "parameters": {"grid": {"x": [1]}}}}'
post slow
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ "$(api_status GET /v1/ensembles) $(jq '[.ensembles[] | select(.name == "first")] | length' "$T/api.body")" = "200 1" ] || break
done
is "$(cat "$T/api.status")" 200 "what is asked while a change waits for the disk is answered"
is "$(api_status GET /v1/ensembles/1) $(jq .members.running "$T/api.body")" "200 1" "with what was there before"
is "$(names) $(api_status GET /v1/ensembles/2)" "first 404" "and the change is not shown"
is "$(api GET '/v1/events?ensemble=2' | jq '.events | length')" 0 "nor told as an event"
is "$(api GET /metrics | sed -n 's/^stretto_ensembles{state="running"} //p')" 1 "nor counted"
# those who find it changed: one who tries again, one who finds nothing left to do, and one whose backup has it
late() { # NAME OPTION...
	curl -s -m 600 --unix-socket "$SOCKET" -o "$T/$1.body" -w '%{http_code}' "${@:2}" >"$T/$1.status"
	echo answered >"$T/$1"
}
admitted() { api GET /metrics | sed -n 's/^stretto_connections{state="admitted"} //p'; }
wait_for 30 '[ "$(admitted)" = 2 ]' || bail "others than the first and who asks are connected"
late again -H 'Content-Type: application/json' -H "Idempotency-Key: slow" -d "$spec" http://stretto/v1/ensembles &
AGAIN_PID=$!
late resume -X POST http://stretto/v1/ensembles/2/resume &
RESUME_PID=$!
late backup http://stretto/v1/backup &
BACKUP_PID=$!
wait_for 30 '[ "$(admitted)" = 5 ]' || bail "they do not come"
ok "a backup is made" wait_for 30 'ls -l "/proc/$DAEMON_PID/fd" | grep "backup-tmp.* (deleted)"' # and has lost its name
is "$(api_status GET /v1/ensembles)" 200 "others are answered"
is "$(cat "$T/again" "$T/resume" 2>/dev/null)" "" "who finds it made, or needs to change no more, is not answered either"
is "$(cat "$T/backup" "$T/backup.body" 2>/dev/null | wc -c)" 0 "nor is a backup sent that has it"
is "$(cat "$T/slow" 2>/dev/null)" "" "the change is not answered meanwhile"
echo "let go" >>"$T/slow"
echo good >"$T/end"
wait $POST_PID
is "$(cat "$T/slow" "$T/slow.status")" "let go
answered
201" "but as soon as it is on the disk"
wait $AGAIN_PID $RESUME_PID
is "$(cat "$T/again" "$T/resume" "$T/again.status" "$T/resume.status") $(jq .id "$T/again.body")" "answered
answered
201200 2" "and so are they"
wait $BACKUP_PID
is "$(cat "$T/backup" "$T/backup.status") $(sqlite3 -readonly "$T/backup.body" 'SELECT group_concat(name) FROM ensemble')" "answered
200 first,slow" "and the backup is sent"
is "$(names)" "first slow" "it is shown then"

spec='{"name": "lost", "members": {"command": ["true"], "parameters": {"grid": {"x": [1]}}}}'
ok "it runs" wait_ensemble 2 60
post lost
is "$(cat "$T/lost" 2>/dev/null) $(names)" " first slow" "nor is another answered or shown"
echo bad >"$T/end"
wait $POST_PID
is "$(cat "$T/lost" "$T/lost.status")" "answered
000" "one that the disk has lost is not accepted"
status=0
wait "$DAEMON_PID" || status=$?
is "$status" 74 "the daemon ends, with a status of its own"
like "$(cat "$DAEMON_LOG")" 'the daemon ends at once, since it can vouch for nothing more' "and says why"

start_held
like "$(names)" '^first (lost )?slow$' "what was answered is there when it is started again"
is "$(sqlite3 -readonly "$STATE/stretto.db" 'PRAGMA integrity_check')" ok "the database is whole"
is "$(api GET /v1/ensembles/1 | jq -c '[.state, .members.running]')" '["running",1]' "the member runs all the while"
is "$(api GET /v1/ensembles/2 | jq -c '[.state, .members.succeeded]')" '["complete",1]' "the other has ended, as it was told"
is "$(curl -s -m 300 --unix-socket "$SOCKET" -H 'Content-Type: application/json' -H 'Idempotency-Key: lost' -d "$spec" \
	-o /dev/null -w '%{http_code}' http://stretto/v1/ensembles)" 201 "what was not answered is tried again"
is "$(names)" "first lost slow" "and there is one of it"
echo >"$T/go"
for id in $(api GET /v1/ensembles | jq '.ensembles[].id'); do wait_ensemble "$id" 60 || fail "ensemble $id does not end"; done
is "$(api GET /v1/ensembles/1 | jq -c '[.members.succeeded, .members.failed]')" "[1,0]" "all end"

done_testing
