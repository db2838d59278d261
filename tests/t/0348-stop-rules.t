#!/usr/bin/env bash
# Early stopping that pauses nobody, by successive halving and by the median: bad members are ended while they run, and
# only the daemon ends them; it is killed meanwhile. An independent program decides the same from the order of arrivals.
TEST_LIMIT=${LIMIT:-600}
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

N=12 KILLS=${KILLS:-3}
RANDOM=${SEED:-7}
echo '{"adapters": {"local": {"slots": 12}}}' >"$T/config.json"
start() { start_daemon --config "$T/config.json"; }
start

spec() { # NAME CHANGES
	mkdir -p "$T/$1.go"
	jq -n --arg name "$1" --arg trial "$(realpath "$srcdir/tests/t/stop-trial.py")" --arg log "$T/$1.steps" --arg go "$T/$1.go" --argjson n $N \
		'{name: $name, width: 6, members: {command: ["python3", $trial, $log, $go], parameters: {grid: {x: [range($n)]}},
			resources: {walltime: "1h"}, checkpoint: {glob: "step-*"}},
		early_stopping: {rule: "asha-stop", metric: "loss", rungs: {min: 5, max: 45, reduction: 3}}} '"| $2" >"$T/$1.json"
}
refused() { # CHANGES POINTER WHAT
	spec wrong "$1"
	api POST /v1/ensembles "@$T/wrong.json" >"$T/reply.json"
	is "$(cat "$T/api.status") $(jq -r .pointer "$T/reply.json")" "422 $2" "$3 is refused with its place"
}
median='.early_stopping = {rule: "median", metric: "loss", min_members: 3, rungs: {min: 5, max: 45, every: 10}}'
refused '.members.command += ["{until}"]' /members/command/4 "{until} where members never pause"
refused '.early_stopping.min_members = 3' /early_stopping/min_members "a number of others that successive halving has no use for"
refused "$median | .early_stopping.rungs.reduction = 3" /early_stopping/rungs/reduction "a reduction of the median"
refused "$median | .early_stopping.rungs.every = 0" /early_stopping/rungs/every "no way to the next rung"
refused "$median | .early_stopping.rungs |= {max: 1000000}" /early_stopping/rungs "a million rungs"
refused "$median | .early_stopping.rungs |= {steps: [1, 2], every: 1}" /early_stopping/rungs/steps "rungs that are given twice"
refused "$median | .early_stopping.min_members = 0" /early_stopping/min_members "a median of nothing"

spec halving .
spec median "$median"
declare -A id last=([halving]=3 [median]=5) number=([halving]=3 [median]=3) rule=([halving]=asha-stop [median]=median)
for name in halving median; do
	id[$name]=$(submit "$T/$name.json")
done
sql() { sqlite3 -readonly "$STATE/stretto.db" ".timeout 60000" "$1"; }
arrived() { sql "SELECT count(*) FROM arrival"; }
over() { [ "$(sql "SELECT count(*) FROM ensemble WHERE id IN (${id[halving]}, ${id[median]}) AND state <> 'complete'")" = 0 ]; }
# Lets members end that have arrived at the last rung: all others run until the daemon ends them.
let_go() {
	local name i
	for name in halving median; do
		for i in $(sql "SELECT idx FROM arrival WHERE ensemble = ${id[$name]} AND rung = ${last[$name]}"); do
			touch "$T/$name.go/$i"
		done
	done
}
arrived_or_over() { let_go && { [ "$(arrived)" -ge "$1" ] || over; }; }
for ((n = 1; n <= KILLS; n++)); do
	ok "members arrive" wait_for 240 "arrived_or_over $((n * 8 - RANDOM % 4))"
	kill_daemon
	start
done
let_go_and_over() { let_go && over; }
ok "both end" wait_for 400 let_go_and_over

