#!/bin/bash
# A Slurm that hangs, dies, forgets and comes back with an older state, and a daemon that dies at the worst moment:
# every member is accounted for, and none runs twice at once. STRETTO_SLURM_LONG="ENSEMBLES MEMBERS" makes the faults at
# random many, by hand.
# shellcheck disable=SC2016,SC2119 # for wait_for; slurm_start and slurm_config need no words
TEST_LIMIT=${STRETTO_SLURM_LIMIT:-300}
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
slurm_start

# A member says where it begins and ends, and looks whether there is a second of the same at that time.
cat >member <<'END'
#!/bin/sh
gone() { rm -f "$HOME/now/$1.$$"; }
trap 'gone "$1"; exit 1' TERM # as programs do that end in their own way, and maybe a moment before their runner hears of it
trap 'gone "$1"' EXIT
touch "$HOME/now/$1.$$"
for other in "$HOME/now/$1".*; do
	pid=${other##*.}
	if [ "$pid" != $$ ] && grep -q -s member "/proc/$pid/cmdline"; then echo "$1" >>"$HOME/twice"; exit 1; fi
done
echo "$1" >>"$HOME/ran"
i=0
while [ $i -lt $2 ] || [ -e "$HOME/hold" ]; do sleep 0.1; i=$((i + 1)); done
END
chmod +x member
mkdir "$HOME/now"
members() { # COUNT WIDTH TENTHS [FILTER]
	jq -n --arg program "$T/member" --argjson count "$1" --argjson width "$2" --arg time "$3" '{name: "faults", adapter: "slurm", width: $width,
		members: {command: [$program, "{x}", $time], retries: 0, parameters: {grid: {x: [range($count)]}}, resources: {walltime: "10m"}}}' |
		jq "${4:-.}" >spec.json
}
touch "$HOME/twice"
ran() { sort -n "$HOME/ran" | xargs; }
anew() { rm -f "$HOME/ran"; touch "$HOME/ran"; }
all_succeeded() { # ID COUNT WHAT
	ok "$3: it ends" wait_ensemble "$1" 150
	is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" "[\"complete\",$2]" "$3: every member has succeeded"
}

# --- slurmctld hangs when jobs are submitted: sbatch fails, and Slurm has the job all the same
slurm_config
start_daemon --config config.json
anew
slurm freeze
members 2 2 5
id=$(submit spec.json)
ok "that it is not known is said" wait_for 30 '[ "$(grep -c "not known whether it was submitted: sbatch: .*timed out" "$DAEMON_LOG")" = 2 ]'
ok "and that Slurm does not answer" wait_for 30 'stretto adapters --json | jq -e ".adapters[] | select(.name == \"slurm\") | .failing_since != null and (.reason | test(\"timed out|contact\"))"'
is "$(api GET "/v1/ensembles/$id" | jq -c '[.state, .members.submitted, .members.failed]')" '["running",2,0]' "nothing is changed"
slurm thaw
all_succeeded "$id" 2 "hanging at sbatch"
is "$(ran)" "0 1" "each ran once"
ok "it answers again" wait_for 30 'stretto adapters --json | jq -e ".adapters[] | select(.name == \"slurm\") | .failing_since == null"'
# it may fail to answer once more on a machine that stalls
ok "each time, one line in the log tells of it" wait_for 30 \
	'[ "$(grep -c "adapter slurm does not answer" "$DAEMON_LOG")" = "$(grep -c "adapter slurm answers again" "$DAEMON_LOG")" ]'

# --- the daemon dies after the submission, before it could write that down
cat >sbatch-and-kill <<END
#!/bin/sh
$(command -v sbatch) "\$@" >$T/answer.\$\$
status=\$?
if [ -e $T/kill ]; then rm $T/kill; kill -KILL \$(cat $T/daemon.pid); fi
cat $T/answer.\$\$
exit \$status
END
chmod +x sbatch-and-kill
slurm_config sbatch "\"$T/sbatch-and-kill\""
stop_daemon
start_daemon --config config.json
echo "$DAEMON_PID" >daemon.pid
anew
touch kill
members 1 1 5
before=$(slurm_jobs | wc -l)
id=$(submit spec.json)
ok "the daemon is killed when Slurm has the job" wait_for 30 '! kill -0 $DAEMON_PID'
kill_daemon
start_daemon --config config.json
all_succeeded "$id" 1 "killed after sbatch"
is "$(ran)" 0 "it ran once"
is "$(($(slurm_jobs | wc -l) - before))" 1 "there was one job of it"

# --- preempted: no failure of the member's, and no retry
anew
members 2 2 5 '.members.resources.cpus_per_task = 4'
touch "$HOME/hold"
id=$(submit spec.json)
ok "two run" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
sbatch --no-requeue -p high -n 4 -J other --wrap "sleep 0.1" -o /dev/null >/dev/null
ok "one of them is put out, and starts again" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 3 ]'
rm "$HOME/hold"
all_succeeded "$id" 2 "preempted"

