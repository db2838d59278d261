#!/usr/bin/env bash
# Members that share a job of Slurm's and are started by srun run at once, each on what it asked for.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
slurm_start
slurm_config
start_daemon --config config.json
# each ends when all three run
jq -n --arg t "$T" '{name: "s", adapter: "slurm", pack: 3, width: 3, members: {parameters: {grid: {x: [0, 1, 2]}}, retries: 0,
	command: ["sh", "-c", "touch \($t)/ran.{x}.$SLURM_STEP_ID; while :; do set -- \($t)/ran.*; [ $# -lt 3 ] || exit 0; sleep 0.1; done"],
	resources: {walltime: "5m", launcher: "srun"}}}' >spec.json
id=$(submit spec.json)
ok "three members share a job" wait_ensemble "$id" 90
is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" '["complete",3]' "and run at the same time"
is "$(squeue -h -a -r -t all -o '%i' | wc -l)" 1 "in one job"
is "$(printf '%s\n' "$T"/ran.* | sed 's/.*\.//' | sort | xargs)" "0 1 2" "each in a step of its own"

# Ranks on two nodes without a line of code. The second member has one that fails while the others wait for it, on both
# nodes.
cat >rank <<'E2'
#!/bin/sh
echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $STRETTO_HOSTS $SLURMD_NODENAME
touch "$2/rank.$1.$RANK"
while set -- "$1" "$2" "$2/rank.$1".*; [ $# -lt 5 ]; do sleep 0.1; done
while [ "$1" = 0 ] && [ ! -e "$2/asked" ]; do sleep 0.1; done
[ "$1" = 0 ] || [ "$RANK" = 2 ] || exec sleep 1000
[ "$1" = 0 ] || exit 5
E2
chmod +x rank
jq -n --arg t "$T" '{name: "ranks", adapter: "slurm", width: 2, members: {parameters: {grid: {x: [0, 1]}}, retries: 0,
	command: ["\($t)/rank", "{x}", $t], resources: {walltime: "5m", nodes: 2, tasks: 3, launcher: "copies"}}}' >ranks.json
id=$(submit ranks.json)
ok "the hosts of a member on two nodes are told" wait_for 90 "stretto hosts $id.0 | grep -q :"
told=$(stretto hosts "$id.0" | xargs)
: >asked
ok "copies run on two nodes" wait_ensemble "$id" 90
is "$(jq -c '[.members.succeeded, .members.failed]' ensemble.json)" '[1,1]' "one member succeeds, and one fails"
hosts=$(api GET "/v1/ensembles/$id/members/0/stdout" | cut -d ' ' -f 6 | sort -u)
like "$hosts" '^n1:[12],n2:[12]$' "the hosts are Slurm's nodes"
is "$told" "${hosts/,/ }" "and those that stretto hosts has told"
[ "$hosts" = n1:2,n2:1 ] && second=n1 place=1 || second=n2 place=0
is "$(api GET "/v1/ensembles/$id/members/0/stdout" | cut -d ' ' -f 1-3,5,7 | sort)" "0 0 3 n1 n1
1 $place 3 n1 $second
2 $((1 - place)) 3 n1 n2" "each copy has its rank, on the node that has it"
like "$(api GET "/v1/ensembles/$id/members/1" | jq -r '.attempts[0].reason')" "^exit status 5" "a copy that fails on one node ends those on both"

# Slurm would give the first node as many as it takes
jq -n '{name: "even", adapter: "slurm", members: {retries: 0, command: ["sh", "-c", "echo $STRETTO_HOSTS"],
	resources: {walltime: "5m", nodes: 2, tasks: 4, launcher: "copies"}}}' >even.json
id=$(submit even.json)
ok "four processes on two nodes end" wait_ensemble "$id" 90
is "$(api GET "/v1/ensembles/$id/members/0/stdout" | sort -u)" "n1:2,n2:2" "each node has as many as the other"
stop_daemon
slurm_stop
done_testing
