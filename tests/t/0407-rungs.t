#!/bin/bash
# stretto-run alone: tasks that are to go up to a step of a metric, whether they know it or not.
TEST_LIMIT=240
. "${srcdir:-.}/tests/t/lib.sh"

declare -A runner
# job NAME CHANGES SCRIPT: begins one whose task is to go up to step 9; CHANGES is a filter for its descriptor
job() {
	mkdir -p "$T/$1/checkpoints"
	jq -n --arg job "st-0407-$$-$1" --arg dir "$T/$1" --arg script "$3" '{version: 1, job: $job, ensemble: 7,
		kind: "members", walltime: 3600, grace: 60, checkpoint: {before: 3000, signal: "USR1", glob: "*.ckpt"}, metrics: {rung: "loss"},
		tasks: [{id: "7.0", dir: ($dir + "/7.0"), argv: ["bash", "-c", $script], until: 9,
			env: {STRETTO_CHECKPOINT_DIR: ($dir + "/checkpoints"), STRETTO_ATTEMPT: "2"}}]} | '"$2" >"$T/$1/job.json"
	(trap '' PIPE; exec "$builddir/stretto-run" "$T/$1" 2>"$T/$1/log") &
	runner[$1]=$!
}
ended() { wait "${runner[$1]}"; is $? 0 "$1: the runner ends"; }
outcome() { jq -c '[.outcome, .exit_code, .signal, .rung, .reason]' "$T/$1/7.0/exit.json"; }

steps='say() { echo "{\"step\": $1, \"loss\": $2}" >>"$STRETTO_METRICS"; }
ever() { while :; do sleep 0.1; done; }
'
# Tasks that run until they get a signal
job warned . "$steps"'trap "exit 0" USR1; say 8 5; say 9 4.5; say 10 1; ever'
job told 'del(.checkpoint.signal)' "$steps"'say 9 4.5; say 12 1; ever'
job last '.tasks[0].last = true | .metrics.success = "loss" | .metrics.at_most = 2' "$steps"'trap "exit 3" USR1; say 9 1.5; say 10 1; ever'
# It is at its rung, and saves for as long as the runner takes to see that: the other ones tell how long that is.
job saves . "$steps"'trap "exit 7" USR1 TERM; say 9 4; until [ -e "'"$T"'/go" ]; do sleep 0.1; done; exit 0'

job knows . "$steps"'say 3 7; say 9 0.25; exit 0'
ended knows
is "$(outcome knows)" '["reached",0,null,{"step":9,"value":0.25},"reached step 9, with loss 0.25"]' "one that ends at its step has reached it"
job beyond . "$steps"'say 3 7; say 11 0.5; say 12 0.25; exit 0'
ended beyond
is "$(outcome beyond)" '["reached",0,null,{"step":11,"value":0.5},"reached step 11, with loss 0.5"]' "the first point there counts"
job success '.tasks[0].success_file = "result"' "$steps"'say 9 1'
ended success
is "$(outcome success | jq -c .[0])" '"reached"' "what success leaves behind is not asked for there"
job failed . "$steps"'say 9 1; exit 3'
ended failed
is "$(outcome failed | jq -c .[:2])" '["failed",3]' "one that fails at its step has failed"
job zero . "$steps"'say 7 2; say 8 0.5'
ended zero
is "$(outcome zero)" '["reached",0,null,{"step":8,"value":0.5},"reached step 8, with loss 0.5"]' "nine steps that count from 0 are as many"
job crash . "$steps"'say 8 0.5; exit 3'
ended crash
is "$(outcome crash | jq -c .[:2])" '["failed",3]' "but not of one that fails"
job early . "$steps"'say 7 1'
ended early
is "$(outcome early | jq -c .[0]) $(jq -r .notice early/7.0/exit.json)" '"succeeded" it ended by itself after step 7, before step 9' \
	"one that ends before has succeeded, and it is told"
job silent . 'exit 0'
ended silent
is "$(outcome silent)" '["failed",0,null,null,"it reported no metric \"loss\", by which members are stopped early"]' "one that reports nothing has failed"
job before . "$steps"'echo 9 >"$STRETTO_CHECKPOINT_DIR/a.ckpt"; say 9 1'
ended before
job again ".tasks[0].env = {STRETTO_CHECKPOINT_DIR: \"$T/before/checkpoints\", STRETTO_ATTEMPT: \"3\"}" 'exit 0'
ended again
is "$(outcome again)" '["reached",0,null,null,"reached step 9 before"]' "unless it went on from a checkpoint and had nothing left to do"
job nan '.metrics.diverged = "ignore"' "$steps"'say 9 NaN'
ended nan
is "$(outcome nan | jq -c '.[0, 3]')" '"reached"
{"step":9,"value":null}' "NaN is a value"
job end '.tasks[0].last = true' "$steps"'say 9 1.5'
ended end
is "$(outcome end | jq -c '.[0, 3]')" '"succeeded"
{"step":9,"value":1.5}' "at the last step it has succeeded"

ended warned
is "$(outcome warned)" '["reached",0,null,{"step":9,"value":4.5},"reached step 9, with loss 4.5"]' "one that goes beyond is warned"
ended told
is "$(outcome told | jq -c '.[:4]')" '["reached",null,15,{"step":9,"value":4.5}]' "or gets SIGTERM, where no signal warns it"
ended last
is "$(outcome last | jq -c '.[:4]')" '["succeeded",3,null,{"step":9,"value":1.5}]' "at the last step its metric decides, however it ends"
touch go
ended saves
is "$(outcome saves | jq -c '.[:2]')" '["reached",0]' "one that is at its step is left in peace"
done_testing
