#!/usr/bin/env bash
# What is told of a member that failed, and the umask that members are started with.
# shellcheck disable=SC2016 # for the members' shells
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
run() { # COMMAND [JQ]: a member that is this shell command; how its attempt ended is in $REASON
	jq -n --arg command "$1" --arg path "$builddir" '{name: "one", members: {command: ["sh", "-c", $command], retries: 0,
		env: {PATH: ($path + "/tests/t:/usr/bin:/bin")}, parameters: {grid: {x: [1]}}}} | '"${2:-.}" >spec.json
	ID=$(submit spec.json)
	wait_ensemble "$ID" 60
	REASON=$(api GET "/v1/ensembles/$ID/members/0" | jq -r '.attempts[0].reason')
}

# --- what the library notes on stderr is no reason
run 'checkpoint-member 1 0; exit 3' '.members.checkpoint = {}'
is "$(api GET "/v1/ensembles/$ID/members/0/stderr" | grep -c 'STRETTO_STREAM is not set')" 1 "a member without a training is told that nothing is sent"
is "$REASON" "exit status 3" "which is not why it failed"
run 'echo the mesh is torn >&2; checkpoint-member 1 0; exit 3' '.members.checkpoint = {}'
is "$REASON" "exit status 3: the mesh is torn" "what it said itself is, also before that"

# --- the umask
umask 0002 # of whoever starts the daemon, or of a batch system: it does not count
modes='mkdir d; >f; stat -c %a d f | xargs'
run "$modes"
is "$(api GET "/v1/ensembles/$ID/members/0/stdout")" "700 600" "what a member writes is for its owner"
run "$modes" '.members.umask = "0027"'
is "$(api GET "/v1/ensembles/$ID/members/0/stdout")" "750 640" "unless the spec says otherwise"
is "$(stat -c %a "$STATE/run" "$STATE/run/e$ID/members/0/0/a1" "$STATE/run/e$ID/members/0/0/a1/stdout" | xargs)" "700 700 600" \
	"stretto's own files and directories stay as they are"
run "$modes" '.members.umask = "0027" | .allocation = {cpus: 1}'
is "$(api GET "/v1/ensembles/$ID/members/0/stdout")" "750 640" "in an allocation, too"
run true ".training = {command: [\"sh\", \"-c\", \"umask >$T/mask; exit 1\"], umask: \"022\", retries: 0, fields: {f: {dtype: \"float32\", shape: [1]}}}"
is "$(cat mask)" 0022 "and a training has one of its own"

# --- out of memory, which SIGKILL alone does not tell
groups=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
[ -e "$groups/memory.limit_in_bytes" ] || groups=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
group=$groups/stretto-test-$$
remove_group() { [ ! -d "$group" ] || wait_for 10 'rmdir "$group"'; }
limit() { # of version 1, or 2
	mkdir "$group" 2>/dev/null && { echo $((400 << 20)) >"$group/memory.limit_in_bytes" || echo $((400 << 20)) >"$group/memory.max"; } 2>/dev/null
}
if limit; then
	mkdir job
	jq -n --arg dir "$T/job" '{version: 1, job: "st-0611", ensemble: 1, kind: "members", walltime: 600, grace: 1, tasks: (
		[["python3", "-c", "x = bytearray(2 << 30)"], ["sh", "-c", "python3 -c \"x = bytearray(2 << 30)\"; exit $?"], ["sh", "-c", "kill -9 $$"]]
		| to_entries | map({id: "1.\(.key)", dir: "\($dir)/\(.key)", argv: .value}))}' >job/job.json
	# one after the other: it is not said of which process the kernel tells
	for i in 0 1 2; do
		mkdir "job$i"
		jq --argjson i $i --arg job "st-0611-$i" '.job = $job | .tasks = [.tasks[$i]]' job/job.json >"job$i/job.json"
		(echo "$BASHPID" >"$group/cgroup.procs" && exec "$builddir/stretto-run" "$T/job$i") 2>/dev/null
	done
	like "$(jq -r .reason job/0/exit.json)" '^out of memory: killed by the kernel, with [1-9][0-9]+ MiB in use' "the kernel's end for want of memory is told"
	like "$(jq -r .reason job/1/exit.json)" '^out of memory: exit status 137, after the kernel killed a process; the largest had [1-9][0-9]+ MiB' "that of a child, too"
	like "$(jq -r .reason job/2/exit.json)" '^killed by signal 9 ' "any other SIGKILL is what it is"
	is "$(jq -c .killed job/[012]/exit.json | xargs)" 'null null true' "and somebody else's, so that it costs no retry at first"
else
	skip "no control group can be made"
fi
remove_group
done_testing