# --- a job that Slurm has forgotten: its record tells why it ended
anew
slurm save
members 1 1 5
touch "$HOME/hold"
id=$(submit spec.json)
ok "a member runs" wait_for 30 '[ -s "$HOME/ran" ]'
kill_daemon
job=$(slurm_jobs | awk '$3 == "RUNNING" { print $2 }')
slurm work | while read -r pid _; do kill -KILL "$pid"; done
ok "its job has ended" wait_for 30 'grep -q "^JobId=$job .* JobState=FAILED" slurm/jobcomp.log'
slurm kill
slurm rollback
slurm start
is "$(slurm_jobs | awk '$2 == '"$job"' { print $2 }')" "" "Slurm does not know it any more"
rm "$HOME/hold"
start_daemon --config config.json
all_succeeded "$id" 1 "a forgotten job"
like "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0] | .outcome + ": " + .reason')" "^lost: .*Slurm: FAILED" "why the first attempt ended"

# --- Slurm says of a job that it runs, and then that it has ended, and neither is so: a slurmctld that came back with an older state
# takes for it what had its id before. Nothing has claimed it: it is given up soon, and cannot start any more.
cat >squeue-lies <<END
#!/bin/sh
case \$(cat $T/lie) in
runs) sed_it='s/|PENDING|\(.*\)|JobHeldUser\$/|RUNNING|\1|None/' ;;
ended) sed_it='s/|PENDING|\(.*\)|JobHeldUser\$/|CANCELLED|\1|None/' ;;
*) sed_it= ;;
esac
$(command -v squeue) "\$@" | sed "\$sed_it"
END
chmod +x squeue-lies
slurm_config squeue "\"$T/squeue-lies\""
stop_daemon
echo runs >lie
start_daemon --config config.json
anew
members 1 1 5 '.members.resources.extra = ["--hold"]'
id=$(submit spec.json)
ok "it is said to run" wait_for 30 'stretto members '"$id"' --state running --json | jq -e ".members | length == 1"'
echo ended >lie
ok "and to have ended: there is a second attempt" wait_for 60 'api GET "/v1/ensembles/$id/members/0" | jq -e ".attempts | length == 2"'
first=$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0].job')
second=$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[1].job')
ok "both jobs wait" wait_for 30 '[ "$(slurm_jobs | grep -c -E "^($first|$second) [0-9]+ PENDING$")" = 2 ]'
like "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0] | .outcome + ": " + .reason')" "^lost: the job ended before it started: cancelled" "why"
echo nothing >lie
for name in "$first" "$second"; do scontrol release "$(squeue -h -n "$name" -o %i)"; done
all_succeeded "$id" 1 "mistaken for another"
ok "both jobs have ended" wait_for 30 '! slurm_jobs | grep -E "^($first|$second) .* (PENDING|RUNNING)$"'
is "$(ran)" 0 "only one of them has run it"

