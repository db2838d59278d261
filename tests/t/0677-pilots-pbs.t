#!/usr/bin/env bash
# Allocations of an emulated OpenPBS and Torque: members on two nodes of one job, started by pbsdsh once, with the
# environment that jobs have; a node's pilot that is killed, a job that PBS ends.
# shellcheck disable=SC2016,SC2119 # for wait_for, and members' scripts; pbs_config needs no words
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/pbs.sh
. "$srcdir/tests/t/pbs.sh"
export MARK="of jobs"
sql() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
spec() { # COUNT SCRIPT JQ
	jq -n --arg script "exec 9>$T/lock.{i}; flock -n 9 || echo {i} >>$T/twice; $2" --argjson count "$1" '{name: "pilots", adapter: "pbs",
		width: 50, allocation: {nodes: 2, walltime: "20m", count: 1, cpus: 4}, members: {command: ["sh", "-c", $script], retries: 0,
		parameters: {grid: {i: [range($count)]}}, resources: {walltime: "10m", queue: "main"}}} | '"${3:-.}" >spec.json
	rm -f ran
}
ended() { wait_ensemble "$ID" 90; jq -r "$1" ensemble.json; }
nothing_left() { wait_for 30 '! pbs_jobs | grep -v " [FC]$"'; }
two_nodes() {
	# the first wait until there are some on both
	spec 60 'echo $PBS_NODENUM $MARK >>'"$T"'/ran; until [ "$(sort -u '"$T"'/ran | wc -l)" = 2 ]; do sleep 0.1; done'
	ID=$(submit spec.json)
	is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 60" "$kind: 60 members run in one allocation"
	is "$(sort ran | sed 's/^[0-9]* //' | uniq -c | xargs)" "60 of jobs" "$kind: each with the environment that jobs have"
	is "$(cut -d' ' -f1 ran | sort -u | xargs)" "0 1" "$kind: on both of its nodes"
	is "$(cat "$STATE/run/e$ID"/jobs/*/node*/journal.jsonl | jq -s -c '[.[] | select(.what == "ready") | .cpus, .deadline > 0]')" "[4,true,4,true]" \
		"$kind: the pilots know what the nodes have, and until when"
	is "$(sql "SELECT count(*) FROM job WHERE ensemble = $ID AND kind = 'pilot'") $(pbs_jobs | wc -l)" "1 1" "$kind: it is one job"
	is "$(grep -r -l "pilots on all" "$STATE/run/e$ID" | wc -l)" 0 "$kind: none was started twice on a node"
	ok "$kind: which is given back" nothing_left
}
killed() {
	spec 24 'sleep 0.5; echo {i} >>'"$T"'/ran'
	ID=$(submit spec.json)
	wait_for 30 '[ -s ran ]'
	kill -KILL "$(jq -r 'select(.what == "ready").pid' "$STATE/run/e$ID"/jobs/*/node1/journal.jsonl)"
	wait_for 30 '[ "$(wc -l <ran)" -ge 10 ]'
	kill_daemon
	qsig -s TERM "$(pbs_jobs | awk '$3 == "R" { print $2; exit }')"
	start_daemon --config config.json
	is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 24" "$kind: what is killed or ended for others comes to its end"
	is "$(sort -n ran | uniq | wc -l)" 24 "$kind: each member ran"
	ok "$kind: none twice at once" test ! -e twice
	is "$(sql "SELECT count(*) FROM attempt WHERE ensemble = $ID AND outcome = 'failed'")" 0 "$kind: nothing of it is blamed on a member"
	ok "$kind: no job is left" nothing_left
}
for kind in openpbs torque; do
	pbs_start $kind
	pbs_config
	jq '.adapters.pbs.environment += ["MARK"]' config.json >config.new && mv config.new config.json
	start_daemon --config config.json
	two_nodes
	[ $kind = torque ] || killed
	stop_daemon
	is "$DAEMON_STATUS" 0 "$kind: the daemon ends well"
	pbs_stop
	rm -rf "${STATE:?}"
done
done_testing
