#!/bin/bash
# To PBS a node is lost when only its MOM has died: the job has ended, says PBS, and its processes go on. What they
# leave behind counts, or it is known not to, but never both; and they are ended.
# shellcheck disable=SC2016,SC2119 # for wait_for; pbs_config needs no words
TEST_LIMIT=180
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/pbs.sh
. "$srcdir/tests/t/pbs.sh"

ids=() pids=()
pbs_start openpbs
pbs_config
start_daemon --config config.json
jq -n --arg home "$HOME" '{name: "mom", adapter: "pbs", members: {command: ["sh", "-c",
	"echo $STRETTO_ATTEMPT >>\($home)/ran; while ! test -e \($home)/go-$STRETTO_ATTEMPT; do sleep 0.1; done; echo $STRETTO_ATTEMPT >>\($home)/over"],
	retries: 0, parameters: {grid: {x: [0]}}, resources: {walltime: "10m"}}}' >spec.json
begin() {
	rm -f "$HOME/ran" "$HOME"/go-* "$HOME/over"
	: >"$HOME/ran"
	id=$(submit spec.json)
	ok "it runs" wait_for 30 '[ "$(api GET "/v1/ensembles/$id" | jq .members.running) $(cat "$HOME/ran")" = "1 1" ]'
	running=$(pbs_jobs | awk '$3 == "R" { print $2 }')
}
attempts() { api GET "/v1/ensembles/$id/members/0" | jq -c '[.attempts[].outcome]'; }
record() { find "$STATE/run/e$id/members" -path "*/a$1/exit.json"; } # of an attempt

# --- the first run goes on after it was given up
begin
pbs lose-mom "$running"
ok "another one runs beside it" wait_for 60 '[ "$(xargs <"$HOME/ran")" = "1 2" ]'
first=$(record 1)
ok "the place of the first one's exit record is taken" jq -e '.given_up' "$first"
like "$(jq -r .reason "$first")" "its node was lost .Exit_status -20." "with the reason"
touch "$HOME/go-1"
ok "it ends well, too late" wait_for 30 'cat "$STATE/run/e$id"/jobs/*/runner.log | grep -q "exit.json is there already: the task was given up"'
ok "the place is still taken" jq -e '.given_up' "$first"
is "$(attempts)" '["lost",null]' "and it does not count"
touch "$HOME/go-2"
ok "the other one counts" wait_ensemble "$id" 60
is "$(jq -c '[.state, .members.succeeded]' ensemble.json) $(attempts)" '["complete",1] ["lost","succeeded"]' "as it ended"

# --- the first run ends before it is given up
begin
kill -STOP "$DAEMON_PID"
pbs lose-mom "$running"
touch "$HOME/go-1"
ok "its exit record is there" wait_for 30 '[ -n "$(record 1)" ]'
kill -CONT "$DAEMON_PID"
ok "it counts" wait_ensemble "$id" 60
is "$(jq -c '[.state, .members.succeeded]' ensemble.json) $(attempts)" '["complete",1] ["succeeded"]' "and nothing runs again"

# --- the daemon dies between the two: what it had put down there is found
begin
stop_daemon
printf '{"version": 1, "job": "%s", "given_up": true, "outcome": "lost", "reason": "by a daemon that died"}\n' \
	"$(sqlite3 -readonly "$STATE/stretto.db" "SELECT name FROM job WHERE ensemble = $id AND state <> 'ended'")" >"$(dirname "$(find "$STATE/run/e$id/members" -path "*/a1/stdout")")/exit.json"
pbs lose-mom "$running"
start_daemon --config config.json
ok "after a restart another one runs" wait_for 60 '[ "$(xargs <"$HOME/ran")" = "1 2" ]'
touch "$HOME/go-1" "$HOME/go-2"
ok "and counts" wait_ensemble "$id" 60
is "$(jq -c '[.state, .members.succeeded]' ensemble.json) $(attempts)" '["complete",1] ["lost","succeeded"]' "as it ended"
is "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0].reason')" "by a daemon that died" "for the reason that was given"

# --- what goes on although it was given up is ended: a member, a member in an allocation, a training
for kind in member allocation training; do
	jq --arg kind "$kind" --arg home "$HOME" '.members.command = ["sh", "-c", "echo $$ >>\($home)/\($kind); while :; do sleep 1; done"] |
		.members.resources = {walltime: "1m"} |
		if $kind == "allocation" then .allocation = {walltime: "10m", cpus: 1}
		elif $kind == "training" then .training = {command: .members.command, fields: {u: {dtype: "float32", shape: [1]}},
			resources: {walltime: "10m"}} else . end' spec.json >$kind.json
	ids[${#ids[@]}]=$(submit $kind.json)
	ok "$kind: it runs" wait_for 30 '[ -s "$HOME/$kind" ]'
	pids[${#pids[@]}]=$(head -n 1 "$HOME/$kind")
done
for job in $(pbs_jobs | awk '$3 == "R" { print $2 }'); do pbs lose-mom "$job"; done
gone() { ! kill -0 "$1" 2>/dev/null; }
for i in 0 1 2; do
	ok "what was given up ends within a minute" wait_for 60 "gone ${pids[i]}"
	ok "as its runner says" wait_for 60 'grep -r -q --include=runner.log "the job was given up" "$STATE/run/e${ids[i]}"'
	api POST "/v1/ensembles/${ids[i]}/cancel" >/dev/null
done
for i in 0 1 2; do wait_ensemble "${ids[i]}" 60; done
ok "what had begun since then is ended, too" wait_for 60 '[ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM job WHERE state <> '"'ended'"'")" = 0 ]'
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
pbs_stop
done_testing
