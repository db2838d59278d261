#!/usr/bin/env bash
# The members of an ensemble in the dashboard: the grid from ten members to a million, and what is chosen in it; what is
# shown is what the API says, and what the command that the page names answers.
TEST_LIMIT=300
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/dashboard.sh
. "$srcdir/tests/t/dashboard.sh"
echo '{"adapters": {"local": {"slots": 10}}}' >config.json
start_daemon --config config.json
# 1: under way until the file go is there; 2: over, some have failed, and a parameter's name and values are hostile; 3:
# a million that wait; 4: open, without a member; 5: over, stopped early at rungs; 6: with lists and objects for
# parameters
jq -n --arg go "$T/go" '{name: "ten", width: 2, max_same_failures: 0, members: {output: "merged", artefacts: ["note"], results: "results/{i}", command: ["sh", "-c", "echo hello | tee note; echo oops >&2; test {i} -lt 4 || until test -e \($go); do sleep 0.1; done; test {i} != 3"],
	parameters: {grid: {i: [range(10)]}}, retries: 0}}' >spec.json
submit spec.json >/dev/null
# they report metrics, of which one ends in an infinity, some have no loss, and a name is hostile
cat >many <<'E'
#!/bin/sh
awk -v i="$STRETTO_MEMBER" 'BEGIN {
	printf "{\"step\": 3, \"a<b>cc\": %.6f}\n", i / 540
	for (n = 0; n < 20 && i < 500; n++)
		printf "{\"step\": %d, \"val/loss\": %s}\n", n, i == 7 && n == 19 ? "Infinity" : i * 37 % 540 + 19.5 - n
}' >>"$STRETTO_METRICS"
if test "$1" -ge 54; then echo "mesh $1 is broken" >&2; exit 3; fi
E
chmod +x many
jq -n --arg many "$T/many" --arg hostile $'</td><script>alert(4)</script> \u202eevil \u0645\u0631\u062d\u0628\u0627' '{name: "many", width: 8, max_same_failures: 0,
	members: {command: [$many, "{k}"], diverged: "ignore",
	parameters: {grid: {"<b>p</b>": [$hostile, "it'\''s", "5"], x: [0.5, 1e-7, 100], k: [range(60)]}}, retries: 0}}' >spec.json
submit spec.json >/dev/null
wait_ensemble 2 100
jq -n '{name: "million", width: 1, members: {command: ["sleep", "10000"], parameters: {method: "halton", count: 1000000, seed: 1, space: {alpha: [0, 1], beta: [-1, 1]}}}}' >spec.json
submit spec.json >/dev/null
jq -n '{name: "open", width: 1, members: {command: ["true"], parameters: {open: ["x"]}}}' >spec.json
submit spec.json >/dev/null
cat >rungs.sh <<'E'
echo "{\"step\": $2, \"loss\": 0.$1}" >>"$STRETTO_METRICS"
E
jq -n --arg program "$T/rungs.sh" '{name: "halving", width: 4, members: {command: ["sh", $program, "{x}", "{until}"], parameters: {grid: {x: [range(9)]}}},
	early_stopping: {rule: "asha", metric: "loss", rungs: {min: 10, max: 1000, reduction: 3}}}' >spec.json
submit spec.json >/dev/null
wait_ensemble 5 100
jq -n '{name: "structures", members: {command: ["true"], parameters: {grid: {net: [[64, 64], {a: [1, "x"]}], x: [1, 2]}}}}' >spec.json
submit spec.json >/dev/null
wait_ensemble 6 60
# shellcheck disable=SC2016 # for wait_for
wait_for 60 '[ "$(api GET /v1/ensembles/1 | jq -c "[.members.running, .members.failed]")" = "[2,1]" ]' || bail "nothing runs"
# shellcheck disable=SC2016 # for wait_for
wait_for 60 '[ "$(api GET /v1/ensembles/3 | jq .members.running)" = 1 ]' || bail "none of a million runs"
use_dashboard dashboard_members.py "members: no message"
for id in 1 3; do api POST "/v1/ensembles/$id/cancel" >/dev/null; done
wait_ensemble 3 60
done_testing
