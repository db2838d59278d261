#!/usr/bin/env bash
# Members inside allocations: pilots that are killed, that end by their walltime, that are given back; a daemon that is
# killed. PILOT_KILLS=N: kill N times (3).
# shellcheck disable=SC2016 # for wait_for, and members' scripts
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 4, "gpus": ["g0", "g1"]}}}' >config.json
start_daemon --config config.json
sql() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }

# spec COUNT SCRIPT JQ: members that run a shell script, and note where they are run twice at once
spec() {
	jq -n --arg script "exec 9>$T/lock.{i}; flock -n 9 || echo {i} >>$T/twice; $2" --argjson count "$1" '{name: "pilots", width: 50,
		allocation: {walltime: "10m", count: 2, cpus: 2}, members: {command: ["sh", "-c", $script], retries: 0,
		parameters: {grid: {i: [range($count)]}}, resources: {walltime: "5m"}}} | '"${3:-.}" >spec.json
}
# runners WHAT: pids of those runners whose command line has WHAT
runners() {
	local pid
	for pid in $(left_behind); do
		tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q -e "stretto-run $1" && echo "$pid"
	done
}
jobs_of() { sql "SELECT count(*) FROM job WHERE ensemble = $1 AND kind = '$2'"; }
ended() { wait_ensemble "$ID" "${2:-60}"; jq -r "$1" ensemble.json; }
# the pilots' names in /v1/jobs are those that its jobs of members have as theirs
pilots_told() {
	api GET "/v1/jobs?ensemble=$ID&limit=1000" | jq -c '(.jobs | map(select(.kind == "pilot").name) | sort) as $p
		| [.jobs[] | select(.kind == "members").pilot] | unique == $p'
}
running() { [ "$(api GET "/v1/ensembles/$ID" | jq .members.running)" -ge "$1" ]; }

# --- refused, with the place
refused() { # JQ POINTER NAME
	spec 3 true "$1"
	is "$(api_status POST /v1/ensembles @spec.json) $(jq -r .pointer api.body)" "422 $2" "$3"
}
refused '.allocation.node = 3' /allocation/node "an unknown key is refused"
refused '.allocation.count = 0' /allocation/count "so is an impossible value"
refused '.allocation.nodes = 2' /allocation/nodes "so are more nodes than there are"
refused '.allocation.cpus = 5' /allocation/cpus "so are more CPUs than there are"
refused '.members.resources.tasks = 3' /members/resources/tasks "so is a member that does not fit in"
refused '.members.resources.nodes = 2' /members/resources/nodes "or wants two nodes"
refused '.members.resources.gpus = 1' /members/resources/gpus "or a GPU"
refused 'del(.members.resources.walltime)' /members/resources/walltime "or does not say how long it takes"
refused '.members.resources.walltime = "11m"' /members/resources/walltime "or takes longer than the allocation"

# --- 200 members in two allocations, of which each takes a line from the gate, once both allocations are there
mkfifo gate
exec 9<>gate
spec 200 'read x <'"$T"'/gate; echo {i} >>'"$T"'/ran; [ {i} != 7 ]'
ID=$(submit spec.json)
wait_for 60 '[ "$(grep -l ready "$STATE"/run/e*/jobs/*/node0/journal.jsonl | wc -l)" = 2 ]' || bail "there are not two allocations"
yes '' | head -n 1000 >&9
is "$(ended '"\(.state) \(.members.succeeded) \(.members.failed)"')" "complete 199 1" "200 members run in allocations"
exec 9>&-
is "$(sort -n ran | uniq | wc -l) $(wc -l <ran)" "200 200" "each once"
is "$(jobs_of "$ID" pilot)" 2 "there are as many allocations as the spec says"
is "$(sql "SELECT count(DISTINCT pilot) FROM job WHERE ensemble = $ID AND kind = 'members'")" 2 "members run in both"
is "$(api GET "/v1/ensembles/$ID/members/7" | jq -r '.attempts[0].outcome')" failed "attempts say how they ended"
endings() { api GET "/v1/events?ensemble=$ID&kind=allocation.ended" | jq -r '.events[].detail.outcome' | xargs; }
ok "events tell when allocations end" wait_for 30 '[[ $(endings) =~ ^[a-z]+\ [a-z]+$ ]]' # they do so after their last member
is "$(api GET "/v1/ensembles/$ID/members/7" | jq -r '.attempts[0].job' | xargs -I NAME sqlite3 -readonly "$STATE/stretto.db" \
	"SELECT pilot IS NOT NULL FROM job WHERE name = 'NAME'")" 1 "an attempt's job ran in one of them"
