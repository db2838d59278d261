# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh
# What slurm.sh, pbs.sh, oar.sh and alps.sh share, for tests on a batch system of their own: they source it.
BATCH_PID='' SLURM_PID='' PBS_PID='' OAR_PID='' PROXY_PID=''

# batch_start WHAT SECONDS OUT SCRIPT WORD...: it serves in the foreground, and has written "ready" to OUT when this
# returns; its pid is in BATCH_PID. It does not bear the test's mark, since it ends by itself, after all that it
# started; what bears the mark is what jobs are.
batch_start() {
	local what=$1 limit=$2 out=$3
	shift 3
	rm -f "$out" # of one before: its "ready" would be taken for this one's
	env -u STRETTO_TEST -u LD_PRELOAD python3 "$@" >"$out" 2>&1 </dev/null &
	BATCH_PID=$!
	wait_for "$limit" "grep -q ready '$out' || ! kill -0 $BATCH_PID"
	grep -q ready "$out" || bail "$what did not start: $(tail -n 5 "$out")"
}
# batch_down PID: "" is nobody
batch_down() {
	[ -n "$1" ] || return 0
	kill "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}
batch_all_down() {
	local pid
	for pid in "$PROXY_PID" "$SLURM_PID" "$PBS_PID" "$OAR_PID"; do batch_down "$pid"; done
}
trap 'status=$?; batch_all_down; (exit $status); cleanup' EXIT

# batch_config ADAPTER SETTINGS OWN [KEY JSON]...: the daemon's settings, in config.json: SETTINGS, and OWN and these of
# the adapter
batch_config() {
	# shellcheck disable=SC2016 # jq's
	jq -n --arg adapter "$1" --argjson settings "$2" --argjson own "$3" '$ARGS.positional as $more |
		reduce range(0; $more | length; 2) as $i ($own; .[$more[$i]] = ($more[$i + 1] | fromjson)) | . as $all | $settings +
		{adapters: {($adapter): ({environment: ["STRETTO_TEST", "ASAN_OPTIONS", "UBSAN_OPTIONS", "XDG_STATE_HOME"]} + $all)}}' \
		--args "${@:4}" >config.json
}
