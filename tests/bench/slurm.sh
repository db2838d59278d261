# What an ensemble costs a real Slurm: BENCH_MEMBERS (1,000) members of `true`, a job each, on a private cluster of 12 CPUs.
#
#   slurm-commands       commands of Slurm's that the daemon runs, a member: as wide as they are many
#   slurm-commands-100   the same where 100 are in flight at once, and each that ends makes room for another
#   slurm-rate           members a second, from acceptance to the end
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"
# shellcheck source=/dev/null
. "$srcdir/tests/t/slurm.sh"
MEMBERS=${BENCH_MEMBERS:-1000}
slurm_start
slurm_config poll '"15s"' gather '"2s"'
for program in sbatch squeue scancel scontrol sacct sinfo; do
	printf '#!/bin/sh\necho >>%s/commands\nexec %s "$@"\n' "$T" "$(command -v $program)" >$program
	chmod +x $program
	jq --arg key $program --arg path "$T/$program" '.adapters.slurm[$key] = $path | .log_level = "warning"' config.json >config.new
	mv config.new config.json
done
for width in $MEMBERS 100; do
	: >commands
	start_daemon --config config.json # anew: what it asks for once is counted
	jq -n --argjson n "$MEMBERS" --argjson width "$width" '{name: "slurm", adapter: "slurm", width: $width,
		members: {command: ["true"], retries: 0, parameters: {grid: {x: [range($n)]}}, resources: {walltime: "10m", memory: "1MiB"}}}' >spec.json
	start=$(now)
	id=$(submit spec.json)
	wait_ensemble "$id" 400
	took=$(difference "$(now)" "$start")
	[ "$(jq '.members.succeeded == .count' ensemble.json)" = true ] || fail "not every member succeeded"
	if [ "$width" = "$MEMBERS" ]; then
		figure slurm-commands "$(ratio "$(wc -l <commands)" "$MEMBERS")" commands/member
		figure slurm-rate "$(ratio "$MEMBERS" "$took")" members/s
	else
		figure slurm-commands-100 "$(ratio "$(wc -l <commands)" "$MEMBERS")" commands/member
	fi
	stop_daemon
done
slurm_down
bench_done