for name in halving median; do
	api GET "/v1/ensembles/${id[$name]}" >"$T/ensemble.json"
	api GET "/v1/ensembles/${id[$name]}/arrivals?limit=1000" | jq .arrivals >"$T/$name.arrivals"
	ok "$name: an independent program decides the same" \
		python3 "$srcdir/tests/t/stop_check.py" "$T/$name.arrivals" "${rule[$name]}" "${number[$name]}" "${last[$name]}"
	diag "$(python3 "$srcdir/tests/t/stop_check.py" "$T/$name.arrivals" "${rule[$name]}" "${number[$name]}" "${last[$name]}")"
	stopped=$(jq -c --argjson last "${last[$name]}" '[.[] | select(.promoted == null and .rung < $last) | .index] | sort' "$T/$name.arrivals")
	api GET "/v1/ensembles/${id[$name]}/members?state=stopped&limit=1000" >"$T/stopped.json"
	is "$(jq -c '[.members[].index]' "$T/stopped.json")" "$stopped" "$name: those that it had stopped are stopped"
	is "$(jq -c --argjson n $N --argjson stopped "$stopped" '[.members.succeeded + ($stopped | length) == $n, .members.stopped == ($stopped | length)]' \
		"$T/ensemble.json")" "[true,true]" "$name: and all others have succeeded"
	is "$(sql "SELECT count(*) FROM attempt WHERE ensemble = ${id[$name]}")" $N "$name: none was tried again"
	is "$(jq -c '[.members[] | select(.reason | test("^stopped early at rung [1-4], at step [0-9]+: loss was ") | not)]' "$T/stopped.json")" "[]" \
		"$name: each says why"
	is "$(jq -c '[.[] | select(.value != null and (.value - (.index * 7 % 11 / 11 + (.index * 5 % 13) / .step) | fabs > 0.001))]' \
		"$T/$name.arrivals")" "[]" "$name: the value of each arrival is that of its step"
	is "$(jq -c --argjson last "${last[$name]}" '[.[] | select(.step != (if $last == 3 then [5, 15, 45] else [5, 15, 25, 35, 45] end)[.rung - 1])]' \
		"$T/$name.arrivals")" "[]" "$name: which is the rung's"
	is "$(api GET "/v1/ensembles/${id[$name]}/rungs" | jq -c '[.rungs[] | [.arrived, .promoted, .stopped, .best.value]]')" \
		"$(jq -c --argjson last "${last[$name]}" '[range(1; $last + 1) as $r | map(select(.rung == $r)) | [length, (map(select(.promoted != null)) | length),
			(map(select(.promoted == null and .rung < $last)) | length), (map(.value | values) | min)]]' "$T/$name.arrivals")" "$name: the rungs are told"
	is "$(sql "SELECT count(*) FROM event WHERE kind = 'member.stopped' AND ensemble = ${id[$name]}")" "$(jq length <<<"$stopped")" \
		"$name: each stop is an event"
	ok "$name: stretto wait takes it for success" stretto wait "${id[$name]}"
	is "$(api_status POST "/v1/ensembles/${id[$name]}/follow-up" '{}')" 409 "$name: nothing is unfinished"
done
is "$(jq -c '[.[] | select(.index == 11) | [.rung, .value, .promoted]]' "$T/halving.arrivals")" '[[1,null,null]]' "NaN at a rung is not among the best"
stretto rungs "${id[halving]}" >"$T/table"
is "$(awk 'NR == 2 { print $1, $2, $3 }' "$T/table")" "1 5 $N" "stretto rungs has them as a table"
like "$(head -1 "$T/table")" "ran on +stopped" "in which nobody is promoted"

# Somebody takes one on: it goes on from its checkpoint, and is not stopped at that rung again.
one=$(jq '[.[] | select(.promoted == null and .rung == 1 and .index != 11)][0].index' "$T/halving.arrivals")
step=$(awk -v i="$one" '$1 == i { last = $2 } END { print last }' "$T/halving.steps")
ok "a stopped member is resubmitted" stretto resubmit "${id[halving]}.$one"
ok "it ends again" wait_for 240 let_go_and_over
api GET "/v1/ensembles/${id[halving]}/arrivals?limit=1000" | jq -c --argjson i "$one" '[.arrivals[] | select(.index == $i) | [.rung, .attempt]]' >"$T/again.json"
is "$(jq -c '.[:2]' "$T/again.json")" "[[1,1],[2,2]]" "it has arrived at the next rung"
is "$(awk -v i="$one" '$1 == i && $3 == 2 { print $2; exit }' "$T/halving.steps")" "$((step + 1))" "from its checkpoint"
done_testing
