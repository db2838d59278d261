#!/usr/bin/env bash
# A training over HTTP: counters, metric series, output. The rank is a script that keeps to docs/run-directory.md.
. "${srcdir:-.}/tests/t/lib.sh"

cat >"$T/rank" <<'X'
#!/usr/bin/env bash
set -eu
cd "$STRETTO_TRAINING_DIR"
whole() { cat >"$1.tmp" && mv "$1.tmp" "$1"; }
status() {
	echo "{\"version\": 1, \"generation\": 1, \"rank\": 0, \"time\": 1769860000.0, \"state\": \"$1\", \"received\": 110,
		\"unique\": 100, \"duplicates\": 10, \"rejected\": 0, \"drawn\": 100, \"batches\": 30, \"repeats\": 5,
		\"population\": 0, \"unseen\": 0, \"samples_per_second\": 47.5, \"finalized\": 2}"
}
echo "rank $STRETTO_RANK"
echo "warning" >&2
for i in $(seq 0 1199); do
	echo "{\"name\": \"train_loss\", \"step\": $i, \"time\": 1769860000.5, \"value\": $i.25}"
done >metrics-rank0.jsonl
echo '{"name": "validation_loss", "step": 7, "time": 1769860040.0, "value": null}' >>metrics-rank0.jsonl
status receiving | whole status-rank0.json
echo '{"version": 1, "generation": 1, "rank": 0, "ranks": 1, "host": "here", "endpoints": ["ipc:///nowhere"]}' |
	whole ../stream/g1-rank0.json
until [ -e reception.json ]; do sleep 0.05; done
status done | whole done-rank0.json
X
chmod +x "$T/rank"
jq -n --arg rank "$T/rank" '{name: "tr", members: {command: ["sh", "-c", "until [ -e \($rank).go ]; do sleep 0.05; done"],
		parameters: {grid: {x: [1, 2]}}}, width: 2,
	training: {streams: "optional", command: [$rank], ranks: 1, fields: {f: {dtype: "float32", shape: [2]}}}}' >"$T/spec.json"
start_daemon
id=$(submit "$T/spec.json")

# Figures for Prometheus, while it is under way
wait_for 30 'api GET /metrics | grep -q "^stretto_training_batches_total"'
api GET /metrics >"$T/figures"
is "$(sed -n 's/^stretto_training_\([a-z_]*\){ensemble="1",training="1",rank="0"} /\1 /p' "$T/figures" | sort | tr '\n' ' ')" \
	"batches_total 30 buffer_samples 0 buffer_unseen_samples 0 frames_rejected_total 0 members_finalized 2 repeated_draws_total 5 \
samples_drawn_total 100 samples_duplicate_total 10 samples_received_total 110 samples_unique_total 100 \
status_timestamp_seconds 1769860000 " "Prometheus is told what a rank tells"
is "$(grep -E '^stretto_training_(ranks|restarts)\{' "$T/figures" | tr '\n' ' ')" \
	'stretto_training_ranks{ensemble="1",training="1"} 1 stretto_training_restarts{ensemble="1",training="1"} 0 ' "and of its training"
awk '/^# TYPE/ { if ($3 in type) print "twice:", $3; type[$3] = $4; last = $3; if (($4 == "counter") != ($3 ~ /_total$/)) print "name:", $3; next }
	/^# HELP/ { if (NF < 4) print "no help:", $3; next }
	{ name = $1; sub(/\{.*/, "", name); if (type[last] == "histogram") sub(/_(bucket|sum|count)$/, "", name)
	  if (name != last) print "not below its type:", $1 }' "$T/figures" >"$T/wrong"
is "$(cat "$T/wrong")" "" "each figure stands below its type, and those that only grow are called _total"
sed -n 's/^# TYPE \([^ ]*\).*/\1/p' "$T/figures" | while read -r name; do
	grep -q -w "$name" "$srcdir/docs/man/strettod.8" || echo "$name"
done >"$T/missing"
is "$(cat "$T/missing")" "" "strettod(8) has all of them"
: >"$T/rank.go"
ok "it ends" wait_ensemble "$id" 60
training=$(jq -r .training.id "$T/ensemble.json")
v1=/v1/trainings/$training

is "$(jq -c '.training | [.state, .ranks, .generation, .received, .unique, .duplicates, .drawn, .batches, .samples_per_second,
	.metrics.train_loss, .metrics.validation_loss]' "$T/ensemble.json")" \
	'["done",1,1,110,100,10,100,30,47.5,1199.25,null]' "an ensemble shows its training"
is "$(api GET "$v1" | jq $JQ_SORTS .)" "$(jq $JQ_SORTS .training "$T/ensemble.json")" "the same as the training itself"
is "$(jq -r '.ensemble, .dir' <(api GET "$v1"))" "$id
$(jq -r .dir "$T/ensemble.json")/training/g1" "it names its ensemble and its directory"

