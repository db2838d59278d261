# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh
# For tests on a real Slurm of their own (tests/slurm/private-slurm): source it after lib.sh.
PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd sbatch squeue scancel scontrol; do
	command -v $program >/dev/null || skip_all "no Slurm here ($program): slurmctld, slurmd and slurm-client are missing"
done
export SLURM_CONF=$T/slurm/slurm.conf
SLURM_PID=

# slurm_start [--db] [KEY=VALUE]...: returns when all nodes are idle. It does not bear the test's mark, since it ends by itself,
# after all that it started; what bears the mark is what jobs are.
slurm_start() {
	rm -f "$T/slurm.out" # of one before: its "ready" would be taken for this one's
	env -u STRETTO_TEST -u LD_PRELOAD python3 "$srcdir/tests/slurm/private-slurm" "$T/slurm" serve "$@" >"$T/slurm.out" 2>&1 &
	SLURM_PID=$!
	wait_for 60 "grep -q ready '$T/slurm.out' || ! kill -0 $SLURM_PID"
	grep -q ready "$T/slurm.out" || bail "Slurm did not start: $(tail -n 5 "$T/slurm.out")"
}
slurm() { python3 "$srcdir/tests/slurm/private-slurm" "$T/slurm" "$@"; }
slurm_down() {
	[ -n "$SLURM_PID" ] || return 0
	kill "$SLURM_PID" 2>/dev/null
	wait "$SLURM_PID" 2>/dev/null
	SLURM_PID=
}
# slurm_stop: no process of a job may be left.
slurm_stop() {
	is "$(slurm work)" "" "no process of a job is left in Slurm"
	slurm_down
}
trap 'status=$?; slurm_down; (exit $status); cleanup' EXIT

# slurm_config [KEY JSON]...: the daemon's settings, in config.json
slurm_config() {
	jq -n --arg conf "$SLURM_CONF" '{adapters: {slurm: {conf: $conf, poll: "1s", timeout: "10s", gather: "200ms",
		environment: ["STRETTO_TEST", "ASAN_OPTIONS", "UBSAN_OPTIONS", "XDG_STATE_HOME"]}}}' >config.json
	while [ $# -gt 0 ]; do
		jq --arg key "$1" --argjson value "$2" '.adapters.slurm[$key] = $value' config.json >config.new && mv config.new config.json
		shift 2
	done
}
# slurm_jobs: NAME ID STATE of each job that Slurm knows, sorted
slurm_jobs() { squeue -h -a -r -t all -o '%j %i %T' | sort; }
