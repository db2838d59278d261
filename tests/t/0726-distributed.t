#!/usr/bin/env bash
# Members that are distributed programs, with PyTorch and MPICH as their users know them: nothing in these knows of
# stretto.
TEST_LIMIT=240 PLAIN_PYTHON=yes
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
jq -n --arg python "${STRETTO_PYTHON:-}" '{adapters: {local: {slots: 8}}} + if $python == "" then {} else {python: $python} end' >config.json
start_daemon --config config.json

spec() { # RESOURCES COMMAND...: a spec of one member
	jq -n --argjson resources "$1" '{name: "distributed", members: {command: $ARGS.positional, parameters: {grid: {x: [5]}}, retries: 0,
		resources: $resources}}' --args "${@:2}"
}
# says RESOURCES WANTED NAME COMMAND...: what a member like that writes, sorted
says() {
	local id
	spec "$1" "${@:4}" >spec.json
	id=$(submit spec.json)
	wait_ensemble "$id" 90
	is "$(api GET "/v1/ensembles/$id/members/0/stdout" | sort)" "$2" "$3"
	is "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0] | .outcome, .reason' | xargs)" "succeeded null" "and it has succeeded"
}

# a script for host discovery, as Horovod calls it, and a launcher that waits for hosts before it starts
printf '#!/bin/sh\nSTRETTO_URL=%s exec %s/stretto hosts "$STRETTO_ENSEMBLE.$STRETTO_MEMBER"\n' "$STRETTO_URL" "$builddir" >where
cat >where-first <<-END
	#!/bin/bash
	while hosts=\$($T/where) && [ -z "\$hosts" ]; do sleep 0.1; done
	exec "\${@/#SLOTS/\${hosts##*:}}"
END
chmod +x where where-first

if [ -n "${STRETTO_PYTHON:-}" ] && "$STRETTO_PYTHON" -c 'import torch' 2>torch; then
	says '{"tasks": 2, "launcher": "copies"}' "2 ranks, sum 3, 127.0.0.1" "copies find each other by PyTorch's own means" \
		"{python}" "$srcdir/tests/t/distributed-rank.py"
	# that of PyTorch 1.13 with Python 3.11 wants the last four words
	says "{\"tasks\": 2, \"launcher\": [\"$T/where-first\", \"{python}\", \"-m\", \"torch.distributed.run\", \"--nnodes\", \"{nodes}\",
		\"--nproc_per_node\", \"SLOTS\", \"--rdzv_backend\", \"c10d\", \"--rdzv_endpoint\", \"{master_addr}:{master_port}\",
		\"--redirects\", \"1\", \"--tee\", \"1\"]}" \
		"[default0]:2 ranks, sum 3, localhost" "torchrun finds its place, with as many processes as stretto hosts has told" \
		"$srcdir/tests/t/distributed-rank.py"
else
	skip "no PyTorch: ${STRETTO_PYTHON:-no Python}"
fi
if mpiexec=$(command -v mpiexec.hydra); then
	# shellcheck disable=SC2016 # for the member's shell
	printf '#!/bin/sh\necho "$PMI_RANK of $PMI_SIZE, $X"\n' >who
	chmod +x who
	says "{\"tasks\": 3, \"launcher\": [\"$mpiexec\", \"-f\", \"{hostfile}\", \"-n\", \"{tasks}\", \"-env\", \"X\", \"{x}\"]}" \
		"0 of 3, 5
1 of 3, 5
2 of 3, 5" "MPICH takes the host file, and the launcher the member's parameters" "$T/who"
else
	skip "no mpiexec.hydra here"
fi

# --- where it runs

cat >elastic <<-END
	#!/bin/bash
	trap 'kill %1; exit' TERM
	sleep 1000 &
	until [ -n "\$hosts" ]; do hosts=\$($T/where) || exit; sleep 0.1; done
	echo "\$hosts" >$T/hosts
	wait
END
chmod +x elastic
spec '{"tasks": 3}' "$T/elastic" >spec.json
id=$(submit spec.json)
ok "a member asks where it runs, as its launcher would" wait_for 60 "[ -s hosts ]"
is "$(cat hosts)" "$(hostname):3" "it is told the host, and for how many processes"
is "$(stretto hosts "$id.0" --json)" "[{\"host\":\"$(hostname)\",\"slots\":3}]" "so is a program"
# As a launcher that brings its own elasticity does: it asks again and again, with a worker for each slot, and asks once
# more when it is told to end. What it is told then has left the list before.
cat >elastic-launcher <<-END
	#!/bin/bash
	ask() { # sets slots, of all hosts; TERM also ends a command that asks
		local told host count
		told=\$($T/where) || return
		slots=0
		while IFS=: read -r host count; do slots=\$((slots + \${count:-0})); done <<<"\$told"
	}
	end() {
		trap '' TERM
		until ask; do sleep 0.1; done
		echo "\$slots slots at the end" >>$T/workers
		exit
	}
	trap end TERM
	slots=0 workers=0
	while :; do
		ask
		for (( ; workers < slots; workers++)); do
			sleep 1000 &
			echo "worker \$workers" >>$T/workers
		done
		sleep 0.1
	done
END
chmod +x elastic-launcher
spec '{"tasks": 2}' "$T/elastic-launcher" | jq '.members.checkpoint = {grace: "2m"}' >spec.json
other=$(submit spec.json)
ok "such a launcher has a worker for each slot" wait_for 60 "grep -q 'worker 1' workers"
api POST "/v1/ensembles/$other/cancel" >/dev/null
ok "it is told to end" wait_for 60 "grep -q end workers"
is "$(xargs <workers)" "worker 0 worker 1 0 slots at the end" "no slot was left in the list when it was told to end"

