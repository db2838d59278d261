#!/bin/bash
# What `stretto` prints of answers that are written down: each value in its place, and none left out.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/canned.sh
. "$srcdir/tests/t/canned.sh"

start_canned

# --- one ensemble
training='{"id": 30, "state": "running", "reason": "R1", "ranks": 2, "wanted_ranks": 4, "generation": 3, "adapter": "slurm", "failures": 1, "retries_left": 1,
	"received": 101, "unique": 97, "duplicates": 4, "drawn": 95, "batches": 12, "repeats": 5, "samples_per_second": 8.25,
	"started": "2026-01-01T00:00:10.000Z", "ended": "2026-01-01T00:00:30.000Z", "resumed_from": "g1-s2",
	"checkpoint": {"name": "g2-s5", "step": 5, "size": 640, "time": "C2"}, "waits": {"for_samples": 0.75, "for_room": 0.125},
	"metrics": {"a_loss": 0.5, "b_loss": null}, "metric_ranges": {"a_loss": {"min": 0.125, "max": 3.5}}}'
jq -n -c --argjson training "$training" --arg eta "$(date -u -d '+100 days +30 minutes' +%FT%TZ)" '{id: 7, name: "n7", state: "running", reason: "R0",
	created: "2026-01-01T00:00:00.000Z", count: 15, open: true, width: 6, adapter: "local", dir: "/d/7", diverged: 2, follow_up_of: 3, root: 1, follow_ups: [9],
	members: {pending: 1, submitted: 2, running: 3, succeeded: 4, failed: 5}, elastic: {width: [4, 200], ranks: [1, 8], by_hand: ["ranks"], reason: "R2", changed: "C1"},
	notice: {code: "adapter_silent", text: "N0"}, rate: 1.5, eta: $eta, training: $training}' >seven
jq -c '.state = "complete" | .ended = "2026-01-01T00:01:05.000Z" | .id = 8 | .training |= (.ranks = 1 | .wanted_ranks = 0 | .retries_left = null)
	| del(.open, .follow_up_of, .notice, .elastic.ranks, .training.resumed_from, .dir, .diverged) | .follow_ups = []' seven >eight
jq -c '.id = 6 | .training = null | .elastic = null | .notice = {code: "held", text: "N1"} | .family = {follow_ups: 1, newest: 9, state: "paused", members: {stopped: 3}}
	| .name = "n6" | .reason = null | .eta = null | .open = false | .follow_up_of = null' seven >six
answers <<E
GET /v1/ensembles/7 200 $(cat seven)
GET /v1/ensembles/8 200 $(cat eight)
GET /v1/ensembles/6 200 $(cat six)
GET /v1/ensembles/1 200 {"id": 1, "family": {"follow_ups": 2, "newest": 9, "state": "running", "members": {"succeeded": 7, "cancelled": 1}}}
GET /v1/ensembles/7/failures?limit=3 200 {"failures": [{"cause": "K1", "outcome": "failed", "members": 1, "attempts": 3, "example": {"attempt": 2, "member": 11, "reason": "R3", "stderr": "l1\nl2\nl3\nl4"}}, {"cause": "K2", "outcome": "diverged", "members": 4, "attempts": 5, "example": null}, {"cause": "K3", "outcome": "diverged", "members": 1, "attempts": 1, "example": {"attempt": 1, "member": 12, "reason": "R4", "stderr": "l5"}}], "total": 5}
GET /v1/ensembles/8/failures?limit=3 200 {"failures": [], "total": 0}
GET /v1/ensembles/6/failures?limit=3 200 {"failures": [{"cause": "K1", "members": 1, "attempts": 1, "example": null}], "total": 3}
GET /v1/trainings/30/metrics?name=a_loss&buckets=1 200 {"series": {"a_loss": {"buckets": [{"first": 8, "last": 0.5}]}}}
GET /v1/trainings/30/metrics?name=b_loss&buckets=1 200 {"series": {"b_loss": {"buckets": [{"first": 0.25, "last": null}]}}}
E
prints "an ensemble that goes on" status 7 <<'E'
ensemble 7 n7: running: R0
submitted N d ago
members 15 so far: 1 pending, 2 submitted, 3 running, 4 succeeded, 5 failed
diverged 2
follows up 3
followed by 9
family 2 follow-ups, the last 9, running: 7 succeeded, 1 cancelled
width 6 on local
elastic width 4 to 200, ranks 1 to 8 (set by hand, and left alone)
 C1, R2
