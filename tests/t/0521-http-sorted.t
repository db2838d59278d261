#!/usr/bin/env bash
# Ensembles are listed sorted by what they are, how far they are, how fast they go, and the metrics of their trainings,
# page by page, and are found by a part of their name.
TEST_LIMIT=180
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh"

echo '{"adapters": {"local": {"slots": 40}}}' >config.json
start_daemon --config config.json
cp "$srcdir/tests/t/told-rank.py" .
# make NAME MEMBERS-THAT-GO-ON FACTOR: 8 members, of which the first few wait for a file; a training whose losses have
# that factor, or none
make() {
	jq -n --arg rank "$T/told-rank.py" --arg name "$1" --arg factor "$3" --arg go "$T/go" --argjson slow "$2" '{name: $name, width: 8,
		members: {command: ["sh", "-c", "test {i} -ge \($slow) || until test -e \($go); do sleep 0.1; done"],
			parameters: {grid: {i: [range(8)]}}, retries: 0}} + if $factor == "" then {} else
		{training: {streams: "optional", command: ["python3", $rank, "3", $factor], ranks: 1, retries: 1, fields: {f: {dtype: "float32", shape: [2]}}}} end' >spec.json
	submit spec.json >>ids
}
make beta 5 3
make Alpha 2 0.5
make "gamma, ‮delta" 0 ""
make alpha-2 8 7
make "50% done_" 1 ""
make beta 1 "" # of two with a rate none that is older has more successes, so that their order by rate stays the same
is "$(xargs <ids)" "1 2 3 4 5 6" "six ensembles"
wait_ensemble 3 60
# shellcheck disable=SC2016 # for wait_for
wait_for 90 '[ "$(api GET /v1/ensembles | jq -c "[.ensembles[] | [.id, .members.succeeded, .training.batches, .training.generation]]")" = \
	"[[6,7,null,null],[5,7,null,null],[4,0,90,2],[3,8,null,null],[2,6,90,2],[1,3,90,2]]" ]' ||
	bail "they do not get on: $(api GET /v1/ensembles | jq -c '.ensembles[] | [.id, .reason, .members, .training.batches, .training.generation]')"

# sorted SIZE QUERY...: the ids, page by page
sorted() {
	local args=() size=$1 cursor= word
	shift
	for word; do args+=(--data-urlencode "$word"); done
	for _ in {1..20}; do
		curl -s -m 300 -G --unix-socket "$SOCKET" http://stretto/v1/ensembles -d limit="$size" "${args[@]}" \
			${cursor:+--data-urlencode "cursor=$cursor"} >page
		jq -r 'if .ensembles then .ensembles[].id else .code end' page
		cursor=$(jq -r '.next // ""' page)
		[ -n "$cursor" ] || return 0
	done
	echo "after 20 pages the list still goes on"
}
# lists IDS NAME QUERY...: the list is the same, whatever the size of its pages
lists() {
	local wanted=$1 name=$2
	shift 2
	is "$(sorted 100 "$@" | xargs)|$(sorted 1 "$@" | xargs)|$(sorted 4 "$@" | xargs)" "$wanted|$wanted|$wanted" "$name"
}
lists "1 2 3 4 5 6" "by age" sort=created
lists "6 5 4 3 2 1" "the newest first" sort=created order=desc
lists "5 2 4 1 6 3" "by name" sort=name order=asc
lists "3 6 1 4 2 5" "by name, from the end" sort=name order=desc
lists "3 1 2 4 5 6" "by state" sort=state
lists "3 6 5 2 1 4" "by progress" sort=progress order=desc
lists "4 1 2 5 6 3" "from the least progress on" sort=progress
lists "2 1 4 6 5 3" "by the last value of a metric; those without it come last" sort=last:train_loss
lists "4 1 2 6 5 3" "in either order" sort=last:train_loss order=desc
lists "2 1 4 6 5 3" "by its least value" sort=min:validation_loss
lists "4 1 2 6 5 3" "by its greatest" sort=max:validation_loss order=desc
lists "4 2" "with those that a filter lets through" sort=max:validation_loss order=desc name=ALPHA
lists "6 1 4 2" "in a state" sort=name state=running order=desc name=a
lists "5" "a sign of patterns is a letter like any other" "name=0% d"
lists "5" "as is another" name=e_ state=running
lists "3" "names may hold anything" "name=, ‮d"
lists "" "none is called so" name=omega

api GET /v1/ensembles >all.json
rated() { jq -r "[.ensembles | sort_by(.id)[] | select(.rate $1 0) | .id] | join(\" \")" all.json; }
is "$(sorted 100 sort=rate | sort -n | xargs)" "1 2 3 4 5 6" "by rate all are there"
is "$(sorted 2 sort=rate order=desc | head -n 4 | sort -n | xargs)|$(sorted 2 sort=rate | tail -n 2 | xargs)" "$(rated ">")|4 3" \
	"first those with a rate, then the others"
by_rate() { curl -s -m 300 --unix-socket "$SOCKET" "http://stretto/v1/ensembles?sort=rate&order=$1" | jq -c '[.ensembles[].rate | select(. > 0)]'; }
ok "the greatest first" jq -e '. == (sort | reverse)' <<<"$(by_rate desc)"
ok "or the least" jq -e '. == sort' <<<"$(by_rate asc)"

# Lists are sorted by what the points say.
for id in 1 2 4; do
	training=$(api GET "/v1/ensembles/$id" | jq .training.id)
	is "$(api GET "/v1/trainings/$training" | jq -c "[.metrics.train_loss, .metric_ranges.train_loss.min, .metric_ranges.train_loss.max]")" \
		"$(api GET "/v1/trainings/$training/points?name=train_loss&limit=10000" | jq -c '[.points[-1].value, ([.points[].value | values] | min, max)]')" \
		"the last, the least and the greatest value of training $training"
done
is "$(sorted 9 sort=rate cursor=1:-3 | wc -l)|$(sorted 9 sort=rate cursor=1:1e300 | xargs)" "6|4 3" "a cursor of nowhere finds the beginning or the end"
refuses() {
	is "$(curl -s -m 300 -G --unix-socket "$SOCKET" http://stretto/v1/ensembles "${@:2}" | jq -r .code)" query_wrong_value "$1 is refused"
}
for wrong in age Name min: min loss :loss "name,state"; do refuses "sort=$wrong" --data-urlencode "sort=$wrong"; done
refuses "another order" -d sort=name -d order=up
refuses "an order of nothing" -d order=asc
refuses "a name that none can have" -d name="$(printf '%0256d' 0)"
for wrong in x 0 1:x 1: :1 -1:1 1:nan 1:inf 99999999999999999999 "1:1 "; do refuses "the cursor $wrong" -d sort=progress --data-urlencode "cursor=$wrong"; done
touch go
for id in 1 2 4 5 6; do wait_ensemble $id 60; done
lists "1 2 3 4 5 6" "in the end all are as far" sort=progress
done_testing
