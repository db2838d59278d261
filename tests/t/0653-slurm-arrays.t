#!/bin/bash
# Jobs of one shape go to Slurm as job arrays, and are single jobs all the same: looked up, cancelled and withdrawn one
# by one.
# shellcheck disable=SC2016 # for wait_for
TEST_LIMIT=300
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
slurm_start MaxArraySize=9

# Writes down the array of each sbatch; on demand has one killed whose job Slurm has taken, and refuses what is larger
# than 2, as a limit on a user's jobs does.
cat >sbatch-noted <<END
#!/bin/bash
array=\$(printf '%s\n' "\$@" | sed -n 's/^--array=//p')
echo "\${array:-alone}" >>$T/arrays
if [ -e $T/limit ] && [[ \$array =~ ^([0-9]+)-([0-9]+)$ ]] && ((BASH_REMATCH[2] - BASH_REMATCH[1] > 1)); then
	echo "sbatch: error: QOSMaxSubmitJobPerUserLimit" >&2
	echo "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)" >&2
	exit 1
fi
$(command -v sbatch) "\$@" >$T/answer.\$\$
status=\$?
if [ -e $T/kill ]; then rm $T/kill; kill -KILL \$(cat $T/daemon.pid); fi
cat $T/answer.\$\$
exit \$status
END
chmod +x sbatch-noted
slurm_config sbatch "\"$T/sbatch-noted\"" gather '"1s"'
start_daemon --config config.json
members() { # COUNT [FILTER]
	jq -n --arg home "$HOME" --argjson n "$1" '{name: "arrays", adapter: "slurm", width: $n, members: {retries: 0, resources: {walltime: "10m", memory: "1MiB"},
		parameters: {grid: {x: [range($n)]}}, command: ["sh", "-c", "echo {x} >>\($home)/ran; while test -e \($home)/hold; do sleep 0.1; done"]}}' |
		jq "${2:-.}" >spec.json
	rm -f "$HOME/ran" arrays
	touch "$HOME/ran" arrays
}
ran() { sort -n "$HOME/ran" | xargs; }
succeeded() { # ID COUNT WHAT
	ok "$3: it ends" wait_ensemble "$1" 60
	is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" "[\"complete\",$2]" "$3: every member has succeeded"
	is "$(ran)" "$(seq 0 $(($2 - 1)) | xargs)" "$3: each ran once"
}

# --- as large as the site allows
members 20
id=$(submit spec.json)
succeeded "$id" 20 "20 members"
ok "as arrays" grep -q "^0-[1-7]$" arrays
is "$(grep -c -E "([^0-8,-]|[0-9][0-9])" arrays)" 0 "of at most eight, where an array's numbers end at 8"
like "$(find "$STATE/run/e$id/jobs" -name runner.log -print0 | xargs -0 grep -h "job st-" | sort -u | wc -l)" '^20$' "each has the log of its own runner"

# --- one that waits vanishes, which Slurm tells nobody of; one is there twice; the rest is cancelled
members 10 '.members.resources.cpus_per_task = 4'
touch "$HOME/hold"
id=$(submit spec.json)
ok "two run, others wait" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ] && [ "$(slurm_jobs | grep -c " PENDING$")" = 8 ]'
last=$(slurm_jobs | awk '$3 == "PENDING" { print $2 }' | tail -n 1)
scancel "$last"
# (A listing that is made meanwhile still says that it was cancelled.)
ok "one that vanished is submitted again" wait_for 30 'grep -q -E "does not know it and it never started: it is submitted again|cancelled before it started; the member is pending" "$DAEMON_LOG" && [ "$(slurm_jobs | grep -c " PENDING$")" = 8 ]'
name=$(api GET "/v1/ensembles/$id/members/9" | jq -r '.attempts[0].job') # the newest: no job has a number that is higher by 8
surplus=$(sbatch --parsable --hold -J "$name+" --array=0,8 --wrap true -o /dev/null)
ok "a task that is one job too many is taken out" wait_for 30 '! squeue -h -r -o %i | grep -x "${surplus}_0"'
ok "the other task of its array is left alone" [ "$(squeue -h -r -j "$surplus" -o %i)" = "${surplus}_8" ]
scancel "$surplus"
stretto cancel "$id" >/dev/null
ok "cancelling ends all that run and wait" wait_for 30 'stretto members '"$id"' --state cancelled --json | jq -e ".members | length == 10"'
ok "in Slurm, too" wait_for 20 '! slurm_jobs | grep -E "(PENDING|RUNNING)$"'
is "$(wc -l <"$HOME/ran")" 2 "none of those that waited has started"

# --- more jobs than one turn of the daemon's loop cancels
members 300 '.members.resources.cpus_per_task = 4'
id=$(submit spec.json)
ok "two run, many wait" wait_for 90 '[ "$(wc -l <"$HOME/ran")" = 2 ] && [ "$(slurm_jobs | grep -c " PENDING$")" = 298 ]'
ok "that is known" wait_for 60 '[ "$(api GET "/v1/ensembles/$id" | jq -c "[.members.submitted, .members.running]")" = "[298,2]" ]'
stretto cancel "$id" >/dev/null
ok "all are cancelled" wait_for 60 'api GET "/v1/ensembles/$id" | jq -e ".members.cancelled == 300"'
is "$(wc -l <"$HOME/ran")" 2 "and none of those that waited has started"
rm "$HOME/hold"

# --- the answer is lost, with the daemon: there is one array
stop_daemon
start_daemon --config config.json
echo "$DAEMON_PID" >daemon.pid
members 6
touch kill
before=$(slurm_jobs | wc -l)
id=$(submit spec.json)
ok "the daemon is killed when Slurm has the array" wait_for 30 '! kill -0 $DAEMON_PID'
kill_daemon
start_daemon --config config.json
succeeded "$id" 6 "a lost answer"
is "$(($(slurm_jobs | wc -l) - before))" 6 "there was one job of each"

# --- a limit that only trying tells
members 7
touch limit
id=$(submit spec.json)
succeeded "$id" 7 "a limit on jobs"
like "$(xargs <arrays)" "(^| )0-[2-6] alone" "when an array is refused, one job is tried alone"
like "$(cat "$DAEMON_LOG")" "an array of [3-7] jobs is refused, one job is not .*SubmitJob.* they go by [1-3] at most" "and the log tells of it"
rm limit

# --- where nothing is gathered, each goes by itself
slurm_config sbatch "\"$T/sbatch-noted\"" gather '"0s"'
stop_daemon
start_daemon --config config.json
members 3
id=$(submit spec.json)
succeeded "$id" 3 "without arrays"
is "$(xargs <arrays)" "alone alone alone" "each went alone"

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
slurm_stop
done_testing
