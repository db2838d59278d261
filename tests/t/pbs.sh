# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh
# For tests on an emulated PBS of their own (tests/pbs/private-pbs): source it after lib.sh.
# shellcheck source=tests/t/batch.sh
. "$srcdir/tests/t/batch.sh"

# pbs_start KIND [KEY=VALUE]...: openpbs or torque; its commands are then on PATH, and `pbs` for its faults.
pbs_start() {
	local kind=$1
	shift
	[ "$kind" = openpbs ] || set -- --torque "$@"
	PBS_DIR=$T/$kind
	set -- client="$builddir/tests/pbs/pbs-client" "$@"
	batch_start PBS 20 "$PBS_DIR.out" "$srcdir/tests/pbs/private-pbs" "$PBS_DIR" serve "$@"
	PBS_PID=$BATCH_PID
	PATH=$PBS_DIR/bin:$PATH
}
pbs_down() { batch_down "$PBS_PID"; PBS_PID=; }
# pbs_stop: no process of a job may be left. One that has told how its members ended may need a moment to end itself.
pbs_stop() {
	wait_for 20 '[ -z "$(pbs work)" ]'
	is "$(pbs work)" "" "no process of a job is left in PBS"
	pbs_down
	PATH=${PATH#"$PBS_DIR/bin:"}
}

# pbs_config [KEY JSON]...: the daemon's settings, in config.json
pbs_config() { batch_config pbs '{"python": "/bin/true"}' '{"poll": "1s", "timeout": "5s", "gather": "200ms"}' "$@"; }
# pbs_jobs: NAME ID STATE of each job that PBS knows, sorted
pbs_jobs() { pbs jobs | sort; }