# --- when all is over, a Slurm with an older state brings back what waited then: the daemon asks on for a while, and after a restart
waiting() { slurm_jobs | grep -c -E "^st-.* PENDING$"; }
members 2 2 5 '.members.resources.extra = ["--hold"]'
id=$(submit spec.json)
ok "two jobs wait" wait_for 30 '[ "$(waiting)" = 2 ]'
saved() { for each in $(squeue -h -t PENDING -o %j); do grep -q -a -F "$each" slurm/state/job_state || return 1; done; }
ok "which Slurm has written down" wait_for 30 saved
slurm save
stretto cancel "$id" >/dev/null
ok "they are cancelled" wait_for 30 '[ "$(waiting)" = 0 ] && [ "$(api GET "/v1/jobs?ensemble=$id&state=ended" | jq ".jobs | length")" = 2 ]'
taken_out() { # the first of an answer is named, the others are counted
	sed -n 's/.* is taken out of the queue.*/1/p; s/.* \([0-9]*\) more jobs are taken out of the queue.*/\1/p' "$DAEMON_LOG" | awk '{ n += $1 } END { print n + 0 }'
}
before=$(taken_out)
slurm kill
slurm rollback
slurm start
ok "Slurm brings them back, and they are taken out" wait_for 60 '[ "$(taken_out)" -ge $((before + 2)) ] && [ "$(waiting)" = 0 ]'
stop_daemon
slurm kill
slurm rollback
slurm start
is "$(waiting)" 2 "once more, while the daemon is down"
start_daemon --config config.json
ok "they are taken out" wait_for 60 '[ "$(waiting)" = 0 ]'

# --- slurmctld frozen, killed, started with the state of a while ago, while ensembles run: at random, and longer by hand, with
# STRETTO_SLURM_LONG="10 200"
pause=${STRETTO_SLURM_LONG:+4}
pause=${pause:-1}
read -r ensembles count <<<"${STRETTO_SLURM_LONG:-1 12}"
anew
RANDOM=${SEED:=$$}
diag "SEED=$SEED"
ids='' faults=0
for ((i = 0; i < ensembles; i++)); do
	members "$count" 4 5 ".members.command[1] = \"$i.{x}\""
	ids="$ids $(submit spec.json)"
done
over() { for each in $ids; do [[ $(api GET "/v1/ensembles/$each" | jq -r .state) = @(complete|cancelled|failed) ]] || return 1; done; }
while ! over; do
	slurm save
	sleep "0.$((RANDOM % 10))"
	case $((RANDOM % 4)) in
	0) slurm freeze; sleep $((RANDOM % 4)); slurm thaw ;;
	1) slurm kill; slurm start ;;
	2) slurm kill; slurm rollback; slurm start ;;
	3) kill_daemon; start_daemon --config config.json ;;
	esac
	faults=$((faults + 1))
	[ -n "${STRETTO_SLURM_LONG:-}" ] || [ $faults -lt 3 ] || break
	sleep $((pause + RANDOM % (2 * pause)))
done
diag "$faults faults"
for each in $ids; do wait_ensemble "$each" "${STRETTO_SLURM_LIMIT:-120}"; jq -c '[.id, .state, .members]' ensemble.json; done >ends
is "$(jq -s "map(select(.[1] == \"complete\" and .[2].succeeded == $count)) | length" ends)" "$ensembles" "every member of every ensemble has succeeded"
is "$(cat "$HOME/twice")" "" "none ran twice at once"
is "$(sort "$HOME/ran" | uniq | wc -l)" $((ensembles * count)) "each ran"
diag "$(wc -l <"$HOME/ran") runs of $((ensembles * count)) members"
# those whose processes Slurm mistook for another's are COMPLETING for a minute, by which it has asked the node again
ok "no job is left behind" wait_for 60 '! slurm_jobs | grep -E "^st-.* (PENDING|RUNNING)$"'

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
slurm_stop
done_testing