api GET "$v1/metrics?buckets=10000" >"$T/all"
is "$(jq -c '.series.train_loss | [.width, (.buckets | length)], (.buckets[0, -1] | [.step, .last_step, .time, .count, .first, .last])' "$T/all" |
	tr '\n' ' ')" '[1,1200] [0,0,"2026-01-31T11:46:40.500Z",1,0.25,0.25] [1199,1199,"2026-01-31T11:46:40.500Z",1,1199.25,1199.25] ' \
	"every point, where there are as many buckets"
is "$(jq -c '.series.validation_loss.buckets[] | [.step, .count, .not_finite, .first, .min]' "$T/all")" '[7,1,1,null,null]' "what is no number is null, and counted"
for buckets in 1 2 3 499 500 599 600 1199 1200; do
	api GET "$v1/metrics?name=train_loss&buckets=$buckets" >"$T/some"
	is "$(jq -c --argjson n "$buckets" '[(.series | keys), (.series.train_loss | (.buckets | length <= $n and length > $n / 3),
		([.buckets[].count] | add), .buckets[0].first, .buckets[-1].last, all(.buckets[]; .min == .step + 0.25 and .max == .last_step + 0.25))]' "$T/some")" \
		'[["train_loss"],true,1200,0.25,1199.25,true]' "$buckets buckets at most, of all points"
done
is "$(api GET "$v1/metrics?name=train_loss&from=100&to=149&buckets=10" | jq -c '[.series.train_loss | .width, (.buckets | length), .buckets[0].first, .buckets[-1].last]')" \
	'[5,10,100.25,149.25]' "a part of the steps"
is "$(api GET "$v1/metrics?name=train_loss&from=5000" | jq -c '.series.train_loss.buckets')" '[]' "where there is nothing"
is "$(api GET "$v1/metrics?name=none" | jq -c .series)" '{}' "a series that is not there"
for query in buckets=0 buckets=10001 points=2 from=-1 to=x "from=2&to=1"; do
	like "$(api_status GET "$v1/metrics?$query") $(jq -r .code "$T/api.body")" "400 query_(wrong_value|unknown_parameter)" "$query"
done
is "$(api_status GET "$v1/metrics?name=none&cursor=a") $(jq -r .code "$T/api.body")" "400 query_wrong_value" "one series has no pages"

history() { api GET "$v1/history$1" | jq -c "$2"; }
is "$(history "" '.moments[-1] | [.generation, .ranks, .received, .unique, .drawn, .repeats, .batches, .population, .capacity, .room_wait_seconds]')" \
	'[1,1,110,100,100,5,30,0,0,0]' "the history ends with what was said last"
is "$(api_status GET "$v1/history?moments=0") $(api_status GET /v1/trainings/4711/history)" "400 404" "bad requests for it"

# More than a page: of series, and of points; and a long history, of two generations
stop_daemon
sqlite3 "$STATE/stretto.db" "WITH RECURSIVE s (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM s WHERE i < 29999)
	INSERT INTO metric (training, name, step, rank, time, value) SELECT $training, 'long', 2 * i, 0, 1769860000500, i FROM s
	UNION ALL SELECT $training, printf('m%02d', n.i), s.i, 0, 1769860000500, n.i FROM s n, s WHERE n.i < 12 AND s.i < 3000
	UNION ALL SELECT $training, 'spiky', s.i, r.i, 1769860000500, CASE WHEN s.i = 12345 AND r.i = 1 THEN 1e9 WHEN s.i = 20001 AND r.i = 0 THEN NULL
		WHEN s.i = 20002 AND r.i = 1 THEN 9e999 ELSE 0.5 END FROM s, s r WHERE r.i < 2"
sqlite3 "$STATE/stretto.db" "WITH RECURSIVE s (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM s WHERE i < 4999)
	INSERT INTO moment SELECT $training, 1000000 * (i + 1), 1 + (i >= 3217), 2, i, i, i, 0, 0, 0, 0, 0, 0.5, 0.5 FROM s;
	DELETE FROM moment WHERE time > 5000000000"
start_daemon
is "$(history "?moments=10000" '[(.moments | length), .moments[0].received, .moments[-1].received]')" '[5000,0,4999]' "all of a long history"
is "$(history "?moments=50" '[(.moments | length > 45 and length < 55), .moments[0].received, .moments[-1].received,
	([.moments[] | select(.generation == 2)][0].received), ([.moments[].received] | . == sort)]')" '[true,0,4999,3217,true]' "or as much as is wanted of it"
for query in "limit=5" "buckets=500" "buckets=10000" "buckets=2&limit=1000"; do
	pages=0 names='' path="$v1/metrics?$query" next=first
	while [ "$next" != null ]; do
		api GET "$path" >"$T/page"
		names="$names $(jq -r '.series | keys | join(" ")' "$T/page")" next=$(jq -r .next "$T/page") pages=$((pages + 1))
		path="$v1/metrics?$query&cursor=$next"
		[ $pages -lt 20 ] || break
	done
	is "$names" " long m00 m01 m02 m03 m04 m05 m06 m07 m08 m09 m10 m11 spiky train_loss validation_loss" "$query: every series is there once"
	ok "$query: on more than one page" test $pages -gt 1
