#!/bin/bash
# stretto-run ends all that a task has started, also what gave up its environment and its session, and does so as soon
# as the task has ended. The grace is an hour, so that a runner that waits for it, or for ever, fails by the limit.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh"

# ends NAME GRACE WHAT SCRIPT...: a job with a task for each script. The tasks and all that they start hold a lock.
ends() {
	local name=$1 grace=$2 what=$3
	shift 3
	mkdir "$T/$name"
	jq -n --arg job "st-0401-$$-$name" --arg dir "$T/$name" --argjson grace "$grace" '{version: 1, job: $job, ensemble: 7,
		kind: "members", walltime: 0, grace: $grace, tasks: [$ARGS.positional | to_entries[] | {id: "7.\(.key)", dir: "\($dir)/7.\(.key)",
		argv: ["sh", "-c", "exec 9>../lock; flock -s 9; \(.value)"]}]}' --args "$@" >"$T/$name/job.json"
	timeout -k 1 60 "$builddir/stretto-run" "$T/$name" 2>"$T/$name/log"
	is $? 0 "$what: the runner ends"
	[ $TESTS_FAILED -eq 0 ] || bail "$(cat "$T/$name/log")"
	ok "… and nothing of it is left" flock -n "$T/$name/lock" true
	is "$(jq -r .outcome "$T/$name"/7.*/exit.json | sort -u)" succeeded "… which is no failure of the task"
	diag "$(tail -n 5 "$T/$name/log")"
	fuser -s -k -KILL "$T/$name/lock" 2>/dev/null
}
# /bin/sh, of which the file $1 is made once it is that program, with its own environment
cat >"$T/stay" <<'END'
#!/bin/sh
: >"$1"; while :; do sleep 1000; done
END
chmod +x "$T/stay"
up='until [ -e up ]; do sleep 0.1; done'
ends both 3600 "one process with the task's environment, and one without" "(setsid sleep 1000 &); env -i setsid $T/stay up & $up"
ends session 3600 "a process without the environment, in the task's session" "env -i $T/stay up & $up"
ends alone 3600 "a process without environment, session and parent" "(env -i setsid $T/stay up &); $up"
ends deep 3600 "a child without environment and session of what is left" "setsid sh -c 'env -i setsid $T/stay up; :' & $up"
ends deaf 1 "a process that ignores SIGTERM" "(trap '' TERM; env -i setsid $T/stay up &); $up"
ends stopped 1 "a process that is stopped" "env -i setsid $T/stay up & $up; kill -STOP \$!"
cat >"$T/leave" <<'END'
trap 'STRETTO_TASK=$2 setsid sleep 1000 & exit' TERM
: >"$1"; while :; do sleep 0.1; done
END
ends heir 3600 "what another process, without the environment, starts for the task as it is told to end" \
	"env -i PATH=\"\$PATH\" setsid sh $T/leave up \"\$STRETTO_TASK\" & $up"
ends packed 3600 "what one of two tasks leaves in its session, while the other goes on until it is gone" \
	"(exec 8>left 9>&-; flock 8; exec env -i $T/stay up) & $up; : >../left" \
	'until [ -e ../left ]; do sleep 0.1; done; flock ../7.0/left true'

done_testing
