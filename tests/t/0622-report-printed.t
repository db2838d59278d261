#!/bin/bash
# The values that `stretto report` prints of answers that are written down: as tables, Markdown, CSV, JSON, lines of
# MLPerf, and a page.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/canned.sh
. "$srcdir/tests/t/canned.sh"
start_canned

answers <<'E'
GET /v1/ensembles/7/spec 200 {"members": {"resources": {"tasks": 2, "cpus_per_task": "{workers}", "gpus": 1}}, "rules": {"reference": {"name": "ours", "rules": {"may_vary": ["lr"]}}, "reference_ensemble": 3, "files": [{"path": "a.py", "sha256": "s1"}, {"path": "b.py", "sha256": "s2"}]}}
GET /v1/ensembles/7 200 {"id": 7, "follow_up_of": null}
GET /v1/ensembles/7/ran 200 {"ran": [], "missing": {}}
GET /v1/ensembles/3 200 {"id": 3}
GET /v1/ensembles/3/ran 200 {"ran": [], "missing": {}}
GET /v1/ensembles/7/members?limit=500&metrics=loss 200 {"members": [{"index": 0, "state": "succeeded", "attempts": 1, "parameters": {"lr": 0.1, "workers": 1}, "resources": {"cpus_per_task": 1}, "reason": null, "metrics": {"loss": {"last": 1, "points": 3, "not_finite": 0, "first_time": "2026-01-01T00:01:00Z", "last_time": "2026-01-01T00:04:00Z"}}, "last_attempt": {"started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:10:00Z", "outcome": "succeeded"}}, {"index": 1, "state": "succeeded", "attempts": 1, "parameters": {"lr": 0.1, "workers": 2}, "resources": {"cpus_per_task": 2}, "metrics": {"loss": {"last": 0.5, "points": 2, "not_finite": 1}}, "last_attempt": {"started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:05:00Z"}}, {"index": 2, "state": "failed", "attempts": 1, "parameters": {"lr": 0.2, "workers": 4}, "resources": {"cpus_per_task": 4}, "reason": "R1", "metrics": {"loss": {"last": 7, "points": 1}}, "last_attempt": {"started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T01:00:00Z", "outcome": "failed"}}, {"index": 3, "state": "failed", "attempts": 1, "parameters": {"lr": 0.3, "workers": 4}, "resources": {"cpus_per_task": 4}, "reason": "R2", "metrics": {"loss": {"last": null}}, "last_attempt": {"outcome": "diverged"}}, {"index": 4, "state": "succeeded", "attempts": 1, "parameters": {"lr": 0.4, "workers": 8}, "resources": {"cpus_per_task": 8}, "metrics": {}, "last_attempt": {}}, {"index": 5, "state": "running", "attempts": 0, "parameters": {"lr": 0.5, "workers": 8}, "resources": {"cpus_per_task": 8}, "metrics": {}, "last_attempt": null}, {"index": 6, "state": "stopped", "attempts": 0, "parameters": {"lr": 0.6, "workers": 8}, "resources": {"cpus_per_task": 8}, "metrics": {}, "last_attempt": null}, {"index": 7, "state": "unfinished", "attempts": 0, "follow_up": 9, "parameters": {"lr": 0.7, "workers": 8}, "resources": {"cpus_per_task": 8}, "metrics": {}, "last_attempt": null}], "next": null}
GET /v1/ensembles/7/members/0/points?name=loss&limit=5000 200 {"points": [{"step": 1, "attempt": 1, "time": "2026-01-01T00:01:00Z", "value": 4}, {"step": 2, "attempt": 1, "time": "2026-01-01T00:02:00Z", "value": 2}], "next": "x y"}
GET /v1/ensembles/7/members/0/points?name=loss&limit=5000&cursor=x%20y 200 {"points": [{"step": 3, "attempt": 1, "time": "2026-01-01T00:04:00Z", "value": 1}], "next": null}
GET /v1/ensembles/7/members/1/points?name=loss&limit=5000 200 {"points": [{"step": 1, "attempt": 1, "time": "2026-01-01T00:01:00Z", "last_time": "2026-01-01T00:02:00Z", "count": 3, "first": 3, "value": 2, "min": 2, "max": 3, "area": 140, "not_finite": 1}, {"step": 5, "attempt": 1, "time": "2026-01-01T00:03:00Z", "value": 0.5}], "next": null}
GET /v1/ensembles/7/members/0 200 {"index": 0, "state": "succeeded", "parameters": {"lr": 0.1, "workers": 1}, "metrics": {"loss": {}}, "attempts": [{"number": 1, "started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:10:00Z"}], "artefacts": []}
GET /v1/ensembles/7/members/1 200 {"index": 1, "artefacts": [{"path": "m.pt", "size": 12, "sha256": "s3"}, {"path": "n.pt", "size": 13, "sha256": "s4"}]}
E
# resources are numbers, or texts, and those that depend on parameters come with each member
hour='"last_attempt": {"started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T01:00:00Z", "outcome": "failed"}'
used() { # RESOURCES OWN: core hours and GPU hours of a run of an hour
	cp answers before
	answers <<E
GET /v1/ensembles/11/spec 200 {"members": {"resources": $1}}
GET /v1/ensembles/11/members?limit=500&metrics=loss 200 {"members": [{"index": 0, "state": "failed", "attempts": 1, "parameters": {"n": 7}, $2 "metrics": {"loss": {"last": 7, "points": 1}}, $hour}], "next": null}
E
	stretto report 11 --by last >out 2>err
	awk '$1 == "failed" && NF == 4 { print $3, $4 }' out
	mv before answers
}
long=a_parameter_whose_name_is_as_long_as_a_name_of_one_may_ever_be
is "$(used '{}' '')" "1 0" "a run that asks for nothing has one core"
is "$(used "{\"tasks\": \"{$long}\", \"cpus_per_task\": \"3\", \"gpus\": \"{n}2\"}" '"resources": {"tasks": 2, "gpus": 72},')" "6 72" \
	"resources may depend on parameters, of any name and in any text"