waiting N0
rate 1.5 members/s, 100d00h to go
training 30: running: R1, ranks 2 (4 wanted), generation 3, on slurm
failures 1, 1 retry left
samples 101 received, 97 unique, 4 duplicates, 95 drawn
batches 12, 8.25 samples/s
checkpoint g2-s5, step 5, 640 bytes, C2; went on from g1-s2
a_loss 0.5
b_loss not finite
directory /d/7

attempt 2 of 7.11 failed: R3
 in this way: 3 attempts of 1 member
 l2
 l3
 l4
an attempt diverged: K2
 in this way: 5 attempts of 4 members
attempt 1 of 7.12 diverged: R4
 l5
and 2 more causes: /v1/ensembles/7/failures
E
prints "one that is over" status 8 <<'E'
ensemble 8 n7: complete in 1m05s: R0
submitted N d ago
members 15: 1 pending, 2 submitted, 3 running, 4 succeeded, 5 failed
width 6 on local
elastic width 4 to 200
 C1, R2
training 30: running: R1, ranks 1, generation 3, on slurm
samples 101 received, 97 unique, 4 duplicates, 95 drawn
batches 12, 8.25 samples/s
checkpoint g2-s5, step 5, 640 bytes, C2
a_loss 0.5
b_loss not finite
E
prints "the first of a family, without a training" status 6 <<'E'
ensemble 6 n6: running
submitted N d ago
members 15: 1 pending, 2 submitted, 3 running, 4 succeeded, 5 failed
diverged 2
followed by 9
family 1 follow-up, the last 9, paused: 3 stopped
width 6 on local
rate 1.5 members/s
directory /d/7

an attempt failed: K1
E
prints "how one has ended" wait 8 <<'E'
ensemble 8 n7: complete in 1m05s: R0

members pending submitted running succeeded failed unfinished cancelled stopped
15 1 2 3 4 5 0 0 0

training samples received unique duplicates drawn batches samples/s (mean)
running 101 97 4 95 12 5

metric first last first/last
a_loss 8 0.5 16
b_loss 0.25 not finite -

training running: R1

The same over HTTP:
 curl --unix-socket T/state/stretto.sock http://stretto/v1/ensembles/8
 curl --unix-socket T/state/stretto.sock http://stretto/v1/ensembles/8/members
 curl --unix-socket T/state/stretto.sock 'http://stretto/v1/trainings/30/metrics?buckets=20'
E
# --- ensembles
answers <<E
GET /v1/ensembles?limit=200 200 {"ensembles": [$(cat six), $(jq -c '.id = 11 | .follow_up_of = 6 | .root = 6' seven), $(jq -c '.id = 12 | .follow_up_of = null | .follow_ups = [] | .after = 11 | .training = null | .eta = null' seven), $(jq -c '.members = {"unfinished": 15}' eight)], "next": null}
GET /v1/ensembles?limit=200&sort=min%3Aa_loss&order=desc 200 {"ensembles": [$(cat seven), $(cat six)], "next": null}
GET /v1/ensembles/6 200 $(cat six)
GET /v1/ensembles?state=running,paused&limit=1000 200 {"ensembles": [$(cat seven), $(cat six)], "next": "6"}
E
prints "a family is one row, in the place of its newest" status <<'E'
 id name state members running failed training eta created
 6 n6 running 9/15 3 5 - - N d ago
6..11 n7 running 3/3 0 0 running 100d00h N d ago
 12 n7 waiting 9/15 3 5 - - N d ago
 8 n7 unfinished 15/15 0 0 running 100d00h N d ago
E
prints "or each by itself" status --all <<'E'
id name state members running failed training eta created
 6 n6 running 9/15 3 5 - - N d ago
11 n7 running 9/15 3 5 running 100d00h N d ago
12 n7 waiting 9/15 3 5 - - N d ago
 8 n7 unfinished 15/15 0 0 running 100d00h N d ago
E
prints "sorted by a metric, which has a column" status --sort min:a_loss --reverse <<'E'
id name state members running failed training eta created min:a_loss
 7 n7 running 9/15 3 5 running 100d00h N d ago 0.125
 6 n6 running 9/15 3 5 - - N d ago -
