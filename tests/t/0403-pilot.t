#!/bin/bash
# stretto-run --pilot alone, with orders as a daemon would write them: the room of its node, the grace of its jobs, and
# runners that are stopped.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh"

mark=st-0403-$$
mkdir pilot
jq -n --arg job "$mark" --arg control "$T/nobody" '{version: 1, job: $job, ensemble: 7, control: $control, nodes: 1, cpus: 8, memory: 1000, idle: 3600, least: 0, flush: false, stopped: 2}' >pilot/pilot.json
unset STRETTO_DEADLINE
"$builddir/stretto-run" --pilot "$T/pilot" 2>pilot.log & pilot=$!
ok "a pilot begins" wait_for 60 '[ -d pilot/node0/inbox ] && grep -q ready pilot/node0/journal.jsonl'

# Each runner is a copy of the pilot: a thread of the pilot's might hold a lock just then, which the copy would have for
# ever.
is "$(sed -n 's/^Threads:\t//p' /proc/$pilot/status) $(pgrep -P $pilot)" "1 " "it has no threads and no processes but its jobs"

orders=0
order() { # LINE: into its inbox, whole
	orders=$((orders + 1))
	echo "$1" >"pilot/node0/inbox/part" && mv pilot/node0/inbox/part "pilot/node0/inbox/$(printf %06d $orders).jsonl"
}
job() { # NAME MEMORY GRACE SCRIPT
	mkdir "$1"
	order "$(jq -n -c --arg job "$mark-$1" --arg dir "$T/$1" --argjson memory "$2" --argjson grace "$3" --arg script "$4" '{job: $job,
		dir: $dir, cpus: 1, gpus: 0, memory: $memory, least: 0, grace: $grace, descriptor: {version: 1, job: $job, ensemble: 7,
		kind: "members", walltime: 0, grace: $grace, tasks: [{id: "7.0", dir: ($dir + "/7.0"), argv: ["sh", "-c", $script]}]}}' | tee "$1/order")"
}
said() { grep "\"$mark-$1\"" pilot/node0/journal.jsonl | grep -c "$2"; }
ended() { wait_for 60 "[ -s $1/7.0/exit.json ]"; }

for i in 1 2 3; do job "m$i" 600 1 'mkdir ../../one && sleep 0.3 && rmdir ../../one'; done
ok "three jobs of more than half of its memory each" ended m3
[ $TESTS_FAILED -eq 0 ] || bail "$(cat pilot.log)"
is "$(jq -r .outcome m[123]/7.0/exit.json | xargs)" "succeeded succeeded succeeded" "run one after the other"

# what is no file of the inbox is none of the daemon's, and is not carried out
jq -c --arg mark "$mark" '.job = $mark + "-led"' m1/order >led.jsonl
ln -s "$T/led.jsonl" pilot/node0/inbox/000000.jsonl
job behind 0 1 true
ok "the order behind a link is carried out" ended behind
ok "and the link is removed" [ ! -L pilot/node0/inbox/000000.jsonl ]
is "$(said led .)" "0" "and not followed"

# longer than the pilot waits for a runner beyond the grace: an end without success would be a runner that was killed
job graceful 0 3600 "trap 'sleep 7; echo >end; exit 0' TERM; touch up; while :; do sleep 0.1; done"
ok "a job with a long grace" wait_for 60 '[ -e graceful/7.0/up ]'
order "{\"cancel\":\"$mark-graceful\"}"
ok "is cancelled" ended graceful
is "$(jq -r '"\(.outcome) \(.signal)"' graceful/7.0/exit.json) $(ls graceful/7.0/end)" "cancelled null graceful/7.0/end" "and has its grace"

# shellcheck disable=SC2016 # for the job
job stopped 900 3600 'setsid sh -c "trap \"\" TERM; echo \$\$ >orphan; while :; do sleep 0.1; done" & until [ -s orphan ]; do sleep 0.05; done
	touch up; kill -STOP $PPID; sleep 1000'
ok "a job whose runner is stopped" wait_for 60 '[ -e stopped/7.0/up ]'
job after 900 1 'true'
ok "gives its place to the next one" ended after
# shellcheck disable=SC2016 # for wait_for
ok "what it had started is killed, though it takes no notice of SIGTERM" wait_for 20 '! kill -0 "$(cat stopped/7.0/orphan)" 2>/dev/null'
ok "after its runner was killed" grep -q "$mark-stopped: its runner was stopped and did not go on" pilot.log

job large 1001 1 'true'
ok "a job of more than its memory is given back" wait_for 60 '[ "$(said large return)" = 1 ]'
order "$(jq -c . large/order)"
ok "and once more, where a daemon that did not hear of it hands it over again" wait_for 60 '[ "$(said large return)" = 2 ]'

# What it is handed while it looks away it takes in the order in which it was written: no job is started that was
# cancelled since.
kill -STOP "$pilot"
for ((i = 0; i < 30; i++)); do
	job "c$i" 0 1 'true'
	order "{\"cancel\":\"$mark-c$i\"}"
done
kill -CONT "$pilot"
ok "what becomes of jobs that were cancelled before it looked is told" wait_for 60 '[ "$(grep -cE "\"what\":\"(return|start)\".*-c[0-9]+\"" pilot/node0/journal.jsonl)" = 30 ]'
is "$(grep -c "\"what\":\"start\".*-c[0-9]*\"" pilot/node0/journal.jsonl)" 0 "none of them is started"

job last 900 3600 "trap 'exit 0' TERM; touch up; while :; do sleep 0.1; done"
job waits 900 1 'true'
# an order leaves the inbox once the pilot has taken it
ok "a job runs, and another one waits" wait_for 60 '[ -e last/7.0/up ] && [ -z "$(ls pilot/node0/inbox)" ]'
kill -TERM "$pilot"
wait "$pilot"; is $? 0 "the pilot ends"
is "$(jq -r .outcome last/7.0/exit.json) $(said last '"end"') $(said waits '"return"')" "cancelled 1 1" "after the job that runs, and gives back the one that waits"
is "$(tail -n 1 pilot/node0/journal.jsonl | jq -r '"\(.what) \(.why)"')" "over told to end" "which it says last"
done_testing