is "$(used '{"tasks": "{n}"}' '')" "1 0" "where it is not known how, they are none"
is "$(used '{"tasks": 4, "cpus_per_task": 1.5, "gpus": "0.5"}' '')" "6 0.5" "or they are numbers"

prints "a report" report 7 --target 2 <<'E'
Ranking
rank run parameters runs area last best time to target time
 1 7.1 lr=0.1 workers=2 1 230 0.5 0.5 2m00s 5m00s
 2 7.0 lr=0.1 workers=1 1 326.25 1 1 2m00s 10m00s
Ranked by area of "loss"; lower is better.
The area is that under the curve of each run over the first 2m30s from its first point on.
1 of 2 curves end before that; their last value is carried on.
The target is 2.

Not ranked
run fate parameters last reason
7.6 stopped lr=0.6 workers=8 -
7.3 diverged lr=0.3 workers=4 not finite R2
7.2 failed lr=0.2 workers=4 7 R1
7.5 unfinished lr=0.5 workers=8 -
7.7 unfinished lr=0.7 workers=8 - goes on in ensemble 9
7.4 without the metric lr=0.4 workers=8 -

Rules
ensemble reference may vary file SHA-256
7 ours (3) ["lr"] a.py s1
7 ours (3) ["lr"] b.py s2
The SHA-256 here are those that the rules give; the next table has those of what ran.

What ran
ensemble of SHA-256
Ensemble 7 was not compared: what ran: no attempt has a record of it.
These were hashed on the first node of each job, at the start and at the end of each attempt.

What the best runs left
run artefact bytes SHA-256
7.1 m.pt 12 s3
7.1 n.pt 13 s4

Runs and what they used
runs number core hours GPU hours
ranked 2 0.6667 0.25
stopped 1 0 0
diverged 1 0 0
failed 1 8 1
unfinished 2 0 0
without the metric 1 0 0
all 8 8.667 1.25
Hours are those of all attempts that have ended, times the CPUs and GPUs that the spec asks for.

E
prints "as CSV" report 7 --target 2 --group workers --csv <<'E'
rank,ensemble,index,fate,group,parameters,area,last,best,time_to_target,time,points,not_finite,attempts,core_hours,gpu_hours,reason,lr,workers
1,7,1,ranked,2,lr=0.1 workers=2,230,0.5,0.5,120,300,2,1,1,0.3333333333333333,0.08333333333333333,,0.1,2
2,7,0,ranked,1,lr=0.1 workers=1,326.25,1,1,120,600,3,0,1,0.3333333333333333,0.16666666666666666,,0.1,1
,7,2,failed,4,lr=0.2 workers=4,,7,,,,1,0,1,8,1,R1,0.2,4
,7,3,diverged,4,lr=0.3 workers=4,,,,,,0,0,1,0,0,R2,0.3,4
,7,4,without the metric,8,lr=0.4 workers=8,,,,,,0,0,1,0,0,,0.4,8
,7,5,unfinished,8,lr=0.5 workers=8,,,,,,0,0,0,0,0,,0.5,8
,7,6,stopped,8,lr=0.6 workers=8,,,,,,0,0,0,0,0,,0.6,8
,7,7,unfinished,8,lr=0.7 workers=8,,,,,,0,0,0,0,0,goes on in ensemble 9,0.7,8
E
stretto report 7 --html file.html >out
is "$(cat file.html)" "$(stretto report 7 --html -)" "the page goes into a file"
is "$(cat out)" "$(stretto report 7)" "beside the report"
status_is 2 "a page that cannot be written" stretto report 7 --html nowhere/file.html