is "$(pilots_told)" true "/v1/jobs says in which"
ok "they are given back at once when nothing is left" wait_for 10 '[ -z "$(runners "--pilot")" ]'

# --- as many at once as there is room for, of which the first wait for each other: CPUs, GPUs
rm -f ran
two='; until [ $(wc -l <'"$T"'/wide) -ge 2 ]; do sleep 0.1; done'
spec 12 'mkdir '"$T"'/w/{i}; ls -d '"$T"'/w/*/ | wc -l >>'"$T"'/wide'"$two"'; sleep 0.2; rmdir '"$T"'/w/{i}
	exec 8>'"$T"'/gpu.$CUDA_VISIBLE_DEVICES; flock -n 8 || : >'"$T"'/shared; sleep 0.1' \
	'.allocation |= (.count = 1 | .cpus = 4 | .gpus = 2) | .members.resources |= (.gpus = 1 | .cpus_per_task = 1)'
mkdir w
ID=$(submit spec.json)
is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 12" "members with GPUs run"
is "$(sort -n wide | tail -n 1)" 2 "as many at once as there are GPUs"
is "$(printf '%s ' gpu.*)" "gpu.g0 gpu.g1 " "each has one of them"
ok "no GPU is given twice" test ! -e shared
rm -f wide gpu.*
spec 12 'mkdir '"$T"'/w/{i}; ls -d '"$T"'/w/*/ | wc -l >>'"$T"'/wide'"$two"'; sleep 0.3; rmdir '"$T"'/w/{i}' \
	'.allocation |= (.count = 1 | .cpus = 4) | .members.resources.cpus_per_task = 2'
ID=$(submit spec.json)
is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 12" "members of two CPUs run"
is "$(sort -n wide | tail -n 1)" 2 "two of them at once on four"

# --- killed at random: a runner of a pilot, a pilot, a runner inside; and the daemon
rm -f ran
members=$((30 + 10 * ${PILOT_KILLS:-3}))
spec $members 'sleep 0.4; echo {i} >>'"$T"'/ran' '.allocation.cpus = 2'
ID=$(submit spec.json)
for ((kill = 0; kill < ${PILOT_KILLS:-3}; kill++)); do
	wait_for 30 'running 2' || break
	[ $kill = 0 ] || sleep "0.$((RANDOM % 10))" # at any moment
	what=$((kill % 3))
	# the last is the job of a member: its descriptor comes by job fd, as the pilot's own does; it is none of the
	# first two
	victims=$(case $what in 0) runners "--pilot" ;; *) runners "--local --job-fd" ;; esac)
	# shellcheck disable=SC2086 # pids
	kill -KILL "$(shuf -n 1 -e $victims)" 2>/dev/null # it may just have ended
	if [ $what = 2 ]; then kill_daemon && start_daemon --config config.json; fi
done
is "$(ended '"\(.state) \(.members.succeeded)"' 120)" "complete $members" "killed at random, all members come to their end"
is "$(sort -n ran | uniq | wc -l)" $members "each of them ran"
ok "none twice at once" test ! -e twice
is "$(sql "SELECT count(*) FROM attempt WHERE ensemble = $ID AND outcome = 'failed'")" 0 "nothing of it is blamed on a member"
ok "every job has ended" wait_for 20 '[ "$(sql "SELECT count(*) FROM job WHERE state <> '"'ended'"'")" = 0 ]'

# --- what ends while the daemon is down is known afterwards; what was handed over is not handed over twice
rm -f ran
go='until [ -e '"$T"'/go ]; do sleep 0.1; done; '
spec 12 "$go"'sleep 0.2; echo {i} >>'"$T"'/ran' '.allocation |= (.count = 1 | .cpus = 4 | .idle = "1h") | .width = 12'
ID=$(submit spec.json)
wait_for 20 'running 4'
is "$(api GET "/v1/ensembles/$ID" | jq -c $JQ_SORTS .allocation)" '{"asked":0,"count":1,"running":1}' "the ensemble tells of its allocations"
touch go
sleep 0.2 # so that some have the answer in their last file only
kill_daemon
ok "the pilot goes on without its daemon" wait_for 20 '[ "$(wc -l <ran)" -ge 4 ]'
start_daemon --config config.json
is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 12" "the next daemon knows what ended meanwhile"
is "$(sort -n ran | uniq -c | awk '$1 > 1' | wc -l)" 0 "nothing ran again"
is "$(jobs_of "$ID" pilot)" 1 "in the same allocation"

