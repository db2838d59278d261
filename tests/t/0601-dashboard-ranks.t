#!/usr/bin/env bash
# The training page: another number of ranks is asked for, generations end for different reasons, a checkpoint is
# damaged; what is shown is what the API says.
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/dashboard.sh
. "$srcdir/tests/t/dashboard.sh"
echo '{"adapters": {"local": {"slots": 10}}}' >config.json
start_daemon --config config.json
cp "$srcdir/tests/t/scripted-rank.py" .
# the first generation ends because two ranks are asked for, the second because a rank fails, which finds the newest
# checkpoint damaged
printf '%s\n' "metric loss 0 10" "save g1-s10 1 -" "metric loss 11 20" "until $T/leave" "save g1-s20 2 -" unfinished >do1
printf '%s\n' "metric loss 21 40" "until $T/die" "drop g1-s20" die >do2
printf '%s\n' "metric loss 11 15" "until $STATE/run/e1/training/g3/reception.json" "done" >do3
jq -n --arg t "$T" '{name: "ranks", width: 2, members: {command: ["sh", "-c", "until test -e \($t)/go; do sleep 0.1; done"],
		parameters: {grid: {i: [range(2)]}}},
	training: {streams: "optional", command: ["python3", ($t + "/scripted-rank.py"), ($t + "/do")], ranks: 1, retries: 3, checkpoint: {keep: 2},
		fields: {f: {dtype: "float32", shape: [2]}}}}' >spec.json
submit spec.json >/dev/null
wait_for 60 '[ "$(api GET /v1/ensembles/1 | jq -c "[.training | .state, .checkpoint.name, .metrics.loss]")" = "[\"running\",\"g1-s10\",$(jq -n 1/21)]" ]' ||
	bail "the training does not get on: $(api GET /v1/ensembles/1)"
use_dashboard dashboard_ranks.py "reader: no message"
done_testing
