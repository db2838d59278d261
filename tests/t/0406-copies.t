#!/usr/bin/env bash
# stretto-run alone: copies of a command as ranks, launchers of several words, and how the processes of a task find each
# other.
TEST_LIMIT=120
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
unset CUDA_VISIBLE_DEVICES SLURM_JOB_ID SLURM_JOB_NODELIST PBS_NODEFILE
host=$(uname -n)

# job NAME TASKS [JQ]: the tasks are a jq array; "dir" is filled in from the id
job() {
	mkdir "$T/$1"
	jq -n --arg job "t-$1" --arg dir "$T/$1" --arg t "$T" "{version: 1, job: \$job, ensemble: 7, kind: \"members\", walltime: 600, grace: 60,
		tasks: ($2 | map({dir: (\$dir + \"/\" + .id)} + .))} | ${3:-.}" >"$T/$1/job.json"
}
run() { stretto-run "${@:2}" "$T/$1" 2>"$T/$1.log"; }
record() { jq -c "$2" "$T/$1/exit.json"; }
told() { sort "$T/$1/stdout"; } # what its copies have said

# --- ranks

# shellcheck disable=SC2016 # for the copies
say='["sh", "-c", "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $STRETTO_HOSTS ${CUDA_VISIBLE_DEVICES-unset} $(umask)"]'
job ranks "[{id: \"7.0\", ntasks: 3, launcher: \"copies\", argv: $say}, {id: \"7.1\", ntasks: 1, launcher: \"copies\", argv: $say},
	{id: \"7.2\", ntasks: 2, argv: $say}, {id: \"7.3\", argv: $say}]" '.umask = "0027"'
run ranks
is "$(told ranks/7.0)" "0 0 3 3 127.0.0.1 $host:3 unset 0027
1 1 3 3 127.0.0.1 $host:3 unset 0027
2 2 3 3 127.0.0.1 $host:3 unset 0027" "each copy is told its rank, in the member's umask"
is "$(told ranks/7.1)" "0 0 1 1 127.0.0.1 $host:1 unset 0027" "one copy is a world of one"
is "$(told ranks/7.2)" "127.0.0.1 $host:2 unset 0027" "a command that starts its processes itself has their hosts"
is "$(told ranks/7.3)" "unset 0027" "one that is one process needs nothing of that"
is "$(cat ranks/7.0/hostfile) $(cat ranks/7.2/hostfile)" "$host:3 $host:2" "the hosts are in a file, too"
is "$(for m in 0 1 2 3; do record "ranks/7.$m" .outcome; done | uniq)" '"succeeded"' "all end well"

job gpus "[{id: \"7.0\", ntasks: 2, launcher: \"copies\", argv: $say}, {id: \"7.1\", ntasks: 4, launcher: \"copies\", argv: $say}]"
run gpus --local --gpus=a,b,c,d
is "$(told gpus/7.0 | cut -d ' ' -f 7 | xargs)" "a b" "each copy has a GPU"
is "$(told gpus/7.1 | cut -d ' ' -f 7 | xargs)" "c c d d" "which several have only where there are fewer than copies"

job local '[{id: "7.0", argv: ["sh", "-c", "exit 3"]}]'
run local --local
like "$(cat local/runner.log)" "task 7.0: failed" "where the daemon watches the runner, its log is a file once a task has failed"
ok "and otherwise there is none" test ! -e gpus/runner.log

# Three tasks at once, each of which waits for all: none has the port of another, nor one that it had before.
# shellcheck disable=SC2016 # for the copies
meet='["sh", "-c", "echo $MASTER_PORT; touch $1/met.$2; while [ $(ls $1/met.* | wc -l) -lt 3 ]; do sleep 0.1; done", "sh", ($t + "/ports")]'
job ports "[range(3) | {id: \"7.\\(.)\", ntasks: 2, env: {STRETTO_ATTEMPT: \"1\"}, argv: ($meet + [tostring])}]"
run ports
is "$(cat ports/7.*/stdout | sort -u | wc -l)" 3 "tasks that run at the same time have a port each"
job again "[{id: \"7.0\", ntasks: 2, env: {STRETTO_ATTEMPT: \"2\"}, argv: [\"sh\", \"-c\", \"echo \$MASTER_PORT\"]}]"
run again
ok "the next attempt has another one" test "$(cat again/7.0/stdout)" != "$(cat ports/7.0/stdout)"

# --- on one of several nodes, as srun starts them; on CPUs that are the job's own each has its part

# shellcheck disable=SC2016 # for the copies
on_node() { STRETTO_HOSTS=a:2,b:3,c:1 stretto-run --copies 60000 sh -c 'echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE' 2>&1; }
is "$(SLURM_NODEID=0 on_node | sort | paste -s -d ,)" "0 0 6 2,1 1 6 2" "copies on the first node have the first ranks"
is "$(SLURM_NODEID=1 on_node | sort | paste -s -d ,)" "2 0 6 3,3 1 6 3,4 2 6 3" "those on the second have the next"
is "$(SLURM_NODEID=2 on_node | sort | paste -s -d ,)" "5 0 6 1" "and so on"
SLURM_NODEID=3 on_node >log; is $? 78 "there are no more than there are hosts"
on_node >log; is $? 78 "a node without a number has no ranks"
cpus=$(nproc)
is "$(SLURM_JOB_ID=1 SLURM_CPUS_ON_NODE=$cpus STRETTO_HOSTS="a:$cpus" stretto-run --copies 60000 sh -c 'taskset -cp $$' | sed 's/.*: //' | sort -u | grep -c '^[0-9]*$')" \
	"$cpus" "each copy has a CPU of its own"
is "$(SLURM_JOB_ID=1 SLURM_CPUS_ON_NODE=$((cpus + 1)) STRETTO_HOSTS="a:$cpus" stretto-run --copies 60000 nproc | uniq)" 1 "also where more are promised than there are"
# shellcheck disable=SC2016 # for the copies
for sig in TERM HUP USR1 USR2 ALRM; do
	STRETTO_HOSTS=a:1 stretto-run --copies 60000 sh -c 'trap "echo $1 >got.$1; exit 0" $1; touch up.$1; while :; do sleep 0.1; done' sh $sig &
	ok "a copy waits for SIG$sig" wait_for 30 "[ -e up.$sig ]"
	kill -s $sig $!
	wait $!
	is "$? $(cat got.$sig)" "0 $sig" "which goes on to it"
done

# --- ends

# shellcheck disable=SC2016 # for the copies
one_fails() { # SHELL: rank 1 does that once the others are there, and all others wait for ever
	printf '["sh", "-c", "touch there.$RANK; [ $RANK = 1 ] || exec sleep 1000; while [ $(ls there.* | wc -l) -lt 3 ]; do sleep 0.1; done; %s"]' "$1"
}
job fails "[{id: \"7.0\", ntasks: 3, launcher: \"copies\", argv: $(one_fails 'echo no such mesh >&2; exit 3')},
	{id: \"7.1\", ntasks: 3, launcher: \"copies\", argv: $(one_fails 'kill -SEGV $$')},
	{id: \"7.2\", ntasks: 2, launcher: \"copies\", argv: [\"no-such-program\"]}]"
run fails
is "$(record fails/7.0 '[.outcome, .exit_code, .reason]')" '["failed",3,"exit status 3: no such mesh"]' "a copy that fails ends the others, and is the reason"
is "$(record fails/7.1 '[.outcome, .signal]')" '["failed",11]' "so is one that is killed"
like "$(cat fails/7.0/stderr)" "info: rank 1 ended with status 3: the other 2" "its rank is told"
is "$(record fails/7.2 .reason)" '"cannot start \"no-such-program\": not found on PATH"' "a program that is not there is told once"

# shellcheck disable=SC2016 # for the copies
job stays '[{id: "7.0", ntasks: 2, launcher: "copies", argv: ["sh", "-c", "trap \"\" TERM; touch there.$RANK; [ $RANK = 1 ] || exec sleep 1000;
	while [ ! -e there.0 ]; do sleep 0.1; done; exit 4"]}]' '.grace = 0.5'
run stays
is "$(record stays/7.0 '[.outcome, .exit_code]')" '["failed",4]' "one that does not end on SIGTERM is killed when its grace is over"

# shellcheck disable=SC2016 # for the copies
job warned '[{id: "7.0", ntasks: 3, launcher: "copies", argv: ["sh", "-c", "trap \"exit 0\" USR1; touch there.$RANK; while :; do sleep 0.1; done"]}]'
run warned &
ok "copies wait" wait_for 30 '[ "$(ls "$T"/warned/7.0/there.* | wc -l)" = 3 ]'
kill -USR1 "$(jq .pid warned/claim.json)"
wait $!
is "$(record warned/7.0 .outcome)" '"succeeded"' "a signal goes on to all copies"

# shellcheck disable=SC2016 # for the copies
job lost '[{id: "7.0", ntasks: 2, launcher: "copies", argv: ["sh", "-c", "touch there.$RANK; exec sleep 1000"]}]'
run lost &
ok "copies run" wait_for 30 '[ "$(ls "$T"/lost/7.0/there.* | wc -l)" = 2 ]'
kill -KILL "$(pgrep -P "$(jq .pid lost/claim.json)")"
wait $!
is "$(record lost/7.0 '[.outcome, .signal]')" '["failed",9]' "copies do not outlive what has started them"

# --- launchers of several words

cat >launch <<'E2'
#!/bin/sh
[ -s "$2" ] && nc=$(cat "$2")
shift 2
echo "$nc $*"
E2
chmod +x launch
job words "[{id: \"7.0\", ntasks: 4, launch: [\"$T/launch\", \"-f\", \"{hostfile}\", \"-H\", \"{hosts}\", \"{master_addr}:{master_port}\", \"{other}\"], argv: [\"a.out\", \"{hosts}\"]}]"
run words
like "$(told words/7.0)" "^$host:4 -H $host:4 127.0.0.1:[0-9]+ \{other\} a.out \{hosts\}$" "its placeholders are filled in, and the command follows as it is"
job nodes '[{id: "7.0", ntasks: 4, nodes: 2, launcher: "copies", argv: ["true"]}, {id: "7.1", ntasks: 4, nodes: 2, argv: ["true"]}]'
run nodes
like "$(record nodes/7.0 .reason)" "it is to have 2 nodes, and the batch system names 0" "copies on nodes that nobody knows are not started"
is "$(record nodes/7.1 .outcome)" '"succeeded"' "what has its own ways is"
done_testing