E
prints "those that are not over, with what they wait for" top <<'E'
id name state members running failed eta waiting
 7 n7 running 9/15 3 5 100d00h N0
 6 n6 running 9/15 3 5 - N1
and older ones: `stretto status --state running,paused` lists them all
E

# --- members
answers <<'E'
GET /v1/ensembles/7/members?limit=500&metrics=l,acc&sort=metric:acc&order=desc 200 {"members": [{"index": 3, "state": "running", "attempts": 2, "progress": 0.256, "parameters": {"a": 0.1, "b": "c d", "e": [1, true], "f": 0.123456789, "g": 0.00025, "h": 3}, "reason": "R", "retry_at": null, "metrics": {"l": {"last": 0.5}, "acc": {"last": null}}}, {"index": 4, "state": "pending", "attempts": 0, "progress": null, "parameters": {}, "reason": "R5", "retry_at": "RT", "metrics": {}}, {"index": 5, "state": "pending", "attempts": 1, "parameters": {}, "reason": null, "retry_at": "RT", "metrics": {}}], "next": null}
GET /v1/ensembles/7/members/3 200 {"index": 3, "state": "failed", "reason": "R", "retry_at": "RT", "results": "res/3", "parameters": {"x": 1, "y": 0.1}, "resources": {"tasks": 2}, "metrics": {"l": {"last": 0.5, "min": 0.25, "max": 8, "points": 6, "step": 40}}, "attempts": [{"number": 1, "job": "st-1", "state": "ended", "outcome": "failed", "exit_code": null, "signal": 9, "host": "n1", "resumed": null, "submitted": "2026-01-01T00:00:00Z", "started": "2026-01-01T00:00:05Z", "ended": "2026-01-01T00:01:05Z", "cpu_seconds": 30, "memory_peak": 2147483648, "reason": "killed"}, {"number": 2, "job": "st-2", "state": "running", "outcome": null, "exit_code": 4, "signal": null, "host": "n2", "resumed": "a.ckpt", "submitted": "S", "waits_for": "W"}], "checkpoints": [{"step": 5, "size": 12, "time": "T1", "path": "/p1", "damaged": true}, {"step": 6, "size": 13, "time": "T2", "path": "/p2"}], "artefacts": [{"path": "m.pt", "size": 2048, "sha256": "abc"}]}
GET /v1/ensembles/7 200 {"id": 7, "training": {"id": 30, "hosts": [{"host": "h1", "slots": 2}, {"host": "h2", "slots": 1}]}}
GET /v1/ensembles/7/members/4 200 {"index": 4, "attempts": [{"hosts": [{"host": "h1", "slots": 1}]}, {"hosts": [{"host": "h3", "slots": 4}]}]}
GET /v1/ensembles/7/members/5 200 {"index": 5, "attempts": []}
GET /v1/ensembles/7/rungs 200 {"rule": "asha", "metric": "loss", "rungs": [{"rung": 0, "step": 3, "arrived": 9, "promoted": 4, "stopped": 2, "under_way": 1, "best": {"index": 5, "value": 0.25}}, {"rung": 1, "step": 9, "arrived": 0, "promoted": 0, "stopped": 0, "under_way": 4, "best": null}]}
GET /v1/ensembles/7/results?limit=500&after=4 200 {"results": [{"number": 5, "ensemble": 7, "index": 2, "name": "s2", "state": "succeeded", "parameters": {"lr": 0.1, "o": "sgd", "l": [1, 2]}, "metrics": {"loss": {"last": 0.5}, "acc": {"last": null}}, "reason": "R6"}], "next": 6}
GET /v1/ensembles/7/results?limit=500&after=6 200 {"results": [], "next": 6}
GET /v1/checkpoints?limit=500 200 {"checkpoints": [{"of": "member", "ensemble": 7, "member": 3, "step": 5, "size": 12, "time": "T1", "path": "/p1"}, {"of": "training", "ensemble": 8, "step": 6, "size": 13, "time": "T2", "path": "/p2", "damaged": true}], "next": null}
GET /v1/adapters 200 {"adapters": [{"name": "a", "state": "silent", "slots": 2, "jobs": {"intent": 1, "submitted": 2, "running": 4}, "answered": "A1", "reason": "R7"}, {"name": "b", "state": "not_set_up", "slots": null, "ensembles": 0}, {"name": "c", "state": "not_asked", "plugin": "/p.so"}], "refused": [{"path": "/q.so", "code": "plugin_unusable", "reason": "R8"}]}
GET /v1/tokens?limit=500 200 {"tokens": [{"id": 4, "role": "reader", "label": "l4", "created": "C", "expires": "E", "last_used": "L", "revoked": "V"}, {"id": 5, "role": "admin", "label": "l5", "created": "C", "expires": null, "last_used": null, "revoked": null}], "next": null}
GET /v1/sessions?limit=500 200 {"sessions": [{"id": 1, "role": "reader", "token": 12, "created": "C", "expires": "E", "last_used": "L"}], "next": null}
POST /v1/ensembles/7/suggestions 200 {"suggestions": [{"index": 4, "name": "s4", "new": true}, {"index": 2, "name": null, "new": false}]}
E
prints "members with metrics, sorted by one" members 7 --metric l --sort acc --metric l --descending <<'E'
index state attempts done l acc parameters reason
 3 running 2 26% 0.5 not finite a=0.1 b=c d e=[1,true] f=0.123 g=0.00025 h=3 R
 4 pending 0 - - - R5; retry RT
 5 pending 1 - - - retry RT
