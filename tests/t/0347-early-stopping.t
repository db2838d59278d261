#!/usr/bin/env bash
# Early stopping: members end at rungs and are promoted from their checkpoints, while the daemon is killed at random
# moments. An independent program decides the same from the order of arrivals, and no step is trained twice. TRIALS=200
# KILLS=60 makes it long.
TEST_LIMIT=${LIMIT:-600}
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

TRIALS=${TRIALS:-30} KILLS=${KILLS:-4}
RANDOM=${SEED:-5}
echo '{"adapters": {"local": {"slots": 6}}}' >"$T/config.json"
start() { start_daemon --config "$T/config.json"; }
start

# A wrong spec is refused with the place of the mistake.
spec() { # CHANGES
	jq -n --arg trial "$(realpath "$srcdir/tests/t/rung-trial.py")" --arg log "$T/steps" --argjson n "$TRIALS" '{name: "asha", width: 6,
		members: {command: ["python3", $trial, "54", $log], parameters: {grid: {x: [range($n)]}},
			resources: {walltime: "1h"}, checkpoint: {before: "10m", signal: "USR1", glob: "step-*"}},
		early_stopping: {rule: "asha", metric: "loss", rungs: {min: 2, max: 54, reduction: 3}}} '"| $1"
}
refused() { # CHANGES POINTER WHAT
	spec "$1" >"$T/wrong.json"
	api POST /v1/ensembles "@$T/wrong.json" >"$T/reply.json"
	is "$(cat "$T/api.status") $(jq -r .pointer "$T/reply.json")" "422 $2" "$3"
}
refused '.early_stopping.rule = "hyperband"' /early_stopping/rule "an unknown rule"
refused 'del(.early_stopping.metric)' /early_stopping/metric "no metric"
refused '.early_stopping.metric = 7' /early_stopping/metric "a metric that is no name"
refused '.early_stopping.goal = "most"' /early_stopping/goal "an unknown goal"
refused '.early_stopping.rungs.reduction = 1' /early_stopping/rungs/reduction "a reduction that promotes all"
refused '.early_stopping.rungs.max = 2' /early_stopping/rungs/max "one rung"
refused '.early_stopping.rungs.steps = [1, 2]' /early_stopping/rungs/steps "rungs that are given twice"
refused '.early_stopping.rungs = {steps: [1, 3, 3]}' /early_stopping/rungs/steps/2 "rungs that do not grow"
refused '.early_stopping.rungs = {steps: [1, "3"]}' /early_stopping/rungs/steps/1 "a step that is no number"
refused '.early_stopping.every = 1' /early_stopping/every "an unknown key"
refused '.training = {command: ["x"], fields: {u: {dtype: "float32", shape: [1]}}}' /early_stopping "members that stream"
refused 'del(.early_stopping) | .members.command += ["{until}"]' /members/command/4 "{until} without early stopping"

spec . >"$T/spec.json"
id=$(submit "$T/spec.json")
arrived() { [ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM arrival WHERE ensemble = $id")" -ge "$1" ]; }
over() { [ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT state FROM ensemble WHERE id = $id")" != running ]; }
arrived_or_over() { arrived "$1" || over; }
for ((n = 1; n <= KILLS; n++)); do
	wait_for 120 "arrived_or_over $((n * TRIALS / KILLS - RANDOM % 3))" || break
	read -rt "0.$((RANDOM % 300 + 100))" <>"$T/.rest"
	kill_daemon
	start
done
ok "it ends" wait_ensemble "$id" 400
api GET "/v1/ensembles/$id" >"$T/ensemble.json"
is "$(jq -r .state "$T/ensemble.json")" complete "it is complete"
for ((after = 0; ; )); do
	api GET "/v1/ensembles/$id/arrivals?limit=50&after=$after" >"$T/page"
	jq -c '.arrivals[]' "$T/page" >>"$T/arrivals.jsonl"
	[ "$(jq '.arrivals | length' "$T/page")" -gt 0 ] || break
	after=$(jq .next "$T/page")
done
jq -s . "$T/arrivals.jsonl" >"$T/arrivals.json"
ok "an independent program decides the same" python3 "$srcdir/tests/t/rungs_check.py" "$T/arrivals.json" 3 4
diag "$(python3 "$srcdir/tests/t/rungs_check.py" "$T/arrivals.json" 3 4)"
is "$(jq '[.[] | select(.rung == 1)] | length' "$T/arrivals.json")" "$TRIALS" "every member has reached the first rung"
is "$(jq -c '[.members.succeeded, .members.stopped]' "$T/ensemble.json")" \
	"$(jq -c --argjson n "$TRIALS" '[.[] | select(.rung == 4)] | length | [., $n - .]' "$T/arrivals.json")" \
	"those at the last rung have succeeded, and all others are stopped"
is "$(jq -c '[.[] | select(.index % 2 == 0 and .step != [2, 6, 18, 54][.rung - 1])]' "$T/arrivals.json")" "[]" \
	"a program that knows the step ends there"
is "$(jq -c '[.[] | select(.step < [2, 6, 18, 54][.rung - 1])]' "$T/arrivals.json")" "[]" "none arrives before its step"
is "$(awk '{ print $1, $2 }' "$T/steps" | sort | uniq -d | head -3)" "" "no step is trained twice"
is "$(awk '{ if ($2 != last[$1] + 1) print; last[$1] = $2 }' "$T/steps" | head -3)" "" "and none is left out"
is "$(jq -c '[.[] | select(.value - (.index * 7 % 11 / 11 + (.index * 5 % 13) / .step) | fabs > 0.001)]' "$T/arrivals.json")" "[]" \
	"the value of each is that of its step"

