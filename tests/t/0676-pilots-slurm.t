#!/usr/bin/env bash
# Allocations of a real Slurm: members on two nodes of one job, started by srun once; pilots that are killed, jobs that
# Slurm is told to end, a daemon that is killed, what Slurm refuses.
# shellcheck disable=SC2016,SC2119 # for wait_for; slurm_start needs no words
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
# on two CPUs of this machine, however many it has
read -r -a all <<<"$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')"
taskset -p -c "$(IFS=,; echo "${all[*]:0:2}")" $$ >/dev/null
slurm_start
taskset -p -c "$(IFS=,; echo "${all[*]}")" $$ >/dev/null
slurm_config
start_daemon --config config.json
sql() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
spec() { # COUNT SCRIPT JQ
	jq -n --arg script "exec 9>$T/lock.{i}; flock -n 9 || echo {i} >>$T/twice; $2" --argjson count "$1" '{name: "pilots", adapter: "slurm",
		width: 50, allocation: {nodes: 2, walltime: "20m", count: 1}, members: {command: ["sh", "-c", $script], retries: 0,
		parameters: {grid: {i: [range($count)]}}, resources: {walltime: "10m", queue: "main"}}} | '"${3:-.}" >spec.json
}
ended() { wait_ensemble "$ID" "${2:-60}"; jq -r "$1" ensemble.json; }
nothing_left() { wait_for 30 '! slurm_jobs | grep -E "(PENDING|RUNNING|COMPLETING)$"'; }

# --- 200 members on two nodes: the first wait until there are some on both
spec 200 'echo $SLURMD_NODENAME >>'"$T"'/ran; until [ "$(sort -u '"$T"'/ran | wc -l)" = 2 ]; do sleep 0.1; done'
ID=$(submit spec.json)
is "$(ended '"\(.state) \(.members.succeeded)"' 90)" "complete 200" "200 members run in one allocation"
is "$(sort ran | uniq -c | wc -l) $(wc -l <ran)" "2 200" "on both of its nodes, each once"
is "$(sql "SELECT count(*) FROM job WHERE ensemble = $ID AND kind = 'pilot'")" 1 "it is one job"
is "$(slurm_jobs | wc -l)" 1 "of Slurm's, too"
ok "which is given back" nothing_left

# --- two allocations; a runner in one of them is killed, then Slurm is told to end the other
rm -f ran
spec 40 'sleep 0.5; echo {i} >>'"$T"'/ran' '.allocation |= {walltime: "20m", count: 2, cpus: 2}'
ID=$(submit spec.json)
wait_for 30 '[ "$(slurm_jobs | grep -c " RUNNING$")" = 2 ] && [ -s ran ]'
victim=$(for pid in $(left_behind); do tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q 'stretto-run --pilot' && echo "$pid"; done | shuf -n 1)
kill -KILL "$victim" 2>/dev/null
wait_for 30 '[ "$(wc -l <ran)" -ge 8 ]'
kill_daemon
scancel --full --signal=TERM "$(squeue -h -t R -o %i | head -n 1)"
start_daemon --config config.json
is "$(ended '"\(.state) \(.members.succeeded)"' 120)" "complete 40" "what is killed or ended for others comes to its end"
is "$(sort -n ran | uniq | wc -l)" 40 "each member ran"
ok "none twice at once" test ! -e twice
is "$(sql "SELECT count(*) FROM attempt WHERE ensemble = $ID AND outcome = 'failed'")" 0 "nothing of it is blamed on a member"
ok "no job is left" nothing_left

# --- members of a CPU have it for themselves, where the node's CPUs that are ours are known
if [ ${#all[@]} -ge 2 ]; then
	rm -f ran
	spec 20 'on=$(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status); echo "$on" >>'"$T"'/on
		exec 8>'"$T"'/cpu.$on; flock -n 8 || echo "$on" >>'"$T"'/shared; sleep 0.1' '.allocation |= {walltime: "20m", cpus: 2}'
	ID=$(submit spec.json)
	is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 20" "members of one CPU run"
	is "$(sort -n -u on | xargs)" "${all[*]:0:2}" "on the two that the allocation has, each on one"
	ok "none on one that another has" test ! -e shared
	ok "and nothing is left" nothing_left
else
	skip "members of one CPU: there is only one"
fi

# --- cancelled while it runs, and while it waits
spec 20 'sleep 300' '.allocation |= {walltime: "20m", count: 3, cpus: 4, nodes: 1}'
ID=$(submit spec.json)
ok "two allocations run, one waits" wait_for 30 '[ "$(slurm_jobs | grep -c " RUNNING$") $(slurm_jobs | grep -c " PENDING$")" = "2 1" ]'
wait_for 20 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.running)" = 8 ]'
stretto cancel "$ID" >/dev/null
ok "cancelling ends all members" wait_for 40 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.cancelled)" = 20 ]'
ok "and gives the allocations back" nothing_left

# --- what Slurm will not give
spec 3 true '.allocation.queue = "nope"'
ID=$(submit spec.json)
is "$(ended .state 30)" failed "an ensemble whose allocation is refused has failed"
like "$(jq -r .reason ensemble.json)" 'Invalid partition name' "with Slurm's reason"
spec 3 true '.members.resources.tasks = 5'
ID=$(submit spec.json)
is "$(ended .state 40)" failed "so does one of which no member fits a node"
like "$(jq -r .reason ensemble.json)" 'has 4 CPUs.*no job of its members fits' "which is told"
ok "nothing is left of them" nothing_left

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
slurm_stop
done_testing
