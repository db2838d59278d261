# How fast short members go through a pilot, against one job of Slurm's each, on a private Slurm in the same run.
#
#   pilot-rate          members a second through one allocation, from the ensemble's acceptance to its end, waiting for the
#                       allocation included; the baseline: the same with a job each
#   pilot-commands      commands of Slurm's for each member, of whatever kind
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"
# shellcheck source=/dev/null
. "$srcdir/tests/t/slurm.sh"
MEMBERS=${BENCH_MEMBERS:-1000}
JOBS=${BENCH_JOBS:-100} # of their own, for the baseline
BENCH_ROUNDS=${BENCH_PILOT_ROUNDS:-3}

# Every command of Slurm's is counted, then run.
mkdir counted
for program in sbatch squeue scancel scontrol sacct sinfo; do
	printf '#!/bin/sh\necho %s >>%s/commands\nexec %s "$@"\n' $program "$T" "$(command -v $program)" >counted/$program
done
chmod +x counted/*
export PATH=$T/counted:$PATH

spec() { # COUNT JQ
	jq -n -c --argjson count "$1" '{name: "pilot", adapter: "slurm", width: 2000, members: {command: ["true"], retries: 0,
		resources: {walltime: "5m", queue: "main"},
		parameters: {method: "monte-carlo", count: $count, seed: 1, space: {x: [0, 1]}}}} | '"$2"
}
run_ensemble() { # SPEC: in $TOOK the seconds from the request to its end
	local start
	start=$(now)
	ID=$(api POST /v1/ensembles "$1" | jq -r .id)
	[ "$ID" != null ] || bail "the ensemble was not accepted: $(cat "$T/api.body")"
	exec 4< <(exec curl -s -S -N -m 300 --unix-socket "$SOCKET" -H 'Accept: text/event-stream' \
		"http://stretto/v1/events?ensemble=$ID&kind=ensemble.complete&after=0")
	grep -q -m 1 ensemble.complete <&4
	TOOK=$(difference "$(now)" "$start")
	kill $!
	exec 4<&-
	[ "$(api GET "/v1/ensembles/$ID" | jq '.members.succeeded == .count')" = true ] || bail "not every member succeeded"
}

slurm_start
slurm_config
start_daemon --config config.json
for ((round = 0; round < BENCH_ROUNDS; round++)); do
	run_ensemble "$(spec "$JOBS" .)"
	ratio "$JOBS" "$TOOK" >>baseline
	: >commands
	run_ensemble "$(spec "$MEMBERS" '.allocation = {walltime: "30m", cpus: 4}')"
	ratio "$MEMBERS" "$TOOK" >>rate
	ratio "$(wc -l <commands)" "$MEMBERS" >>each
done
figure pilot-rate "$(median <rate)" members/s "a job of Slurm's each" "$(median <baseline)"
figure pilot-commands "$(median <each)" commands/member
stop_daemon
slurm_down
bench_done
