#!/bin/bash
# stretto-run alone: what tasks find when they start, and what exit status 0 proves of one that was warned that its time
# is nearly over, where nothing else tells success.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh"

declare -A runner
# job NAME BEFORE SCRIPT: begins one that is warned so many seconds before the end of an hour
job() {
	mkdir -p "$T/$1/checkpoints"
	jq -n --arg job "st-0404-$$-$1" --arg dir "$T/$1" --argjson before "$2" --arg script "$3" '{version: 1, job: $job, ensemble: 7,
		kind: "members", walltime: 3600, grace: 60, checkpoint: {before: $before, signal: "USR1", glob: "*.ckpt"}, tasks: [{id: "7.0",
		dir: ($dir + "/7.0"), argv: ["sh", "-c", $script], env: {STRETTO_CHECKPOINT_DIR: ($dir + "/checkpoints")}}]}' >"$T/$1/job.json"
	(trap '' PIPE QUIT; exec "$builddir/stretto-run" "$T/$1" 2>"$T/$1/log" 9</etc/passwd) &
	runner[$1]=$!
}
ended() { wait "${runner[$1]}"; is $? 0 "$1: the runner ends"; }
outcome() { jq -r '"\(.outcome) \(.exit_code): \(.reason)"' "$T/$1/7.0/exit.json"; }

# those that are warned, after 20 s, all at once
job warned 3580 "trap 'exit 0' USR1; while :; do sleep 0.1; done"
job finished 3580 "trap 'echo {\\\"progress\\\": 1} >\$STRETTO_METRICS; exit 0' USR1; while :; do sleep 0.1; done"
job failed 3580 "trap 'exit 3' USR1; while :; do sleep 0.1; done"
# A rank tells by its done record whether it has finished, so its exit status 0 is a success. Nobody looks for its
# checkpoints.
mkdir -p rank/checkpoints
jq -n --arg job "st-0404-$$-rank" --arg dir "$T/rank" '{version: 1, job: $job, ensemble: 7, kind: "training", walltime: 3600, grace: 60,
	checkpoint: {before: 3580, signal: "USR1"}, tasks: [{id: "7.training.0", dir: ($dir + "/7.0"), argv: ["sh", "-c",
	"trap \"exit 0\" USR1; echo $STRETTO_CHECKPOINT_BEFORE; while :; do sleep 0.1; done"], env: {STRETTO_CHECKPOINT_DIR: ($dir + "/checkpoints")}}]}' \
	>rank/job.json
"$builddir/stretto-run" "$T/rank" 2>rank/log &
runner[rank]=$!
job calm 1 'exit 0'
ended calm
is "$(outcome calm)" "succeeded 0: " "before the warning it is"
job signals 1 'exec grep -E "^Sig(Ign|Blk)" /proc/self/status'
ended signals
low() { echo $((0x$(sed -n "s/^$1:.//p" signals/7.0/stdout) & 0x7fffffff)); } # the others are libc's own
is "$(low SigIgn) $(low SigBlk)" "0 0" "a task ignores and blocks no signals, whatever its runner does"

job open 1 'exec ls /proc/self/fd'
ended open
is "$(xargs <open/7.0/stdout)" "0 1 2 3" "nor does it have files that whoever started the runner has open"

# It begins afresh in ensemble 7: what was left before does not count, and what was left since does, also in a
# follow-up. The programs of all three share a directory for their checkpoints.
goes_on() { # NAME ENSEMBLE ATTEMPT SINCE SINCE_IN CHECKPOINT: leaves it, and is told which to go on from
	mkdir "$T/$1"
	jq -n --arg job "st-0404-$$-$1" --arg dir "$T/$1" --arg checkpoints "$T/shared" --arg file "$6" --argjson ensemble "$2" --arg attempt "$3" \
		--argjson since "$4" --argjson since_in "$5" '{version: 1, job: $job, ensemble: $ensemble, kind: "members", walltime: 3600,
		grace: 60, checkpoint: {before: 1, signal: "USR1", glob: "*.ckpt"}, tasks: [{id: "\($ensemble).0", dir: ($dir + "/task"),
		since: $since, since_in: $since_in, env: {STRETTO_CHECKPOINT_DIR: $checkpoints, STRETTO_ATTEMPT: $attempt},
		argv: ["sh", "-c", "echo \"${STRETTO_RESUME-afresh}\"; echo $0 >$STRETTO_CHECKPOINT_DIR/$0", $file]}]}' >"$T/$1/job.json"
	"$builddir/stretto-run" "$T/$1" 2>"$T/$1/log"
	basename "$(cat "$T/$1/task/stdout")"
}
mkdir shared
is "$(goes_on first 7 1 0 0 a-1.ckpt)" afresh "a first attempt has nothing to go on from"
is "$(goes_on second 7 2 0 0 a-2.ckpt)" a-1.ckpt "the next one goes on from what it left"
is "$(goes_on afresh 7 3 3 0 a-3.ckpt)" afresh "one that is to begin afresh does not"
is "$(goes_on follow 8 1 3 7 a-4.ckpt)" a-3.ckpt "a follow-up goes on from what that one left"
is "$(goes_on again 8 2 3 7 a-5.ckpt)" a-4.ckpt "and then from its own"

# Programs that write a checkpoint under another name and rename it are looked at then, while they run.
job renamed 1 'cd "$STRETTO_CHECKPOINT_DIR"; echo x >part; mv part a-1.ckpt
	for i in $(seq 3000); do ! grep -q a-1.ckpt .stretto/* 2>/dev/null || exit 0; sleep 0.1; done; exit 3'
ended renamed
is "$(outcome renamed)" "succeeded 0: " "a checkpoint that is renamed into place is in the books while its program runs"

# Files of a process that outlives the first one of its task are waited for, within the grace. It ignores SIGTERM from
# its start on, since the first process may have ended before the other one runs.
job lingers 1 'trap "" TERM; sh -c "while kill -0 $$ 2>/dev/null; do sleep 0.1; done; sleep 0.5; cd \"\$STRETTO_CHECKPOINT_DIR\"
	echo x >part; mv part a-9.ckpt" & exit 0'
ended lingers
is "$(jq -c '[.outcome, .checkpoints[].path]' lingers/7.0/exit.json)" '["succeeded","a-9.ckpt"]' "the last checkpoint of one that leaves a process behind is its own"

ended warned
is "$(outcome warned)" "timeout 0: stopped near the end of its time: exit status 0" "exit status 0 after the warning is no success: it may have stopped for want of time"
ended finished
is "$(outcome finished)" "succeeded 0: " "unless it has reported that it has finished"
ended failed
is "$(outcome failed)" "timeout 3: stopped near the end of its time: exit status 3" "whatever it does after the warning is put down to that"
ended rank
is "$(outcome rank) $(cat rank/7.0/stdout)" "succeeded 0:  3580" "a rank that ends with exit status 0 after the warning has not failed"
is "$(ls -A rank/checkpoints) $(jq 'has("checkpoints")' rank/7.0/exit.json)" " false" "its checkpoints are its own business"

done_testing
