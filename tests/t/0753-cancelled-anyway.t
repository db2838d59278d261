#!/usr/bin/env bash
# Members that do not want to end are ended all the same, with all that they started: those that ignore SIGTERM, that
# leave their session, that give up their environment, and those whose runner does not answer.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
export TMPDIR=$T/tmp
mkdir "$TMPDIR"
echo '{"adapters": {"local": {"slots": 8}}, "python": "/bin/true"}' >"$T/config.json"
start_daemon --config "$T/config.json"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
# Every process below holds this lock; it can be taken once the last has gone.
: >"$T/lock"
locked() { ! flock -n "$T/lock" true; }

cat >"$T/member.sh" <<'EOF'
exec 8<"$1/lock"
flock -s 8
case $2 in
stubborn) trap '' TERM ;;
session) (trap '' TERM; setsid sh -c 'sleep 600 & wait' &) ;;
escaped) (trap '' TERM; exec setsid env -i PATH="$PATH" sh -c 'cd /; sleep 600 & wait' &) ;;
stopped) ;;
esac
echo "$2" >>"$1/started"
while :; do sleep 600; done
EOF
jq -n --arg t "$T" '{name: "a", width: 4, members: {command: ["sh", ($t + "/member.sh"), $t, "{mode}"],
	parameters: {grid: {mode: ["stubborn", "session", "escaped", "stopped"]}}, retries: 0}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
wait_for 30 '[ "$(wc -l <"$T/started")" = 4 ]' || bail "they do not run"
job=$(db "SELECT name FROM job JOIN attempt ON attempt.job = job.id WHERE idx = 3")
kill -STOP "$(jq .pid "$STATE/run/e$ID/jobs/$job/claim.json")"
ok "they hold their lock" locked
is "$(api_status POST "/v1/ensembles/$ID/cancel" '{}')" 202 "cancel"
ok "all are cancelled" wait_for 60 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.cancelled)" = 4 ]'
ok "and have ended with all that they started" wait_for 20 '! locked'
is "$(db "SELECT count(*) FROM attempt WHERE outcome = 'cancelled' AND ifnull(reason, '') <> ''")" 4 "each says why"
diag "$(db "SELECT idx, reason FROM attempt")"
ok "every job has ended" wait_for 20 '[ "$(db "SELECT count(*) FROM job WHERE state <> '"'ended'"'")" = 0 ]'
is "$(ls "$TMPDIR")" "" "no temporary directory is left"
done_testing
