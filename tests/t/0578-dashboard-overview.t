#!/usr/bin/env bash
# The overview of many ensembles: found by name and state, sorted by what they are and by the metrics of their
# trainings, as cards and as a table, some of them compared; what is shown is what the API says.
TEST_LIMIT=240 MANY_RUNNERS=1
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/dashboard.sh
. "$srcdir/tests/t/dashboard.sh"
echo '{"adapters": {"local": {"slots": 60}}}' >config.json
start_daemon --config config.json
cp "$srcdir/tests/t/told-rank.py" .
hostile=$'<b>bold</b> \u202eevil\u202c <script>alert(1)</script> \u0645\u0631\u062d\u0628\u0627 "&amp;'
# make NAME COMMAND [TRAINING-FACTOR]: an ensemble of four members; those with a training go on until the file go is
# there
make() {
	jq -n --arg rank "$T/told-rank.py" --arg name "$1" --arg command "$2" --arg factor "${3:-}" '{name: $name, width: 4,
		members: {command: ["sh", "-c", $command], parameters: {grid: {i: [range(4)]}}, retries: 0}} + if $factor == "" then {} else
		{training: {streams: "optional", command: ["python3", $rank, "4", $factor], ranks: 1, retries: 1, fields: {f: {dtype: "float32", shape: [2]}}}} end' >spec.json
	submit spec.json >>ids
}
for i in {1..5}; do make "loss-run-$i" "test {i} = 0 || until test -e $T/go; do sleep 0.1; done" $((i * i % 7 + 1)); done
make "$hostile" 'exit 3'
for i in 1 2; do make "paused-$i" 'exec sleep 10000' && api POST "/v1/ensembles/$(tail -n 1 ids)/pause" '{}' >/dev/null; done
make cancelled 'exec sleep 10000' && api POST "/v1/ensembles/$(tail -n 1 ids)/cancel" '{}' >/dev/null
for i in {10..57}; do make "Sweep $i, α = 0.$i" true; done
is "$(wc -l <ids)" 57 "57 ensembles"
# shellcheck disable=SC2016 # for wait_for
wait_for 90 '[ "$(api GET "/v1/ensembles?state=running" | jq -c "[.ensembles[] | [.members.succeeded, .training.batches, .training.generation]] | unique")" = "[[1,120,2]]" ]' ||
	bail "they do not get on: $(api GET /v1/ensembles?state=running | jq -c '.ensembles[] | [.id, .reason, .members, .training.batches]')"
use_dashboard dashboard_overview.py "operator: no message" "$hostile"
touch go
for id in {1..5}; do wait_ensemble "$id" 60; done
for id in 7 8; do api POST "/v1/ensembles/$id/cancel" '{}' >/dev/null && wait_ensemble "$id" 60; done
done_testing
