#!/usr/bin/env bash
# The training page: curves of one training and of several, how samples flow, generations, the width; what is shown is
# what the API says.
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/dashboard.sh
. "$srcdir/tests/t/dashboard.sh"
echo '{"adapters": {"local": {"slots": 10}}}' >config.json
start_daemon --config config.json
cp "$srcdir/tests/t/told-rank.py" .
for factor in 1 20; do
	jq -n --arg rank "$T/told-rank.py" --arg factor "$factor" --arg t "$T" '{name: "loss-\($factor)", width: 3, members: {
			command: ["sh", "-c", "until test -e \($t)/go; do sleep 0.1; done"], parameters: {grid: {i: [range(4)]}}, retries: 0},
		training: {streams: "optional", command: ["python3", $rank, "12", $factor, ($t + "/more")], ranks: 1, retries: 1, fields: {f: {dtype: "float32", shape: [2]}}}}' >spec.json
	submit spec.json >/dev/null
done
# The daemon has taken two moments of the second generation that differ, whenever it looks.
for id in 1 2; do
	wait_for 60 "[ \"\$(api GET /v1/trainings/$id/history | jq -c '.moments[-1] | [.generation, .batches]')\" = '[2,180]' ]" || bail "training $id does not get on"
done
touch more
# shellcheck disable=SC2016 # for wait_for
wait_for 60 '[ "$(api GET /v1/ensembles | jq -c "[.ensembles[].training | [.generation, .batches]]")" = "[[2,360],[2,360]]" ]' ||
	bail "the trainings do not get on: $(api GET /v1/ensembles | jq -c '.ensembles[] | [.state, .reason, .training.state, .training.reason, .training.generation, .training.batches]')"
use_dashboard dashboard_training.py "reader: no message"
done_testing