# --- one run, in other ways
answers <<'E'
GET /v1/ensembles/7/members/1 200 {"state": "failed", "parameters": {"lr": 0.1, "opt": {"n": "sgd"}}, "metrics": {"l": {}, "m": {}}, "attempts": [{"started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:00:01Z"}, {"started": "2026-01-01T00:00:02Z", "ended": "2026-01-01T00:00:09.5Z"}]}
GET /v1/ensembles/7/members/2 200 {"state": "running", "parameters": {}, "metrics": {"l": {}}, "attempts": [{"started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:00:01Z"}]}
GET /v1/ensembles/7/members/3 200 {"state": "failed", "parameters": {}, "metrics": {"l": {}}, "attempts": [{"started": "2026-01-01T00:00:00Z", "ended": null}]}
GET /v1/ensembles/7/members/4 200 {"state": "pending", "parameters": {}, "metrics": {"l": {}}, "attempts": []}
GET /v1/ensembles/7/members/5 200 {"state": "succeeded", "parameters": {}, "metrics": {"l": {}}, "attempts": [{"started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:00:01Z"}]}
GET /v1/ensembles/7/members/1/points?name=l&limit=5000 200 {"points": [{"step": 1, "time": "2026-01-01T00:00:03Z", "last_step": 4, "last_time": "2026-01-01T00:00:04Z", "count": 4, "value": 2}, {"step": 5, "time": "2026-01-01T00:00:02Z", "last_step": 6, "last_time": "2026-01-01T00:00:08Z", "count": 1, "value": null}, {"step": 7, "time": "2026-01-01T00:00:06Z", "value": 3}, {"step": 8, "time": "2026-01-01T00:00:06Z", "value": "-Infinity"}], "next": null}
GET /v1/ensembles/7/members/5/points?name=l&limit=5000 200 {"points": [], "next": null}
E
short() { stretto report "$@" --mllog >out 2>err; jq -c ${JQ_SORTS:+-S} '[.time_ms - 1767225600000, .event_type[:1] + .event_type[-1:], .key, .value, .metadata]' <<<"$(sed 's/^:::MLLOG //; s/"value": \(NaN\|-Infinity\)/"value": "\1"/' out)"; }
is "$(short 7.1 -m l --set 'n={opt.n}' --set 'two=[1, 2]' --set 'v={}' --target 1)" "$(cat <<'E'
[0,"IT","init_start",null,{}]
[0,"PE","n","sgd",{}]
[0,"PE","two",[1,2],{}]
[0,"PE","v",{},{}]
[0,"ID","init_stop",null,{}]
[0,"IT","run_start",null,{}]
[0,"IT","block_start",null,{"epoch_count":1,"first_epoch_num":1}]
[4000,"ID","block_stop",null,{"epoch_count":1,"first_epoch_num":1}]
[4000,"IT","eval_start",null,{"epoch_num":1}]
[4000,"PE","eval_accuracy",2,{"epoch_num":1,"metric":"l","step_num":4}]
[4000,"ID","eval_stop",null,{"epoch_num":1}]
[4000,"IT","block_start",null,{"epoch_count":1,"first_epoch_num":2}]
[4000,"ID","block_stop",null,{"epoch_count":1,"first_epoch_num":2}]
[4000,"IT","eval_start",null,{"epoch_num":2}]
[4000,"PE","eval_accuracy","NaN",{"epoch_num":2,"metric":"l","step_num":5}]
[4000,"ID","eval_stop",null,{"epoch_num":2}]
[4000,"IT","block_start",null,{"epoch_count":1,"first_epoch_num":3}]
[6000,"ID","block_stop",null,{"epoch_count":1,"first_epoch_num":3}]
[6000,"IT","eval_start",null,{"epoch_num":3}]
[6000,"PE","eval_accuracy",3,{"epoch_num":3,"metric":"l","step_num":7}]
[6000,"ID","eval_stop",null,{"epoch_num":3}]
[6000,"IT","block_start",null,{"epoch_count":1,"first_epoch_num":4}]
[6000,"ID","block_stop",null,{"epoch_count":1,"first_epoch_num":4}]
[6000,"IT","eval_start",null,{"epoch_num":4}]
[6000,"PE","eval_accuracy","-Infinity",{"epoch_num":4,"metric":"l","step_num":8}]
[6000,"ID","eval_stop",null,{"epoch_num":4}]
[9500,"ID","run_stop",null,{"status":"aborted"}]
E
)" "one that failed, with points that were merged, and clocks that went back"
is "$(short 7.1 -m l --higher --target 3 | tail -n 1)" '[6000,"ID","run_stop",null,{"status":"success"}]' "one that reached its target all the same"
is "$(short 7.1 -m l --target 2 | tail -n 1)" '[4000,"ID","run_stop",null,{"status":"success"}]' "at once"
is "$(short 7.5 -m l | tail -n 1)" '[1000,"ID","run_stop",null,{"status":"success"}]' "one that succeeded, without a point"
is "$(short 7.5 -m l --target 2 | tail -n 1)" '[1000,"ID","run_stop",null,{"status":"aborted"}]' "which is none with a target"
for words in "7.2 -m l" "7.3 -m l" "7.4 -m l" "7.1 -m x" "7.1 -m m" "7.9 -m l" "7.1 -m l --set a={b}"; do
	# shellcheck disable=SC2086 # words
	status_is 3 "no log: $words" stretto report $words --mllog
done
status_is 2 "a value that is not UTF-8" stretto report 7.1 --mllog --set $'a=\xff'

stop_canned
done_testing
