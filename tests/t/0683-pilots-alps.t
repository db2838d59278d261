#!/usr/bin/env bash
# Allocations of an emulated ALPS: members on three nodes by one aprun, each on CPUs of its own; a node that fails, a
# pilot and a daemon that are killed, an allocation that is cancelled.
# shellcheck disable=SC2016 # for wait_for, and members' scripts
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/alps.sh
. "$srcdir/tests/t/alps.sh"
# a node's CPUs are two of this machine's, or as many as it has
read -r -a all <<<"$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2])')"
cpus=${#all[@]}
taskset -p -c "$(IFS=,; echo "${all[*]}")" $$ >/dev/null
alps_start 3-6 "$cpus"
alps_config cpus "$cpus"
export COBALT_ENDTIME=$(($(date +%s) + 3600)) PBS_JOBID=12.sdb # of the batch system around, which has no pbsdsh here
start_daemon --config config.json
sql() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
apruns() { grep -c '^aprun ' alps/counts; }
spec() { # COUNT SCRIPT JQ
	jq -n --arg script "exec 9>$T/lock.{i}; flock -n 9 || echo {i} >>$T/twice; $2" --argjson count "$1" '{name: "pilots", adapter: "alps",
		width: 50, allocation: {nodes: 3, walltime: "20m"}, members: {command: ["sh", "-c", $script], retries: 0,
		parameters: {grid: {i: [range($count)]}}, resources: {walltime: "10m"}}} | '"${3:-.}" >spec.json
	rm -f ran
}
ended() { wait_ensemble "$ID" 60; jq -r "$1" ensemble.json; }
ready() { cat "$STATE/run/e$ID"/jobs/*/node*/journal.jsonl 2>/dev/null | jq -s -c '[.[] | select(.what == "ready")'"$1"']'; }

# --- what cannot be
refused() { # JQ POINTER NAME
	spec 3 true "$1"
	is "$(api_status POST /v1/ensembles @spec.json) $(jq -r '.code + " " + .pointer' api.body)" "422 resources_impossible $2" "$3"
}
refused '.allocation.nodes = 5' /allocation/nodes "there are four nodes"
refused '.allocation.launcher = ["ssh"]' /allocation/nodes "nothing but aprun starts pilots on them"
refused '.allocation.cpus = 3' /allocation/cpus "a node has two CPUs"

# --- 60 members on three nodes, of which no two are on one CPU
spec 60 'on=$ALPS_APP_PE.$(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status); echo "{i} $on" >>'"$T"'/ran
	exec 8>'"$T"'/cpu.$on; flock -n 8 || echo "$on" >>'"$T"'/shared
	until [ "$(cut -d" " -f2 '"$T"'/ran | sort -u | wc -l)" = '$((3 * cpus))' ]; do sleep 0.05; done'
ID=$(submit spec.json)
is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 60" "60 members run in one allocation"
is "$(sort -n ran | cut -d' ' -f1 | xargs)" "$(seq -s ' ' 0 59)" "each once"
for pe in 0 1 2; do for cpu in "${all[@]}"; do echo "$pe.$cpu"; done; done | sort >places
is "$(cut -d' ' -f2 ran | sort -u | xargs)" "$(xargs <places)" "on all CPUs of its three nodes"
ok "none on one that another has" test ! -e shared
is "$(apruns)" 1 "by one aprun"
like "$(grep '^aprun ' alps/counts)" "^aprun -N 1 -L 3,4,5 -d $cpus -cc depth -n 3 /[^ ]*/stretto-run --pilot /" "with a pilot on each node"
is "$(ready ' | .cpus, .deadline > 0')" "[$cpus,true,$cpus,true,$cpus,true]" "which know what the nodes have, and until when"
ok "it is given back" wait_for 20 '[ -z "$(placed)" ]'

# --- ALPS does not have one of the nodes; a pilot is killed, and with it the application; then a node fails; while the daemon is killed
spec 24 'echo {i} >>'"$T"'/ran; while ! test -e '"$T"'/go; do sleep 0.1; done'
echo 5 >alps/lose-node
ID=$(submit spec.json)
ok "members run on all nodes" wait_for 40 '[ -e ran ] && [ "$(wc -l <ran)" = '$((3 * cpus))' ]'
is "$(cat alps/claims/*/nids) $(apruns)" "6,3,4 6" "which are others than those that were refused at first, several times"
rm alps/lose-node
kill -KILL "$(jq -r 'select(.what == "ready").pid' "$STATE/run/e$ID"/jobs/*/node1/journal.jsonl)"
ok "a pilot is killed: they run again in another allocation" wait_for 40 '[ "$(wc -l <ran)" = '$((6 * cpus))' ]'
nid=$(cut -d, -f2 alps/claims/*/nids)
kill_daemon
echo "$nid" >alps/lose-node
ok "a node fails, and ALPS ends what is on the others" wait_for 20 '[ -z "$(placed)" ]'

start_daemon --config config.json
ok "they run again" wait_for 40 '[ "$(wc -l <ran)" = '$((9 * cpus))' ]'
is "$(tr , '\n' <"$(echo alps/claims/*/nids)" | grep -c -x "$nid")" 0 "on the other nodes"
touch go
is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 24" "to their end"
is "$(sort -n -u ran | xargs)" "$(seq -s ' ' 0 23)" "each member ran"
ok "none twice at once" test ! -e twice
is "$(sql "SELECT count(*) FROM attempt WHERE ensemble = $ID AND outcome = 'failed'")" 0 "nothing of it is blamed on a member"
reasons=$(api GET "/v1/events?ensemble=$ID&kind=allocation.ended" | jq -r '.events[].detail.reason')
like "$(head -n 1 <<<"$reasons")" "apsched: claim exceeds reservation's node-count" "why the first allocation ended, is told"
like "$reasons" 'Apid [0-9]+: initiated application termination' "and of others as ALPS says"
ok "nothing is left on the nodes" wait_for 20 '[ -z "$(placed)" ]'
rm go alps/lose-node

# --- cancelled while it runs
spec 12 'echo {i} >>'"$T"'/ran; exec sleep 300' '.allocation.nodes = 2'
ID=$(submit spec.json)
ok "members run on two nodes" wait_for 40 '[ "$(wc -l <ran)" = '$((2 * cpus))' ]'
stretto cancel "$ID" >/dev/null
ok "cancelling ends all members" wait_for 40 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.cancelled)" = 12 ]'
ok "and gives the nodes back" wait_for 20 '[ -z "$(placed)" ]'
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
ok "of members nothing is left" wait_for 10 '[ -z "$(left_behind)" ]'
done_testing
