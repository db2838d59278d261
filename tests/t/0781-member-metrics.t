#!/usr/bin/env bash
# Metrics of members: every way to report them, what is kept and told of them, what success is judged by, and that a
# daemon that is killed at any time loses and doubles no point.
. "${srcdir:-.}/tests/t/lib.sh"

cat >"$T/member" <<'X'
#!/usr/bin/env bash
set -eu
case $STRETTO_MEMBER in
0)	for i in 0 1 2 3; do echo "{\"step\": $i, \"loss\": $((8 - i)).5, \"accuracy\": 0.$((6 + i)), \"time\": $((1769860000 + i))}"; done >>"$STRETTO_METRICS"
	echo '{"progress": 0.25}' >>"$STRETTO_METRICS"
	printf '{"progress": 1}' >>"$STRETTO_METRICS" ;; # without a newline
1)	printf 'epoch,time,loss,accuracy\n0,0.5,3,0.1\n1,1.5,,0.9\n2,2.5,-inf,0.8\n3,3.5,1,0.8\n' >log.csv ;;
2)	for v in 3 2 NaN; do echo "{\"name\": \"loss\", \"value\": $v}"; done >>"$STRETTO_METRICS"
	echo '{"accuracy": 0.99}' >>"$STRETTO_METRICS" ;;
3)	echo '{"accuracy": 0.5, "loss": 2}' >>"$STRETTO_METRICS" ;;
4)	exit 0 ;;
5)	{ echo 'no json'; echo '{"loss": }'; head -c 100000 /dev/zero | tr '\0' x; echo; echo '{"loss": 0.25, "accuracy": 0.8}'
	  printf '{"": 1}\n{"\\u0000": 1}\n{"a\\u0007b": 2, "loss": 3}\n'; } >>"$STRETTO_METRICS" ;;
esac
X
chmod +x "$T/member"
jq -n --arg m "$T/member" '{name: "metrics", members: {command: [$m], parameters: {grid: {x: [0, 1, 2, 3, 4, 5]}}, retries: 1,
	metrics: {file: "log.csv"}, success: {metric: "accuracy", at_least: 0.74}}, width: 6}' >"$T/spec.json"
start_daemon
id=$(submit "$T/spec.json")
ok "it ends" wait_ensemble "$id" 60
v1=/v1/ensembles/$id/members
api GET "$v1?metrics=loss,accuracy" >"$T/members"
is "$(jq -c '.members[] | [.index, .state, .attempts, .reason]' "$T/members")" '[0,"succeeded",1,null]
[1,"succeeded",1,null]
[2,"failed",1,"loss was NaN at its last step, 2"]
[3,"failed",1,"accuracy was 0.5 at last, below 0.74"]
[4,"failed",2,"it reported no metric \"accuracy\""]
[5,"succeeded",1,null]' "exit status 0 is success only with the metric; what would end in the same way is not tried again"
is "$(jq -c '.members[] | [(.metrics | .loss, .accuracy | (.last, .min, .max, .area, .points, .not_finite)), .progress]' "$T/members")" \
	'[5.5,5.5,8.5,21,4,0,0.9,0.6,0.9,2.25,4,0,1]
[1,1,3,6,3,1,0.8,0.1,0.9,2.1500000000000004,4,0,null]
[null,2,3,0,3,1,0.99,0.99,0.99,0,1,0,null]
[2,2,2,0,1,0,0.5,0.5,0.5,0,1,0,null]
[null,null,null,null,null,null,null,null,null,null,null,null,null]
[0.25,0.25,0.25,0,1,0,0.8,0.8,0.8,0,1,0,null]' "figures of each series are told in lists"
is "$(api GET "$v1?sort=metric:loss" | jq -c '[.members[].index]')" "[5,1,3,0,2,4]" "members are sorted by the last value, NaN and none last"
is "$(api GET "$v1?sort=metric:loss&order=desc&limit=4" | jq -c '[.members[].index]')" "[0,3,1,5]" "and the other way round"
is "$(api GET "$v1/5" | jq -r '.attempts[0].notice')" \
	"6 lines of metrics.jsonl are no metrics, the first at line 1: it is no JSON object" "what is no metric is told once"
is "$(api GET "/v1/ensembles/$id/failures" | jq -c '[.failures[] | [.outcome, .members]] | sort')" \
	'[["diverged",1],["failed",1],["failed",1]]' "diverged is a cause of its own"
is "$(api GET "$v1/1/metrics?name=loss" | jq -c '[.series.loss.buckets[] | [.step, .last, .not_finite, .attempt]]')" \
	'[[0,3,0,1],[2,"-Infinity",1,1],[3,1,0,1]]' "a series has its points"

