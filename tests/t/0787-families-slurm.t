#!/bin/bash
# Trainings that outlive their jobs on a real Slurm, which ends them by its time limit, preempts them, and is restarted;
# whose jobs are cancelled and signalled by hand, while the daemon is killed: all are completed by follow-ups from cron.
# FAMILY_MEMBERS=100 FAMILY_EPOCHS=32 FAMILY_LIMIT=1200 for the long form, by hand; SEED.
# shellcheck disable=SC2016,SC2034,SC2119 # for wait_for; slurm_config needs no words
TEST_LIMIT=${FAMILY_LIMIT:-300} MANY_RUNNERS=1
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
# shellcheck source=tests/t/families.sh
. "$srcdir/tests/t/families.sh"
members=${FAMILY_MEMBERS:-6} epochs=${FAMILY_EPOCHS:-24}
RANDOM=${SEED:=$$}
diag "SEED=$SEED"
slurm_start
slurm_config
start_daemon --config config.json
family_cron 1 &
cron=$!

# members_in QUEUE: half of all, in that partition
members_in() {
	family_spec $((members / 2)) $epochs ".adapter = \"slurm\" | .members.resources.queue = \"$1\""
	submit spec.json
}
# long_in QUEUE: one that has much time, and takes it
long_in() {
	family_spec 1 150 ".adapter = \"slurm\" | .members.resources |= {walltime: \"20m\", queue: \"$1\"} | .members.command[2] = \"$T/pace\""
	submit spec.json
}
over() { is_over "$B" && is_over "$C"; }
# one STATE: a job of those that are in these partitions, any of them, waited for
one() {
	wait_for 30 "squeue -h -t $1 -p main,yield -o %j | grep -q ^st-" >&2 || return 1
	squeue -h -t "$1" -p main,yield -o '%i %j' | awk '$2 ~ /^st-/ { print $1 }' | shuf -n 1
}
# busy: one that runs, and whose program has come as far as to compute: before, it would die of a signal that it is to
# be warned by
busy() {
	local name dir
	for name in $(squeue -h -t R -p main,yield -o %j | grep '^st-' | shuf); do
		dir=$(jq -r '.tasks[0].dir' "$STATE"/run/e*/jobs/"$name"/job.json 2>/dev/null)
		[ -s "$dir/stdout" ] && squeue -h -n "$name" -o %i && return 0
	done
	return 1
}
# others SECONDS: a job that puts all of theirs out, and stays
others() { sbatch --parsable --no-requeue -p high -N 2 -n 8 -J other --wrap "sleep $1" -o /dev/null; }
interrupt() { # KIND
	local id other
	case $1 in
	preempted) one R >/dev/null && others 0.1 >/dev/null ;;
	cancelled) id=$(one R) && scancel "$id" ;;
	signalled) id=$(one R) && scancel --full --signal=TERM "$id" ;;
	warned) id=$(busy) && scancel --batch --signal=USR1 "$id" ;;
	waiting) # one that has not begun
		other=$(others 60)
		id=$(one PD) && scancel "$id"
		scancel "$other"
		[ -n "$id" ]
		;;
	restarted) slurm restart ;;
	killed) kill_daemon && start_daemon --config config.json ;;
	cut) # when all that run have ended
		touch hold
		wait_for 60 'sleep 0.2; newest_is_complete $B'
		kill_daemon
		family_cut "$B"
		id=$?
		start_daemon --config config.json
		rm hold
		return $id
		;;
	esac
}

# --- with much time: ended by Slurm's own limit, which somebody made shorter (it looks every 30 s), and preempted in two ways
echo 1 >pace
A=$(long_in slots1) D=$(long_in main) E=$(long_in yield)
for each in "$A" "$D" "$E"; do wait_for 60 '[ -e $STATE/run/e$each/members/0/0/checkpoint/epoch-2.ckpt ]'; done
scontrol update "JobId=$(squeue -h -t R -p slots1 -o %i)" TimeLimit=0
others 0.1 >/dev/null
ok "what is preempted is unfinished, and followed up" wait_for 60 'sleep 0.2; [ "$(family "$D" .family.follow_ups)" -ge 1 ] && [ "$(family "$E" .family.follow_ups)" -ge 1 ]'

# --- with little time, and interrupted in every way besides
B=$(members_in main)
C=$(members_in yield)
kinds=(cut preempted killed cancelled waiting signalled restarted warned)
rounds=0 deadline=$((SECONDS + (${FAMILY_LIMIT:-240} - 60) * PATIENCE))
until { [ $rounds -ge ${#kinds[@]} ] && over; } || [ $SECONDS -ge $deadline ]; do
	kind=${kinds[rounds % ${#kinds[@]}]}
	echo "$kind" >>interruptions.err
	if interrupt "$kind" 2>>interruptions.err; then # or that job has just ended: another, then
		echo "$kind" >>happened
		rounds=$((rounds + 1))
	fi
	sleep "$((RANDOM % 2)).$((RANDOM % 10))" # until any moment
done
for each in "$B" "$C"; do
	is "$(family "$each" .family.members.succeeded)" $((members / 2)) "all trainings of a family are complete"
	is "$(family_faults "$each" $((members / 2)) $epochs)" "" "no gap, no repeat, no epoch twice without a reason, no retry, nobody twice"
	like "$(family "$each" .family.follow_ups)" '^[2-9]$|^[1-9][0-9]$' "in several follow-ups"
done
diag "$members members, interruptions: $(sort happened | uniq -c | xargs)"
diag "attempts: $(db "SELECT outcome || ' ' || count(*) FROM attempt GROUP BY outcome" | xargs)"
is "$(sort -u happened | xargs)" "$(printf '%s\n' "${kinds[@]}" | sort | xargs)" "though they were interrupted in every way"
diag "$(tail -n 30 interruptions.err | xargs)"

job=$(api GET "/v1/ensembles/$A/members/0" | jq -r '.attempts[0].job')
ok "Slurm has ended one at its time limit" wait_for 90 'sleep 0.5; slurm_jobs | grep -q "^$job [0-9]* TIMEOUT$"'
echo 0.02 >pace
for each in "$A" "$D" "$E"; do
	ok "one that had much time comes to its end" wait_for 60 "sleep 0.3; is_over $each"
	like "$(family "$each" '[.family.members.succeeded, .family.follow_ups]')" '^\[1,[1-9]' "in a follow-up"
	is "$(family_faults "$each" 1 150)" "" "which went on where it was interrupted"
	is "$(db "SELECT outcome FROM attempt WHERE ensemble = $each")" cancelled "by somebody else"
done
diag "jobs: $(slurm_jobs | cut -d " " -f 3 | sort | uniq -c | xargs)"
touch stop
wait $cron
is "$(family_cron_faults)" "" "cron says a line for each follow-up, and complains of the daemon alone"

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
slurm_stop
done_testing