E
prints "one member, with all that it has" members 7.3 <<'E'
member 7.3: failed: R
retry at RT
parameters {"x": 1, "y": 0.1}
resources {"tasks": 2}
results res/3

metric last least greatest points last step
l 0.5 0.25 8 6 40

attempt job state outcome exit host from submitted queued ran CPU memory reason
 1 st-1 ended failed signal 9 n1 N d ago 5.0s 1m00s 30s 2.0 GiB killed
 2 st-2 running 4 n2 a.ckpt S - - - - W

step bytes time checkpoint
 5 12 T1 /p1 (damaged)
 6 13 T2 /p2

artefact size SHA-256
m.pt 2.0 KiB abc
E
prints "the hosts of a training" hosts 7.training <<'E'
h1:2
h2:1
E
prints "those of a member's last attempt" hosts 7.4 <<'E'
h3:4
E
prints "none, for programs" hosts 7.5 --json <<'E'
[]
E
prints "rungs at which members pause" rungs 7 <<'E'
rung step arrived promoted stopped under way best loss member
 0 3 9 4 2 1 0.25 7.5
 1 9 0 0 0 4 - -
E
prints "results" results 7 --after 4 <<'E'
result member name state parameters metrics reason
 5 7.2 s2 succeeded lr=0.1 o=sgd l=[1,2] loss=0.5 acc=not finite R6
E
prints "checkpoints" checkpoints <<'E'
of step bytes time checkpoint
7.3 5 12 T1 /p1
8.training 6 13 T2 /p2 (damaged)
E
prints "adapters" adapters <<'E'
name state slots submitted running last answer from
a no answer 2 3 4 A1 built in
b not set up - 0 0 - built in
c not asked yet - 0 0 - /p.so
a: R7
refused: R8 (plugin_unusable)
E
prints "tokens" token list <<'E'
id role label created expires revoked last used
 4 reader l4 C E V L
 5 admin l5 C
E
prints "sessions" dashboard --list <<'E'
id role token created expires last used
 1 reader 12 C E L
E
prints "suggestions" suggest 7 x=1 <<'E'
7.4 s4
7.2 (suggested before)
E

