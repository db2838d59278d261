#!/bin/bash
# stretto-run alone: what tasks find when they start, and what exit status 0 proves of one that was warned that its time is nearly over, where
# nothing else tells success.
TEST_LIMIT=30
. "${srcdir:-.}/tests/t/lib.sh"

# job NAME BEFORE SCRIPT: warned so many seconds before the end of an hour
job() {
	mkdir -p "$T/$1/checkpoints"
	jq -n --arg job "st-0404-$$-$1" --arg dir "$T/$1" --argjson before "$2" --arg script "$3" '{version: 1, job: $job, ensemble: 7,
		kind: "members", walltime: 3600, grace: 60, checkpoint: {before: $before, signal: "USR1"}, tasks: [{id: "7.0",
		dir: ($dir + "/7.0"), argv: ["sh", "-c", $script], env: {STRETTO_CHECKPOINT_DIR: ($dir + "/checkpoints")}}]}' >"$T/$1/job.json"
	(trap '' PIPE; exec "$builddir/stretto-run" "$T/$1" 2>"$T/$1/log")
	is $? 0 "$1: the runner ends"
}
outcome() { jq -r '"\(.outcome) \(.exit_code): \(.reason)"' "$T/$1/7.0/exit.json"; }

job warned 3599 "trap 'exit 0' USR1; while :; do sleep 0.1; done"
is "$(outcome warned)" "timeout 0: stopped near the end of its time: exit status 0" "exit status 0 after the warning is no success: it may have stopped for want of time"
job calm 1 'exit 0'
is "$(outcome calm)" "succeeded 0: " "before the warning it is"
job failed 3599 "trap 'exit 3' USR1; while :; do sleep 0.1; done"
is "$(outcome failed)" "timeout 3: stopped near the end of its time: exit status 3" "whatever it does after the warning is put down to that"

job signals 1 'exec grep -E "^Sig(Ign|Blk)" /proc/self/status'
low() { echo $((0x$(sed -n "s/^$1:.//p" signals/7.0/stdout) & 0x7fffffff)); } # the others are libc's own
is "$(low SigIgn) $(low SigBlk)" "0 0" "a task ignores and blocks no signals, whatever its runner does"

done_testing
