#!/usr/bin/env bash
# The daemon is killed again and again at random moments, while members start, run and end: nothing that was accepted is
# lost, nothing runs twice, the books balance. ROUNDS and SEED in the environment ask for more, or for the same again.
TEST_LIMIT=${LIMIT:-240}
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
RANDOM=${SEED:=$$}
diag "SEED=$SEED"
MEMBERS=80
cat >"$T/member.sh" <<'EOF'
set -e
mkdir "$1/running.$STRETTO_ENSEMBLE.$STRETTO_MEMBER" # fails where the same member runs already
echo "$STRETTO_ENSEMBLE.$STRETTO_MEMBER $STRETTO_ATTEMPT" >>"$1/started"
sleep "0.$((RANDOM % 4))"
rmdir "$1/running.$STRETTO_ENSEMBLE.$STRETTO_MEMBER"
EOF
jq -n --arg t "$T" --argjson n $MEMBERS '{name: "k", width: 6, members: {command: ["bash", ($t + "/member.sh"), $t],
	parameters: {grid: {i: [range($n)]}}, retries: 0}}' >"$T/spec.json"
echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"

accepted=0 # answered with 201
for ((round = 0; round < ${ROUNDS:-8}; round++)); do
	start_daemon --config "$T/config.json"
	if [ "$(api_status POST /v1/ensembles "@$T/spec.json")" = 201 ] && [ $round -lt 2 ]; then accepted=$((accepted + 1)); fi
	[ $round -lt 2 ] || api POST "/v1/ensembles/$(jq .id "$T/api.body")/cancel" >/dev/null
	sleep "0.$(printf '%03d' $((RANDOM % 700)))" # the moment to be killed at is what is random here
	kill_daemon
done
start_daemon --config "$T/config.json"
ok "the first ensemble ends" wait_ensemble 1 120
ok "the second ensemble ends" wait_ensemble 2 120
is "$accepted" 2 "both had been accepted"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
is "$(db "SELECT n FROM tally WHERE ensemble = 1 AND state = 'succeeded'")" $MEMBERS "every member of the first succeeded"
is "$(db "SELECT n FROM tally WHERE ensemble = 2 AND state = 'succeeded'")" $MEMBERS "and of the second"
is "$(db "SELECT count(*) FROM attempt WHERE ensemble < 3 AND outcome <> 'succeeded'")" 0 "no attempt was taken for lost"
wait_for 30 '[ "$(db "SELECT count(*) FROM job WHERE state <> '"'ended'"'")" = 0 ]'
is "$(db "SELECT count(*) FROM job WHERE state <> 'ended'")" 0 "every job has ended"
is "$(db "SELECT count(*) FROM (SELECT ensemble FROM member GROUP BY ensemble, state EXCEPT
	SELECT ensemble FROM tally WHERE n > 0)")" 0 "tallies and rows agree"
is "$(db "PRAGMA integrity_check")" ok "the database is whole"
is "$(grep "^[12][.]" "$T/started" | sort | uniq -d | wc -l)" 0 "no attempt was started twice"
is "$(ls -d "$T"/running.[12].* 2>/dev/null | wc -l)" 0 "no member was cut short or met itself"
done_testing