# --- metrics
answers <<'E'
GET /v1/ensembles/7 200 {"training": {"id": 30, "metrics": {"l": 1, "a,\"b": 2}}}
GET /v1/ensembles/8 200 {"training": null}
GET /v1/trainings/30/metrics?name=l&buckets=1 200 {"series": {"l": {"buckets": [{"first": 8, "last": 0.5, "min": 0.25, "max": 9, "count": 12, "not_finite": 1, "last_step": 40}]}}}
GET /v1/trainings/30/metrics?name=a%2C%22b&buckets=1 200 {"series": {"a,\"b": {"buckets": [{"first": 7, "last": null, "min": 1, "max": 2, "count": 3, "not_finite": 4, "last_step": 5}]}}}
GET /v1/trainings/30/metrics?name=l&buckets=70 200 {"series": {"l": {"buckets": [{"step": 0, "last_step": 0, "min": 10, "max": 100, "not_finite": 1}, {"step": 69, "last_step": 69, "min": 1, "max": 1, "not_finite": 2}]}}}
GET /v1/trainings/30/points?name=l&limit=1000 200 {"points": [{"step": 1, "rank": 2, "time": "T1", "value": 0.1}, {"step": 2, "rank": 0, "time": "T2", "value": null}], "next": "5"}
GET /v1/trainings/30/points?name=l&limit=1000&cursor=5 200 {"points": [{"step": 3, "rank": 1, "time": "T3", "value": 0.30000000000000004}], "next": null}
GET /v1/trainings/30/points?name=a%2C%22b&limit=1000 200 {"points": [{"step": 4, "rank": 3, "time": "T4", "value": 1}], "next": null}
GET /v1/ensembles/7/members/3 200 {"metrics": {"l": {}}}
GET /v1/ensembles/7/members/3/points?name=l&limit=1000 200 {"points": [{"step": 1, "attempt": 2, "time": "T1", "value": 0.5}, {"step": 2, "attempt": 3, "time": "T2", "value": 0.25, "count": 4, "min": 0.125, "max": 8}], "next": null}
GET /v1/trainings/30/metrics?name=l 200 {"one": 1}
GET /v1/trainings/30/metrics?name=a%2C%22b 200 {"other": 1}
E
prints "metrics of a training" metrics 7 <<'E'
metric first last least greatest points not finite last step
l 8 0.5 0.25 9 12 1 40
a,"b 7 not finite 1 2 3 4 5
E
prints "all points" metrics 7 --csv <<'E'
name,step,rank,time,value
l,1,2,T1,0.1
l,2,0,T2,NaN
l,3,1,T3,0.30000000000000004
"a,""b",4,3,T4,1
E
prints "all points of a member, of which neighbours were merged" metrics 7.3 --csv <<'E'
name,step,attempt,time,value,count,min,max
l,1,2,T1,0.5,1,0.5,0.5
l,2,3,T2,0.25,4,0.125,8
E
prints "some, for programs" metrics 7 --json l 'a,"b' <<'E'
{"one": 1}
{"other": 1}
E
for words in "metrics 8" "metrics 7 x" "metrics 7 l x" "metrics 7.3 x"; do
	# shellcheck disable=SC2086 # words
	status_is 3 "nothing that is not there: $words" stretto $words
	is "$(cat out)" "" "so nothing is printed"
done
LC_ALL=C stretto metrics 7 l --plot | sed 's/ *$//' >linear
is "$(cat linear)" "$(cat <<'E'
l
     100 |*
         |*
         |*
         |*
         |*
         |*
      46 |*
         |*
         |*
         |*
         |*
       1 |                                                                     *
     step 0                                                                   69
          3 of its points are not finite
E
)" "a curve"

# --- events
answers <<'E'
GET /v1/events?limit=1000&after=3&kind=a%20b&ensemble=7 200 {"events": [{"id": 9, "time": "T1", "kind": "member.ended", "ensemble": 7, "member": 0, "detail": {"a": 1}}], "oldest": 5, "newest": 12, "next": "9"}
GET /v1/events?limit=1000&after=9&kind=a%20b&ensemble=7 200 {"events": [{"id": 10, "time": "T2", "kind": "ensemble.created", "ensemble": 7, "detail": null}], "oldest": 5, "newest": 12, "next": null}
GET /v1/events?limit=1000&after=4 200 {"events": [], "oldest": 5, "newest": 12, "next": null}
GET /v1/events?limit=1&after=4611686018427387903 200 {"events": [], "oldest": 5, "newest": 12, "next": null}
GET /v1/events?limit=1000&after=12 200 {"events": [{"id": 13}], "oldest": 5, "newest": 13, "next": null}
GET /v1/events?limit=1000&after=0 200 {"events": [], "oldest": 5, "newest": 13, "next": null}
GET /v1/ensembles/7 200 {"id": 7}
E
prints "events, page by page" events 7 --kind 'a b' --after 3 <<'E'
9 T1 7.0 member.ended {"a":1}
10 T2 7 ensemble.created
E
like "$(cat err)" "before 5 " "with a word about those that are missing"
prints "none are missing" events --after 4 <<'E'
E
is "$(cat err)" "" "where those up to the oldest were seen"
prints "what is new" events --after now --json <<'E'
{"id":13}
E
stretto events >out 2>err
is "$(cat out err)" "" "who asks for all there are misses none"
status_is 3 "events of an ensemble that is not there" stretto events 8

stop_canned
done_testing
