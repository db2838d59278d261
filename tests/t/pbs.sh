# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh
# For tests on an emulated PBS of their own (tests/pbs/private-pbs): source it after lib.sh.
PBS_PID=

# pbs_start KIND [KEY=VALUE]...: openpbs or torque; its commands are then on PATH, and `pbs` for its faults. It does not bear the test's mark, since it ends by
# itself, after all that it started; what bears the mark is what jobs are.
pbs_start() {
	local kind=$1
	shift
	[ "$kind" = openpbs ] || set -- --torque "$@"
	PBS_DIR=$T/$kind
	set -- client="$builddir/tests/pbs/pbs-client" "$@"
	rm -f "$PBS_DIR.out" # of one before: its "ready" would be taken for this one's
	env -u STRETTO_TEST -u LD_PRELOAD python3 "$srcdir/tests/pbs/private-pbs" "$PBS_DIR" serve "$@" >"$PBS_DIR.out" 2>&1 &
	PBS_PID=$!
	wait_for 20 "grep -q ready '$PBS_DIR.out' || ! kill -0 $PBS_PID"
	grep -q ready "$PBS_DIR.out" || bail "PBS did not start: $(tail -n 5 "$PBS_DIR.out")"
	PATH=$PBS_DIR/bin:$PATH
}
pbs_down() {
	[ -n "$PBS_PID" ] || return 0
	kill "$PBS_PID" 2>/dev/null
	wait "$PBS_PID" 2>/dev/null
	PBS_PID=
}
# pbs_stop: no process of a job may be left. One that has told how its members ended may need a moment to end itself.
pbs_stop() {
	wait_for 20 '[ -z "$(pbs work)" ]'
	is "$(pbs work)" "" "no process of a job is left in PBS"
	pbs_down
	PATH=${PATH#"$PBS_DIR/bin:"}
}
trap 'status=$?; pbs_down; (exit $status); cleanup' EXIT

# pbs_config [KEY JSON]...: the daemon's settings, in config.json
pbs_config() {
	jq -n '{python: "/bin/true", adapters: {pbs: {poll: "1s", timeout: "5s", gather: "200ms", environment: ["STRETTO_TEST", "ASAN_OPTIONS", "UBSAN_OPTIONS", "XDG_STATE_HOME"]}}}' >config.json
	while [ $# -gt 0 ]; do
		jq --arg key "$1" --argjson value "$2" '.adapters.pbs[$key] = $value' config.json >config.new && mv config.new config.json
		shift 2
	done
}
# pbs_jobs: NAME ID STATE of each job that PBS knows, sorted
pbs_jobs() { pbs jobs | sort; }