done
is "$(api GET "$v1/metrics?name=long&buckets=60" | jq -c '[.next, (.series.long | [.width, (.buckets | length), ([.buckets[].count] | add), .buckets[1].step,
	.buckets[1].first, .buckets[-1].last])]')" '[null,[1000,60,30000,1000,500,29999]]' "buckets of many points"
spiky() { api GET "$v1/metrics?name=spiky&$1" | jq -c ".series.spiky.buckets[] | select($2)"; }
is "$(spiky buckets=100 '.max > 1' | jq -c '[.step, .last_step, .count, .min, .max]')" '[12300,12599,600,0.5,1000000000]' "a spike of one rank in 60,000 points is seen"
is "$(spiky "from=12300&to=12599&buckets=300" '.max > 1' | jq -c '[.step, .count, .first, .last]')" '[12345,2,0.5,1000000000]' "and found by looking closer"
is "$(spiky buckets=100 '.not_finite > 0' | jq -c '[.step, .count, .not_finite, .min, .max]')" '[19800,600,2,0.5,0.5]' "so are NaN and infinity, which spoil no other figure"

is "$(api GET "$v1/stdout")" "rank 0" "a rank's stdout"
is "$(api GET "$v1/stderr?rank=0")" "warning" "a rank's stderr"
is "$(api_status GET "$v1/stdout?rank=1") $(jq -r .code "$T/api.body")" "404 output_not_found" "a rank that is not there"
is "$(api GET "$v1/ranks" | jq -c '.training, (.ranks[] | [.rank, .ready, .host, .state, .time, .received, .unique, .drawn, .repeats,
	.capacity, .samples_per_second, .room_wait_seconds, .draws, .rejected_by])')" "$training
[0,true,\"here\",\"done\",\"2026-01-31T11:46:40.000Z\",110,100,100,5,0,47.5,0,[],{}]" "what a rank says of itself"
G=$(api GET "$v1" | jq -r .dir)
echo '{"state": "happy", "received": -3, "unique": "many", "draws": [7, null, {}], "rejected_by": {"short": 2, "key": "x"},
	"samples_per_second": [], "time": 1e300}' >"$G/done-rank0.json"
is "$(api GET "$v1/ranks" | jq -c '.ranks[] | [.state, .received, .unique, .draws, .rejected_by, .time]')" \
	'[null,0,0,[7,0,0],{"short":2},null]' "only what can be is passed on"
rm "$G/done-rank0.json" "$G/status-rank0.json"
is "$(api GET "$v1/ranks" | jq -c '.ranks[] | [.ready, .state, .received]')" '[true,null,0]' "where nothing is told, that is told"
is "$(api_status GET /v1/trainings/99/ranks) $(jq -r .code "$T/api.body")" "404 training_not_found" "no such training"
like "$(api GET /metrics)" 'stretto_ensembles\{state="complete"\} 1' "Prometheus counts it"
is "$(api GET /metrics | grep -c '^stretto_training_.*{')" 0 "and tells nothing more of its training"

# A rank's output is followed to the end of that rank, and not of those that come after it.
cat >"$T/again" <<'X'
#!/usr/bin/env bash
g=${STRETTO_TRAINING_DIR##*/}
echo "in $g"
echo "{\"version\": 1, \"generation\": ${g#g}, \"rank\": 0, \"ranks\": 1, \"host\": \"here\", \"endpoints\": [\"ipc:///nowhere\"]}" >"$0.tmp" &&
	mv "$0.tmp" "$STRETTO_TRAINING_DIR/../stream/$g-rank0.json"
until [ -e "$0.$g" ]; do sleep 0.05; done
exit 1
X
chmod +x "$T/again"
jq --arg rank "$T/again" '.name = "again" | .members.command = ["sleep", "600"] | .training.command = [$rank]' "$T/spec.json" >"$T/again.json"
id=$(submit "$T/again.json")
wait_for 30 '[ "$(api GET "/v1/ensembles/$id" | jq -r .training.state)" = running ]' || bail "the training does not run"
v1=/v1/trainings/$(api GET "/v1/ensembles/$id" | jq .training.id)
curl -s -N -m 300 --unix-socket "$SOCKET" "http://stretto$v1/stdout?follow=1" >"$T/followed" &
follow=$!
ok "a rank's output is followed" wait_for 20 'grep -q "in g1" "$T/followed"'
: >"$T/again.g1"
ok "the rank fails, and the training begins anew" wait_for 30 '[ "$(api GET "$v1/stdout")" = "in g2" ]'
ok "who followed it is told the end" wait_for 20 '! kill -0 $follow'
kill $follow 2>/dev/null
rc=0
wait $follow || rc=$?
is "$rc $(cat "$T/followed")" "0 in g1" "with what that rank had printed"
ok "while the next one goes on" wait_for 20 '[ "$(api GET "$v1" | jq -c "[.state, .generation]")" = "[\"running\",2]" ]'
api POST "/v1/ensembles/$id/cancel" >/dev/null
ok "the training is cancelled" wait_for 30 '[ "$(api GET "$v1" | jq -r .state)" = cancelled ]'

done_testing
