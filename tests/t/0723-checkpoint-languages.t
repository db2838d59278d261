#!/usr/bin/env bash
# Members in every language that tell of their checkpoints by way of the library, and go on from them.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 8}}}' >"$T/config.json"
for program in checkpoint-member checkpoint-member-fortran; do echo detect_leaks=1 >"$T/asan.$program"; done
start_daemon --config "$T/config.json"

# They stop where no two steps fit in any more: after the first of 8 s, wherever in 15 s more that is.
names=(C) commands=("[\"$builddir/tests/t/checkpoint-member\", \"3\", \"8\"]")
if [ -x "$builddir/tests/t/checkpoint-member-fortran" ]; then
	names+=(Fortran) commands+=("[\"$builddir/tests/t/checkpoint-member-fortran\", \"3\", \"8\"]")
fi
if [ -n "${STRETTO_PYTHON:-}" ]; then
	names+=(Python) commands+=("[\"env\", \"PYTHONPATH=$builddir/python\", \"$STRETTO_PYTHON\", \"-B\",
		\"$srcdir/tests/t/checkpoint-member.py\", \"3\", \"8\"]")
fi
ids=()
for command in "${commands[@]}"; do
	jq -n --argjson command "$command" '{name: "t", members: {command: $command, parameters: {grid: {i: [1, 2]}}, retries: 0,
		resources: {walltime: "23s"}, success: {file: "result"}, checkpoint: {before: "100ms", keep: 1}}}' >"$T/spec.json"
	ids+=("$(submit "$T/spec.json")")
done
state() { jq -r '"\(.state) \(.members.unfinished) \(.members.succeeded)"' "$T/ensemble.json"; }
for i in "${!names[@]}"; do
	wait_ensemble "${ids[i]}" 60
	is "$(state)" "complete 2 0" "${names[i]}: there is no time for all, and a checkpoint is left"
	api GET "/v1/ensembles/${ids[i]}/members/0" >"$T/member.json"
	path=$(jq -r '.checkpoints[0].path' "$T/member.json")
	is "$(basename "$path")" "count-$(cat "$path")" "${names[i]}: it is known"
	is "$(jq -r '.checkpoints[0].step' "$T/member.json")" "$(cat "$path")" "${names[i]}: with its step"
	api POST "/v1/ensembles/${ids[i]}/resubmit" '{}' >/dev/null
done
for i in "${!names[@]}"; do
	# the next attempt does the rest, unless the program takes most of its time to start: then one of those that
	# follow
	for ((more = 0; more < 30; more++)); do
		wait_ensemble "${ids[i]}" 60
		[ "$(jq '.members.failed == 0 and .members.succeeded < 2' "$T/ensemble.json")" = true ] || break
		api POST "/v1/ensembles/${ids[i]}/resubmit" '{}' >/dev/null
	done
	is "$(state)" "complete 0 2" "${names[i]}: it goes on from there to the end"
	is "$(cat "$STATE/run/e${ids[i]}"/members/0/1/a*/result)" 3 "${names[i]}: with what it should come to"
	read -ra words <<<"$(jq -r 'map(if . == "3" then "2" elif . == "8" then "0.01" else . end) | join(" ")' <<<"${commands[i]}")"
	status_is 0 "${names[i]}: it runs without stretto, too" "${words[@]}"
	is "$(grep -c 'STRETTO_CHECKPOINT_DIR is not set' "$T/err")" 1 "${names[i]}: where nobody keeps checkpoints, as is said once"
done
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
done_testing
