#!/bin/bash
# stretto-run alone: a task that shows no sign of life is ended, and one that does is not. All tasks of a job are looked
# at together, so the others prove their life for as long as the first ones prove nothing: until the records of those
# are there.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh"

# job NAME KIND SILENCE TASKS: the tasks are a jq array of scripts; `ended` in one waits for the records of the first
# two tasks
job() {
	mkdir "$T/$1"
	jq -n --arg job "st-0402-$$-$1" --arg dir "$T/$1" --arg kind "$2" --argjson silence "$3" "{version: 1, job: \$job, ensemble: 7,
		kind: \$kind, walltime: 0, grace: 3600, silence: \$silence, tasks: [$4 | to_entries[] | {id: \"7.\\(.key)\",
		dir: \"\\(\$dir)/7.\\(.key)\", argv: [\"sh\", \"-c\", .value], env: {STRETTO_STREAM: \"$T/none\", STRETTO_STREAM_KEY: \"1\",
		STRETTO_ENSEMBLE: \"7\", STRETTO_MEMBER: \"0\", STRETTO_ATTEMPT: \"1\", STRETTO_PARAMS: \"{}\",
		STRETTO_FIELDS: \"{\\\"temperature\\\": {\\\"dtype\\\": \\\"float32\\\", \\\"shape\\\": [3, 4]}}\"}}]}" >"$T/$1/job.json"
	"$builddir/stretto-run" "$T/$1" 2>"$T/$1/log" & RUNNER=$!
}
record() { jq -r '"\(.outcome): \(.reason)"' "$T/$1/exit.json" 2>&1; }
both='[ -e ../7.0/exit.json ] && [ -e ../7.1/exit.json ] && [ -e ../7.5/exit.json ]'
# a debugger, and what it has stopped, which ends with it
cat >traced.py <<'END'
import ctypes, os, signal
libc = ctypes.CDLL(None)
child = os.fork()
if child == 0:
    libc.prctl(1, int(signal.SIGKILL))
    libc.ptrace(0, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
os.waitpid(child, 0)
signal.pause()
END

job members members 2 "[\"kill -STOP \$\$\", \"sleep 1000 & wait\", \"until $both; do :; done\", \"until $both; do echo; sleep 0.1; done\",
	\"exec $builddir/tests/t/stream-member 3\", \"trap 'exit 0' TERM; sleep 1000 & wait\", \"exec python3 ../../traced.py\"]"
ok "a job with tasks that hang, and others" wait_for 60 '[ -e members/7.2/exit.json ] && [ -e members/7.3/exit.json ]'
is "$(record members/7.0)" "failed: ended, since all its processes were stopped for 2 s" "one that is stopped has failed"
is "$(record members/7.1)" "failed: ended, since it showed no sign of life for 2 s: no sample, no report, no output, no CPU time" \
	"so has one that is blocked"
is "$(jq -c .signal members/7.[01]/exit.json | xargs)" "15 15" "by SIGTERM: nobody waits for the grace of an hour"
is "$(jq -r '"\(.outcome) \(.exit_code)"' members/7.5/exit.json)" "failed 0" "exit status 0 at that is no success"
is "$(record members/7.2),$(record members/7.3)" "succeeded: ,succeeded: " "one that computes is left alone, and so is one that tells something"
ok "and one that waits for its training in the library" kill -0 "$(pgrep -P "$RUNNER" -f stream-member)"
ok "so is one that is in a debugger" [ ! -e members/7.6/exit.json ]
kill -TERM "$RUNNER"; wait "$RUNNER"
like "$(record members/7.4)" "^cancelled" "to its end"

# A rank may wait for one that waits for samples: only if all are quiet, they hang.
job ranks training 2 "[\"kill -STOP \$\$\", \"sleep 1000\"]"
wait "$RUNNER"
is "$(record ranks/7.0)" "failed: ended, since all its processes were stopped for 2 s" "a rank that is stopped has failed"
like "$(record ranks/7.1)" "^(cancelled: ended, because another rank failed|failed: ended, since no rank showed any sign of life)" "the other one is ended with it"
# the first one ends after the second
job quiet training 1 "[\"trap 'until [ -e ../7.1/exit.json ]; do sleep 0.1; done' TERM; sleep 1000 & wait\", \"while [ ! -e ../stop ]; do :; done; sleep 1000\"]"
job canary members 3 "[\"sleep 1000\"]"
wait "$RUNNER"
like "$(record canary/7.0)" "^failed" "while another task is found to hang, three times as long"
ok "a quiet rank is left alone, since another one works" [ ! -e quiet/7.0/exit.json ]
touch quiet/stop
ok "until that one is quiet, too" wait_for 60 '[ -e quiet/ended.json ]'
like "$(record quiet/7.1)" "^failed: ended, since no rank showed any sign of life for 1 s" "then they hang"
like "$(record quiet/7.0)" "^failed: ended, since no rank showed any sign of life for 1 s" "each of them, whichever ends first"

# A pilot may have nothing to do for long.
job pilot pilot 1 "[\"sleep 1000 & kill -STOP \$\$\", \"sleep 1000\"]"
ok "a pilot that is stopped, while what it has started goes on" wait_for 20 '[ -e pilot/7.0/exit.json ]'
is "$(record pilot/7.0)" "failed: ended, since all its processes were stopped for 1 s" "has failed"
job canary2 members 3 "[\"sleep 1000\"]"; canary=$RUNNER
wait "$canary"
ok "one that waits is left alone" [ ! -e pilot/7.1/exit.json ]
kill -TERM "$(jq .pid pilot/claim.json)"

done_testing
