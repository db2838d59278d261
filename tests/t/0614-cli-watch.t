#!/bin/bash
# What people see while an ensemble runs and when it has ended: `status`, `status --watch`, `wait` and `submit --wait`,
# on a terminal and without one. A server gives answers that are written down.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/canned.sh
. "$srcdir/tests/t/canned.sh"

export TZ=XYZ-5 # times of the daemon are UTC, wherever the user is
terminal() { "${STRETTO_PYTHON:-python3}" "$srcdir/tests/t/terminal.py" "$@"; }
start_canned

# --- one ensemble
eta=$(($(date +%s) + 6000)) later=$(date -u -d '+100 minutes' +%Y-%m-%dT%H:%M:%SZ)
# is_left TEXT: it tells how long it is until then, from some moment since this test began
is_left() { [[ $1 =~ ([0-9]+)h([0-9]+)m\ to\ go ]] && ((60 * BASH_REMATCH[1] + 10#${BASH_REMATCH[2]} <= 100 && 60 * BASH_REMATCH[1] + 10#${BASH_REMATCH[2]} + 1 >= (eta - $(date +%s)) / 60)); }
answers <<E
GET /v1/ensembles/7 200 {"id": 7, "name": "heat\u001b[31m", "state": "running", "adapter": "slurm", "count": 12, "width": 4, "members": {"pending": 1, "running": 2, "succeeded": 4, "failed": 5}, "rate": 1.5, "eta": "$later", "follow_up_of": 3, "follow_ups": [9], "family": null, "dir": "/run/e7", "notice": {"code": "adapter_silent", "text": "Slurm does not answer"}, "training": {"id": 30, "state": "submitted", "waits_for": "Resources", "ranks": 2, "generation": 5, "adapter": "slurm", "received": 11, "unique": 9, "duplicates": 2, "drawn": 8, "batches": 6, "samples_per_second": 12.5, "metrics": {"train_loss": 0.25, "other": null}}}
GET /v1/ensembles/7/failures?limit=3 200 {"total": 5, "failures": [{"cause": "C", "members": 2, "attempts": 5, "example": {"member": 4, "attempt": 2, "reason": "exit status 1", "stderr": "one\ntwo\nthree\u001b[2Jx\nfour"}}, {"cause": "node lost", "members": 1, "attempts": 1, "example": null}, {"cause": "D", "members": 1, "attempts": 3, "example": {"member": 1, "attempt": 1, "reason": "R", "stderr": ""}}]}
GET /v1/ensembles/8 200 {"id": 8, "name": "x", "state": "complete", "created": "2026-01-01T00:00:00Z", "ended": "2026-01-03T02:00:00Z", "count": 3, "width": 1, "adapter": "local", "rate": 2, "members": {"succeeded": 3}, "family": {"follow_ups": 1, "newest": 10, "state": "running", "members": {"succeeded": 3, "running": 1}}, "training": null}
GET /v1/ensembles/8/failures?limit=3 200 {"total": 0, "failures": []}
GET /v1/ensembles/6 200 {"id": 6, "name": "x", "state": "failed", "reason": "held on purpose", "count": 3, "members": {"pending": 3}, "notice": {"code": "held", "text": "held on purpose"}, "training": {"id": 2, "state": "failed", "reason": "no GPU", "metrics": {}}}
GET /v1/ensembles/6/failures?limit=3 200 {"total": 0, "failures": []}
E
status_is 0 "status of one that runs" stretto status 7
for words in '7 heat \[31m: running' '12: 1 pending, 2 running, 4 succeeded, 5 failed' 'follows up 3' 'followed   by 9' 'width +4 on slurm' \
	'waiting +Slurm does not answer' 'rate +1\.5 members/s, 1h[0-9]+m to go' 'training +30: submitted: Resources, ranks 2, generation 5, on slurm' \
	'11 received, 9 unique, 2 duplicates, 8 drawn' 'batches +6, 12\.5 samples/s' 'train_loss 0\.25' 'other +not finite' 'directory  /run/e7' \
	'attempt 2 of 7\.4 failed: exit status 1' 'in this way: 5 attempts of 2 members' 'an attempt failed: node lost' '3 attempts of 1 member$' \
	'2 more causes'; do
	ok "it says: $words" grep -E -q "$words" out
done
ok "which is how long it is from now" is_left "$(grep 'to go' out)"
is "$(grep -A 3 'in this way: 5' out | tail -n 3)" "    two
    three [2Jx
    four" "and the last lines of its standard error"
status_is 0 "status of one that is over" stretto status 8
like "$(cat out)" 'complete in 2d02h' "says how long it took"
like "$(cat out)" 'family +1 follow-up, the last 10, running: 1 running, 3 succeeded' "and about its family"
is "$(grep -c -E 'to go|rate' out)" 0 "and nothing of what is to come"
status_is 0 "status of one that failed" stretto status 6
like "$(cat out)" '6 x: failed: held on purpose' "says why"
is "$(grep -c waiting out)" 0 "once"
like "$(cat out)" 'training +2: failed: no GPU' "and why the training failed"

# --- all of them
answers <<E
GET /v1/ensembles?limit=200 200 {"ensembles": [{"id": 7, "name": "heat", "state": "running", "count": 12, "members": {"running": 2, "succeeded": 4, "failed": 1, "unfinished": 2, "cancelled": 1}, "training": {"state": "done"}, "eta": "$later", "created": "C"}, {"id": 6, "name": "x", "state": "complete", "count": 1, "members": {"succeeded": 1}, "training": null, "created": "D"}], "next": null}
E
status_is 0 "status" stretto status
like "$(sed -n 2p out | xargs)" '^7 heat running 8/12 2 1 done 1h[0-9]+m C$' "one that runs"
ok "with how long it is from now" is_left "$(sed -n 2p out | awk '{ print $8 }') to go"
is "$(sed -n 3p out | xargs)" "6 x complete 1/1 0 0 - - D" "one that is over"
terminal 120 20 --interrupt "1/1" stretto status --watch >out
is $? 130 "status --watch of all: until Ctrl-C"
is "$(grep -c complete out) $(grep -c created out)" "1 1" "the screen shows them once"
answers <<E
GET /v1/ensembles?limit=200 403 {"code": "forbidden", "detail": "It is not for you."}
E
terminal 120 20 timeout $((20 * PATIENCE)) stretto status --watch >out
is $? 3 "it ends where the daemon refuses"
like "$(cat out)" 'It is not for you' "with its words"

# --- watched until the end, on a terminal and without one
running='{"id": 7, "name": "heat", "state": "running", "adapter": "local", "count": 4, "width": 4, "members": {"running": 3, "succeeded": 1}, "rate": 0.5, "training": null}'
waiting='{"id": 7, "name": "heat", "state": "paused", "adapter": "local", "count": 4, "width": 4, "members": {"pending": 1, "succeeded": 3}, "notice": {"code": "paused_by", "text": "waits for you"}, "training": null}'
complete='{"id": 7, "name": "heat", "state": "complete", "adapter": "local", "count": 4, "width": 4, "members": {"succeeded": 4}, "created": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:00:09Z", "training": null}'
watched() { # the answers, one after the other
	local answer
	for answer; do echo "GET /v1/ensembles/7 200 $answer"; done | answers
	echo 'GET /v1/ensembles/7/failures?limit=3 200 {"total": 0, "failures": []}' >>answers
}
watched "$running" "$waiting" "$complete"
terminal 60 24 stretto status 7 --watch >out
is $? 0 "status ID --watch on a terminal ends with the ensemble"
is "$(grep -c heat out) $(grep -c width out) $(head -n 1 out)" "1 1 ensemble 7 heat: complete in 9.0s" "and the screen shows its end alone"
watched "$running" "$waiting" "$complete"
terminal 60 24 sh -c 'echo before; exec stretto status 7 --watch' >out
is "$(head -n 1 out) $(grep -c heat out)" "before 1" "what was on the screen before stays there"
watched "$running" "$waiting" "$complete"
terminal 24 24 stretto status 7 --watch >out
is "$(grep -c -E 'ensemble|members|width' out)" 3 "on a narrow one likewise: no line takes two"
watched "$running" "$complete"
status_is 0 "status ID --watch without a terminal" stretto status 7 --watch
is "$(grep -c '1/4 members' out) $(grep -c 'complete in' out)" "1 1" "is lines, and a report"
watched "$running"
terminal 60 24 --interrupt running stretto status 7 --watch >out
is $? 130 "Ctrl-C ends it"
like "$(cat out)" 'stretto wait 7$' "with how to come back"

watched "$running" "$waiting" "$complete"
terminal 100 40 stretto wait 7 >out
is $? 0 "wait on a terminal"
is "$(grep -c '\[' out) $(grep -c 'waits for you' out)" "0 1" "leaves no bar behind, but what it waited for"
watched "$running" "$waiting" "$waiting" "$complete"
stretto wait 7 >out 2>err
is "$? $(grep -c 'waits: waits for you' err)" "0 1" "wait without a terminal says once what is waited for"
watched "$running" "$complete"
echo 'POST /v1/ensembles 201 {"id": 7, "name": "heat", "count": 4, "state": "running"}' >>answers
stretto submit --wait --json - <<<'{"name": "heat"}' >out 2>err
is "$? $(jq -c -s 'map([.id, .state])' out)" '0 [[7,"complete"]]' "submit --wait --json prints the ensemble that has ended, and nothing else"
for rest in unfinished failed cancelled; do
	watched "{\"id\": 7, \"state\": \"complete\", \"count\": 4, \"members\": {\"succeeded\": 3, \"$rest\": 1}, \"training\": null}"
	status_is 1 "wait: one member of four is $rest, which is no success" stretto wait 7
done
watched "$running"
echo 'GET /v1/ensembles/7 404 {"code": "ensemble_not_found", "detail": "There is no ensemble 7."}' >>answers
status_is 3 "wait ends where the ensemble is not there any more" timeout $((20 * PATIENCE)) stretto wait 7
like "$(cat err)" 'There is no ensemble 7' "and says so"
watched '{"id": 7, "name": "heat", "state": "paused", "count": 4, "members": {"pending": 4}, "notice": {"code": "held", "text": "stopped by many failures"}, "reason": "stopped by many failures", "training": null}'
status_is 1 "wait ends where the daemon holds an ensemble" stretto wait 7
like "$(cat out)" 'paused: stopped by many failures' "and says why"
watched "$running"
rm -f err # what the one before said
env --default-signal=INT stretto --url "unix:$T/state/../state/stretto.sock" wait 7 >out 2>err & # the shell has it ignored in the background
waiting=$!
wait_for 60 'grep -q "1/4 members" err'
kill -INT $waiting
wait $waiting
is $? 130 "Ctrl-C"
like "$(cat err)" "stretto --url unix:$T/state/../state/stretto\.sock wait 7" "and how to come back names a daemon that was named"

# --- the report of a training
metrics() { echo "GET /v1/trainings/30/metrics?name=$1&buckets=1 200 {\"series\": {\"$2\": {\"buckets\": [{\"first\": $3, \"last\": $4}]}}}"; }
trained() { # JSON of the training beside its state, and the ensemble's state
	watched "{\"id\": 7, \"name\": \"heat\", \"state\": \"$2\", \"count\": 4, \"members\": {\"succeeded\": 4}, \"training\": {\"id\": 30, \"received\": 40, \"unique\": 36, \"duplicates\": 4, \"drawn\": 36, \"batches\": 50, \"started\": \"2026-01-01T00:00:00Z\", \"ended\": \"2026-01-01T00:00:10Z\", $1}}"
	metrics train_loss train_loss 4 0.5 >>answers
	metrics 'a%26b%20c' 'a&b c' null 3 >>answers
}
trained '"state": "done", "repeats": 464, "metrics": {"train_loss": 0.5, "a&b c": 3}' complete
status_is 0 "wait, with a training" stretto wait 7
is "$(grep -A 1 'samples received' out | tail -n 1 | xargs)" "done 40 36 4 36 50 50" "its samples, and the mean rate of all that were drawn"
is "$(grep train_loss out | xargs)" "train_loss 4 0.5 8" "its metrics, with how they fell"
is "$(grep '^a&b' out | xargs)" "a&b c not finite 3 -" "whatever they are called"
like "$(tail -n 1 out)" "'http://stretto/v1/trainings/30/metrics\?buckets=20'" "and where to have more"
trained '"state": "done", "metrics": {}' complete
stretto wait 7 >out 2>&1
is "$(grep -A 1 'unique samples/s' out | tail -n 1 | xargs)" "done 40 36 4 36 50 3.6" "without a count of repeats the rate is that of unique ones"
trained '"state": "failed", "reason": "no GPU", "metrics": {}' complete
status_is 1 "one whose training failed is no success" stretto wait 7
like "$(cat out)" 'training failed: no GPU' "and says why"

# --- what is too long for a terminal
long=$(printf '%0100d' 0)
watched "{\"id\": 7, \"name\": \"$long\", \"state\": \"complete\", \"count\": 4, \"width\": 4, \"members\": {\"succeeded\": 4}, \"training\": null}"
terminal 60 24 stretto status 7 >out
like "$(head -n 1 out)" '^ensemble 7 0{29}[^0]+: complete' "of a long name a terminal shows as much as leaves room for the state"
answers <<E
GET /v1/events?limit=1000&after=0 200 {"events": [{"id": 5, "time": "2026-01-01T00:00:09.000Z", "ensemble": 7, "member": 3, "kind": "attempt.ended", "detail": {"reason": "$long"}}], "next": null, "oldest": 1}
E
TZ=Asia/Kolkata terminal 90 24 stretto events >out
is "$(grep -c . out)" 1 "an event is one line of a terminal"
like "$(cat out)" '^5  2026-01-01 05:30:09  7\.3 +attempt\.ended +\{"reason":"0+[^0]+$' "with the time by the reader's clock"
for columns in 20 27 33 46 60 70; do
	terminal $columns 24 stretto events >out
	is "$(grep -c . out)" 1 "nor does one take two lines of a terminal with $columns columns"
done
like "$(cat out)" '^5  2.*attempt\.ended' "and shows as much as there is room for"
stretto events >out
like "$(cat out)" "^5  2026-01-01T00:00:09.000Z  7\\.3 +attempt\\.ended +\\{\"reason\":\"$long\"\\}\$" "elsewhere it is all there, and the time is the API's"
answers <<E
GET /v1/adapters 200 {"adapters": [{"name": "slurm", "state": "silent", "slots": 2, "answered": "2026-01-01T00:00:09.000Z", "jobs": {}, "reason": "sinfo: error: Unable to contact slurm controller (connect failure), tried again every 10 s"}], "refused": []}
E
terminal 50 24 stretto adapters >out
like "$(tr -d '\n' <out)" 'slurm: sinfo: error: Unable to contact slurm controller \(connect failure\), tried again every 10 s$' \
	"a reason is told in full"

stop_canned
done_testing