# The command
is "$(stretto metrics "$id.0" --csv loss)" "name,step,attempt,time,value,count,min,max
loss,0,1,2026-01-31T11:46:40.000Z,8.5,1,8.5,8.5
loss,1,1,2026-01-31T11:46:41.000Z,7.5,1,7.5,7.5
loss,2,1,2026-01-31T11:46:42.000Z,6.5,1,6.5,6.5
loss,3,1,2026-01-31T11:46:43.000Z,5.5,1,5.5,5.5" "stretto metrics exports the points of a member"
is "$(stretto metrics "$id.1" --csv loss | cut -d , -f 2,5; stretto metrics "$id.2" --csv loss | tail -n 1 | cut -d , -f 2,5)" "step,value
0,3
2,-Infinity
3,1
2,NaN" "NaN and infinities are told apart"
is "$(stretto members "$id" --sort loss | awk '{ print $1, $4, $5 }')" "index done loss
5 - 0.25
1 - 1
3 - 2
0 100% 5.5
2 - not
4 - -" "stretto members sorts by a metric and shows it"
is "$(stretto metrics "$id.4" loss 2>&1)" "stretto: member $id.4 has reported no metric \"loss\" (no_metric)" "a metric that is not there is told"

like "$(stretto status "$id")" "diverged   1
.*attempt 1 of $id.2 diverged: loss was NaN" "so it is in the status"

# By the library; and one that has diverged is ended at once
cat >"$T/py" <<'X'
#!/usr/bin/env python3
import time
import stretto
for step in range(3):
    stretto.metric("lö", step, step / 2)
stretto.progress(1, 2)
stretto.metric("lö", 3, float("nan"))
time.sleep(100000)
X
chmod +x "$T/py"
jq -n --arg c "$builddir/tests/t/metric-member" --arg p "$T/py" '{name: "library", members: {command: ["sh", "-c", "exec {program}"],
	parameters: {grid: {program: [$c, $p]}}, diverged: "end"}, width: 2}' >"$T/spec.json"
id=$(submit "$T/spec.json")
ok "what would run for ever ends" wait_ensemble "$id" 60
is "$(api GET "/v1/ensembles/$id/members?metrics=*" | jq -c '.members[] | [.state, .attempts, .progress, (.metrics | del(.progress) | to_entries[] | [.key, .value.points, .value.last])]')" \
	'["failed",1,1,["a \"loss\"",4,0.25]]
["failed",1,0.5,["lö",4,null]]' "programs report by the library, and end where they have diverged"
is "$(api GET "/v1/ensembles/$id/members/1" | jq -c '.attempts[0] | [.outcome, .reason]')" \
	'["diverged","lö was NaN at its last step, 3"]' "the attempt tells why"

# Event files as TensorBoard has them: while they grow, of several writers, with scalars of both kinds; damage is told
cat >"$T/board" <<X
#!/usr/bin/env -S python3 -B
import os, sys, time
sys.path.insert(0, "$(cd "$srcdir/tests/t" && pwd)")
from event_writer import SummaryWriter
training, other = SummaryWriter("runs"), SummaryWriter("runs/validation")
training.add_text("note", "no scalar", 0)
for step in range(3):
    training.add_scalar("loss/train", 4 - step, step)
    other.add_scalar("accuracy", step / 4, step, new_style=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
again = SummaryWriter("runs")
again.add_scalar("loss/train", 1.5, 2)
again.add_scalar("loss/train", float("nan") if sys.argv[2] == "bad" else 0.5, 3)
again.file.write(b"no record at all")
X
chmod +x "$T/board"
jq -n --arg c "$T/board" --arg go "$T/seen" '{name: "board", members: {command: [$c, $go, "{how}"], parameters: {grid: {how: ["good", "bad"]}}, retries: 0,
	metrics: {file: "runs", format: "tensorboard"}, success: {metric: "loss/train", at_most: 0.5}}, width: 2}' >"$T/spec.json"
id=$(submit "$T/spec.json")
points() { api GET "/v1/ensembles/$id/members/$1" | jq ".metrics.\"$2\".points // 0"; }
ok "points of event files come while they grow" wait_for 60 '[ "$(points 0 loss/train) $(points 1 validation/accuracy)" = "3 3" ]'
: >"$T/seen"
ok "it ends" wait_ensemble "$id" 60
is "$(api GET "/v1/ensembles/$id/members?metrics=*" | jq -c '.members[] | [.state, (.metrics | to_entries[] | [.key, .value.points, .value.last, .value.min])]')" \
	'["succeeded",["loss/train",4,0.5,0.5],["validation/accuracy",3,0.5,0]]
["failed",["loss/train",4,null,1.5],["validation/accuracy",3,0.5,0]]' "each tag is a metric, and what a later file says again replaces what was there"
is "$(api GET "/v1/ensembles/$id/members/1" | jq -r '.attempts[0] | "\(.outcome): \(.reason)"')" "diverged: loss/train was NaN at its last step, 3" "they decide as others do"
like "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0].notice')" '^1 record of event files cannot be read, the first at byte [0-9]+ of events' "damage is told"
refused() { is "$(api_status POST /v1/ensembles "$(jq -c "$1" "$T/spec.json")") $(jq -r '"\(.code) \(.pointer)"' "$T/api.body")" "422 $2" "refused: $1"; }
refused '.members.metrics.format = "wandb"' "spec_impossible_value /members/metrics/format"
refused 'del(.members.metrics.file)' "spec_missing_key /members/metrics/file"
refused '.members.metrics.file = "../runs"' "spec_impossible_value /members/metrics/file"

