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
stop_daemon
slurm_stop
done_testing