# --- what was on its way when the daemon and its files were lost is handed over again
rm -f ran go
spec 6 "$go"'echo {i} >>'"$T"'/ran' '.allocation.count = 1 | .allocation.cpus = 4 | .width = 1'
ID=$(submit spec.json)
wait_for 20 'running 1'
pilot=$(jq -r 'select(.what == "ready").pid' "$STATE/run/e$ID"/jobs/*/node0/journal.jsonl)
kill -STOP "$pilot"
api PATCH "/v1/ensembles/$ID" '{"width": 4}' >/dev/null
ok "jobs wait in the inbox" wait_for 20 'ls "$STATE/run/e$ID"/jobs/*/node0/inbox/*.jsonl'
kill_daemon
rm -f "$STATE/run/e$ID"/jobs/*/node0/inbox/*
start_daemon --config config.json
kill -CONT "$pilot"
touch go
is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 6" "what a crash took out of the inbox is put there again"
is "$(sort ran | xargs)" "0 1 2 3 4 5" "and run once"
is "$(pilots_told)" true "/v1/jobs says where jobs run that the second daemon made"

# --- an allocation that ends by its walltime: what does not fit waits for the next one. Of ten minutes and some seconds, members may
# begin in the seconds; those that do so in the first one's wait until these are over
rm -f ran go
spec 12 "$go"'echo {i} >>'"$T"'/ran' '.allocation.count = 1 | .allocation.walltime = "608s" | .allocation.cpus = 2 | .members.resources.walltime = "10m"'
ID=$(submit spec.json)
ready() { jq -r 'select(.what == "ready").deadline' "$STATE/run/e$ID"/jobs/*/node0/journal.jsonl | head -n 1; }
ok "an allocation is there" wait_for 20 '[ -n "$(ready)" ]'
ok "in which nothing can begin any more" wait_for 30 '[ "$(date +%s)" -gt $(($(ready) - 600)) ]'
touch go
is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 12" "members that do not fit wait for the next allocation"
ok "which there was" test "$(jobs_of "$ID" pilot)" -ge 2
is "$(sort -n ran | uniq -c | awk '$1 > 1' | wc -l)" 0 "none was started that could not end"
is "$(sql "SELECT count(*) FROM attempt WHERE ensemble = $ID AND outcome <> 'succeeded' AND started IS NOT NULL")" 0 "or was ended for it"
is "$(sql "SELECT count(*) FROM member WHERE ensemble = $ID AND losses > 0")" 0 "what was not started cost nothing"

# --- pause, resize, cancel, idle
rm go
spec 100 "$go"'true' '.allocation.count = 1 | .allocation.cpus = 4 | .allocation.idle = "1s" | .width = 4'
ID=$(submit spec.json)
wait_for 20 'running 4'
api POST "/v1/ensembles/$ID/pause" >/dev/null
touch go
ok "an allocation that idles is given back" wait_for 20 '[ -z "$(runners --pilot)" ]'
ok "a paused ensemble runs nothing" wait_for 20 '[ "$(api GET "/v1/ensembles/$ID" | jq .members.running)" = 0 ]'
rm go
api PATCH "/v1/ensembles/$ID" '{"width": 2}' >/dev/null
api POST "/v1/ensembles/$ID/resume" >/dev/null
ok "another one is asked for when there is something to do" wait_for 20 'running 2'
ok "as wide as it was resized to" test "$(api GET "/v1/ensembles/$ID" | jq .members.running)" -le 2
api POST "/v1/ensembles/$ID/cancel" >/dev/null
ok "cancelling ends the members" wait_for 20 '[ "$(api GET "/v1/ensembles/$ID" | jq ".members | .cancelled + .succeeded")" = 100 ]'
ok "and gives the allocation back" wait_for 20 '[ -z "$(runners "--[lp]")" ]'
ok "no job is left" wait_for 20 '[ "$(sql "SELECT count(*) FROM job WHERE state <> '"'ended'"'")" = 0 ]'
done_testing