# A logger of CSV that writes its file anew, with another header, at the first validation; and a metric that is spelt wrong
cat >"$T/lightning" <<'X'
#!/usr/bin/env python3
import csv, os, sys, time
rows, names = [], []
def log(**values):
    rows.append(values)
    new = [name for name in values if name not in names]
    names.extend(sorted(new))
    with open("metrics.csv", "w" if new else "a", newline="") as file:
        writer = csv.DictWriter(file, names)
        if new:
            writer.writeheader()
        writer.writerows(rows if new else [values])
def wait_for(name):
    while not os.path.exists(f"{sys.argv[1]}.{name}"):
        time.sleep(0.05)
for step in range(12):
    log(epoch=0, step=step, loss=8 - step / 2)
wait_for("train")
log(epoch=0, step=11, val_loss=0.5, accuracy=0.9)
log(epoch=1, step=12, loss=1.5)
wait_for("end")
X
chmod +x "$T/lightning"
jq -n --arg c "$T/lightning" --arg go "$T/go-on" '{name: "lightning", members: {command: [$c, $go], retries: 0, metrics: {file: "metrics.csv"},
	success: {metric: "val_loss", at_most: 0.5}}}' >"$T/spec.json"
id=$(submit "$T/spec.json")
at() { api GET "/v1/ensembles/$id/members/0" | jq -c "$1"; }
ok "a metric that success needs and that has not come is told while it runs" wait_for 60 \
	'[[ $(at .attempts[0].notice) == *"not reported \\\"val_loss\\\" so far"*loss* ]]'
like "$(stretto members "$id.0")" "notice of attempt 1: .*val_loss" "also by the command"
: >"$T/go-on.train"
ok "until it comes, in a column that is new" wait_for 60 '[ "$(at "[.metrics.val_loss.points, .attempts[0].notice]")" = "[1,null]" ]'
: >"$T/go-on.end"
ok "it ends" wait_ensemble "$id" 60
is "$(at '[.state, (.metrics | to_entries[] | [.key, .value.points, .value.last])]')" \
	'["succeeded",["accuracy",1,0.9],["epoch",13,1],["loss",13,1.5],["val_loss",1,0.5]]' "and its values are those of their columns"

# A sweep whose runs mostly have no point in the time of the shortest one: ranks rest on what was measured, whatever the horizon
made=$(cd "$srcdir/tests/t" && pwd)/sweep_made.py
mkdir "$T/made"
python3 "$made" make "$T/made"
jq -n --arg made "$T/made" '{name: "made", members: {command: ["sh", "-c", "cat \($made)/{run}.jsonl >$STRETTO_METRICS"],
	parameters: {grid: {run: [range(24)]}}, metrics: {points: 40}}, width: 8}' >"$T/spec.json"
id=$(submit "$T/spec.json")
ok "it ends" wait_ensemble "$id" 60
ranked() { # HORIZON OPTION...
	stretto report "$id" --csv "${@:2}" >report.csv
	ok "ranks up to $1 s are those of the points" python3 "$made" check report.csv "$1"
}
ranked median
ranked 2 --horizon 2s
ranked 300 --horizon 5m
like "$(stretto report "$id" --horizon 2s)" "19 of 24 runs are not ranked, since they have fewer than two points up to the horizon" "it says how many have no curve"
is "$(stretto report "$id" --by last --csv | grep -c ,ranked,)" 24 "which a ranking by another figure does not need"
is "$(stretto report "$id" --steps --horizon 10 --json | jq -c '[.over, .horizon, .without_curve, (.runs[0] | .rank, .index)]')" \
	"[\"steps\",10,0,1,0]" "over steps all have one"

# kill -9 of the daemon, again and again, while points come
cat >"$T/long" <<'X'
#!/usr/bin/env bash
for part in 1 2 3 4; do
	for i in $(seq 100); do echo "{\"step\": $((100 * part + i)), \"loss\": $i}"; done >>"$STRETTO_METRICS"
	until [ -e "$1.$part" ]; do sleep 0.05; done
done
X
chmod +x "$T/long"
jq -n --arg c "$T/long" --arg go "$T/go" '{name: "long", members: {command: [$c, $go], parameters: {grid: {x: [1, 2]}}}, width: 2}' >"$T/spec.json"
id=$(submit "$T/spec.json")
points() { api GET "/v1/ensembles/$id/members/$1" | jq '.metrics.loss.points // 0'; }
has() { [ "$(points 0)" -ge "$1" ]; }
for part in 1 2 3 4; do
	[ $((part % 2)) = 0 ] || ok "points come while it runs" wait_for 60 "has $((100 * part))"
	kill_daemon
	: >"$T/go.$part"
	start_daemon
done
ok "it ends" wait_ensemble "$id" 60
is "$(points 0) $(points 1)" "400 400" "no point is lost, and none is there twice"
is "$(api GET "/v1/ensembles/$id/members/1/points?name=loss" | jq -c '[.points[].step] == [range(101; 501)]')" true "each is the one that was reported"
done_testing