kill_daemon
start_daemon --config config.json
ok "a daemon that was killed knows it again" wait_for 60 "[ \"\$(stretto hosts $id.0)\" = \"\$(hostname):3\" ]"
api POST "/v1/ensembles/$id/cancel" >/dev/null
status_is 0 "to ask where it runs is no failure where it runs nowhere" stretto hosts "$id.0"
is "$(cat out)" "" "a member that is cancelled has no host from then on"
status_is 2 "only members and trainings have hosts" stretto hosts "$id"
status_is 3 "an ensemble may have no training" stretto hosts "$id.training"
like "$(cat err)" "ensemble $id has no training" "which is said"
ok "the ensemble ends" wait_ensemble "$id" 60

# --- resources from parameters

printf '#!/bin/sh\necho "$WORLD_SIZE"\n' >size
chmod +x size
jq -n --arg size "$T/size" '{name: "sweep", width: 12, pack: 2, members: {command: [$size], retries: 0,
	parameters: {grid: {workers: [1, 2, 4], x: [0.1, 0.2, 0.3]}},
	resources: {tasks: "{workers}", walltime: "{workers}m", launcher: "copies"}}}' >sweep.json
id=$(submit sweep.json)
ok "members with one, two and four workers run" wait_ensemble "$id" 60
is "$(for m in 0 1 2 3 4 5 6 7 8; do api GET "/v1/ensembles/$id/members/$m/stdout" | sort -u; done | xargs)" "1 1 1 2 2 2 4 4 4" "each in a world of that size"
is "$(api GET "/v1/jobs?ensemble=$id" | jq -c '[.jobs[].size] | sort')" "[1,1,1,2,2,2]" "those that share a job have as many"
is "$(api GET "/v1/ensembles/$id/members/5" | jq -c .resources)$(api GET "/v1/ensembles/$id/members?limit=1" | jq -c '.members[0].resources')" \
	'{"tasks":2,"walltime":"2m"}{"tasks":1,"walltime":"1m"}' "a member's own resources are told"
like "$(stretto members "$id.5")" 'resources +\{"tasks": 2, "walltime": "2m"\}' "also by stretto members"

# Two of six workers do not fit into eight slots at once: each needs the file that the other one makes only after it.
printf '#!/bin/sh\n[ "$RANK" = 0 ] || exit 0\nmkdir "$1/busy" || exit 9\nsleep 0.2\nrmdir "$1/busy"\n' >alone
chmod +x alone
jq -n --arg t "$T" '{name: "slots", width: 4, members: {command: ["\($t)/alone", $t], retries: 0,
	parameters: {grid: {workers: [6, 5], x: [0, 1]}}, resources: {tasks: "{workers}", launcher: "copies"}}}' >slots.json
id=$(submit slots.json)
wait_ensemble "$id" 60
is "$(jq -r .members.succeeded ensemble.json)" 4 "no more run at once than there are slots for what each has asked for"

printf 'workers\n1\n9\nmany\n0\n2\n' >rows.csv
jq --arg file "$T/rows.csv" '.pack = 1 | .members.parameters = {file: $file} | .members.resources = {tasks: "{workers}", launcher: "copies"}' sweep.json >rows.json
id=$(submit rows.json)
ok "rows of a file are looked at one by one" wait_ensemble "$id" 60
is "$(api GET "/v1/ensembles/$id/members" | jq -c '[.members[].state]')" '["succeeded","failed","failed","failed","succeeded"]' "an impossible one fails, and no other"
reasons=$(api GET "/v1/ensembles/$id/members" | jq -r '.members[].reason // empty')
like "$reasons" "need 9 CPUs, and the local adapter has 8" "the reason says what cannot be had,"
like "$reasons" '"many" for a member, which is no whole number' "what is no number"
like "$reasons" 'must be from 1 to 100000' "and what is none that can be"

# --- what cannot be

refused() { # EXPRESSION POINTER SAYS NAME
	spec '{"tasks": 2, "launcher": "copies"}' true | jq "$1" >bad.json
	is "$(api_status POST /v1/ensembles @bad.json) $(jq -r .pointer api.body)" "422 $2" "$4"
	like "$(jq -r .detail api.body)" "$3" "and told why"
}
refused '.members.resources.launcher = ["srun", "-n", "{task}"]' /members/resources/launcher/2 "nothing fills the placeholder \{task\}" "an unknown placeholder is refused with its place"
refused '.members.resources.launcher = ["copies"]' /members/resources/launcher/0 "without a list" "so is a list for what is no program"
refused '.members.resources.launcher = []' /members/resources/launcher "at least 1" "or an empty one"
refused '.members.resources.launcher = 7' /members/resources/launcher "string" "or a number"
refused '.members.resources += {nodes: 4}' /members/resources/tasks "2 tasks cannot be on 4 nodes" "more nodes than copies"
refused '.members.resources += {nodes: 2} | .pack = 2' /pack "cannot share a job" "copies on several nodes that share a job"
refused '.members.resources += {nodes: 2} | .adapter = "pbs"' /members/resources/launcher "one node with this batch system" "copies on nodes on which they cannot be started"
refused '.members.resources += {nodes: 2, launcher: ["aprun", "-n", "{tasks}"]} | .adapter = "alps"' /members/resources/launcher 'write "aprun"' "aprun as a list"
refused '.members.resources.tasks = "{x}" | .members.parameters.grid.x = [1, 9]' /members/resources/tasks "9 CPUs" "a value of a grid that cannot be had"
refused '.members.resources.tasks = "{y}"' /members/resources/tasks "nothing fills the placeholder \{y\}" "a parameter that is not there"
refused '.training = {command: ["true"], fields: {f: {dtype: "float32", shape: [1]}}, resources: {launcher: "copies"}}' \
	/training/resources/launcher '"ranks"' "copies of a rank"
done_testing
