#!/usr/bin/env bash
# A job that is given up before any runner claimed it can never start afterwards, however late its scheduler is.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 1}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }

mkfifo "$T/go"
exec 9<>"$T/go"
jq -n --arg go "read x <$T/go" '{name: "g", members: {command: ["sh", "-c", $go], parameters: {grid: {i: [0, 1]}}}}' \
	>"$T/spec.json"
ID=$(submit "$T/spec.json")
# which of two that are submitted at once is the first is open
wait_for 20 '[ "$(db "SELECT group_concat(state) FROM (SELECT state FROM job ORDER BY state)")" = running,submitted ]' ||
	bail "one does not run while the other waits"
RAN=$STATE/run/e$ID/jobs/$(db "SELECT name FROM job WHERE state = 'running'")
LATE=$STATE/run/e$ID/jobs/$(db "SELECT name FROM job WHERE state = 'submitted'")
MEMBER=$(db "SELECT attempt.idx FROM attempt JOIN job ON job.id = attempt.job WHERE job.state = 'submitted'")
api POST "/v1/ensembles/$ID/cancel" >"$T/out"
ok "both jobs end" wait_for 30 '[ "$(db "SELECT count(*) FROM job WHERE state = '"'ended'"'")" = 2 ]'
is "$(db "SELECT group_concat(state) FROM member")" "cancelled,cancelled" "both members are cancelled"
is "$(jq -c '[.given_up, has("pid")]' "$RAN/claim.json")" "[null,true]" "the one that ran has the claim of its runner"
is "$(jq -c '[.given_up, has("pid")]' "$LATE/claim.json")" "[true,false]" "the daemon has claimed the one that never did"
status_is 75 "a runner that comes late finds it taken" stretto-run "$LATE"
is "$(find "$STATE/run/e$ID/members/0/$MEMBER" -name exit.json -o -name stdout)" "" "and starts nothing"
restart() { kill_daemon; start_daemon --config "$T/config.json"; }
restart
is "$(db "SELECT group_concat(outcome) FROM attempt")" "cancelled,cancelled" "the history is what it was after a restart"
done_testing