# Early stopping as users see it
api GET "/v1/ensembles/$id/rungs" >"$T/rungs.json"
is "$(jq -c '[.rungs[] | [.rung, .step, .under_way]]' "$T/rungs.json")" "[[1,2,0],[2,6,0],[3,18,0],[4,54,0]]" "the rungs are told"
is "$(jq -c '[.rungs[] | [.arrived, .promoted, .best.value]]' "$T/rungs.json")" \
	"$(jq -c '[range(1; 5) as $r | map(select(.rung == $r)) | [length, (map(select(.promoted != null)) | length), (map(.value) | min)]]' \
		"$T/arrivals.json")" "with what has arrived, and the best"
is "$(stretto rungs "$id" | awk 'NR == 2 { print $1, $2, $3 }')" "1 2 $TRIALS" "stretto rungs has them as a table"
stopped=$(jq .members.stopped "$T/ensemble.json")
is "$(api GET "/v1/ensembles/$id/states" | tr -cd 7 | wc -c)" "$stopped" "states have a code for them"
is "$(api GET "/v1/ensembles/$id/members?state=stopped&limit=1000" | jq '.members | length')" "$stopped" "members are found by it"
is "$(api GET "/v1/ensembles/$id/members?limit=1000" | jq -c '[.members[] | [.index, .rung]]')" \
	"$(jq -c '[group_by(.index)[] | [.[0].index, (map(.rung) | max)]]' "$T/arrivals.json")" "and tell which rung they have reached"
is "$(stretto --json report "$id" --metric loss | jq -c '[.runs[].fate] | [map(select(. == "ranked")), map(select(. == "stopped"))] | map(length)')" \
	"[$((TRIALS - stopped)),$stopped]" "a report ranks those at the last rung alone"
ok "stretto wait takes it for success" stretto wait "$id"
like "$(stretto status "$id")" "stopped $stopped|$stopped stopped" "stretto status counts them"
is "$(api_status POST "/v1/ensembles/$id/follow-up" '{}')" 409 "they are not unfinished"
is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM event WHERE kind = 'member.promoted'")" \
	"$(jq '[.[] | select(.promoted != null)] | length' "$T/arrivals.json")" "each promotion is an event"
is "$(api_status GET /v1/ensembles/$((id + 1))/rungs)" 404 "an ensemble that is not there has no rungs"

# Somebody takes a stopped member on: from its checkpoint, up to its next rung.
one=$(jq '[.[] | select(.promoted == null and .rung == 1)][0].index' "$T/arrivals.json")
ok "a stopped member is resubmitted" stretto resubmit "$id.$one"
ok "it ends again" wait_ensemble "$id" 120
api GET "/v1/ensembles/$id/arrivals?limit=1000" >"$T/again.json"
is "$(jq -c --argjson i "$one" '[.arrivals[] | select(.index == $i) | [.rung, .promoted]][:1]' "$T/again.json")" '[[1,"by hand"]]' \
	"its first arrival says so"
is "$(jq -c --argjson i "$one" '[.arrivals[] | select(.index == $i) | .rung][1]' "$T/again.json")" 2 "it has reached the next rung"
is "$(awk -v i="$one" '$1 == i { if ($2 != last + 1) print; last = $2 }' "$T/steps")" "" "from its checkpoint"

# Somebody cancels a stopped member for good: the best of all three is not promoted when the third one arrives.
cat >"$T/good.sh" <<'END'
until [ "$1" != 2 ] || [ -e "$3" ]; do sleep 0.1; done
echo "{\"step\": $2, \"loss\": $1}" >>"$STRETTO_METRICS"
END
jq -n --arg program "$T/good.sh" --arg go "$T/go" '{name: "for-good", width: 3, members: {parameters: {grid: {x: [0, 1, 2]}},
	command: ["sh", $program, "{x}", "{until}", $go]},
	early_stopping: {rule: "asha", metric: "loss", rungs: {steps: [1, 2], reduction: 3}}}' >"$T/good.json"
good=$(submit "$T/good.json")
stopped_are() { [ "$(api GET "/v1/ensembles/$good" | jq .members.stopped)" = "$1" ]; }
ok "two members are stopped" wait_for 120 "stopped_are 2"
ok "the best of them is cancelled" stretto cancel "$good.0"
is "$(api GET "/v1/ensembles/$good" | jq -c '[.state, .members.cancelled, .members.stopped]')" '["running",1,1]' "at once"
touch "$T/go"
ok "the ensemble ends" wait_ensemble "$good" 120
is "$(api GET "/v1/ensembles/$good" | jq -c '[.state, .members.succeeded, .members.cancelled, .members.stopped]')" '["complete",0,1,2]' "nobody was promoted"
is "$(api GET "/v1/ensembles/$good/rungs" | jq -c '.rungs[0] | [.arrived, .promoted, .stopped]')" "[3,0,2]" "the rung tells so"
is "$(api GET "/v1/ensembles/$good/arrivals" | jq -c '[.arrivals[] | select(.index == 0) | .promoted]')" '["cancelled"]' "and the arrival"
status_is 1 "one that is stopped when all is over is not cancelled any more" stretto cancel "$good.1"
ok "somebody takes the cancelled one on all the same" stretto resubmit "$good.0"
ok "it ends again" wait_ensemble "$good" 120
is "$(api GET "/v1/ensembles/$good/arrivals" | jq -c '[.arrivals[] | select(.index == 0) | [.rung, .promoted]]')" '[[1,"by hand"],[2,null]]' "at the next rung"
done_testing
