#!/bin/bash
# Jobs that PBS does not run as it should, or not at all: what is told of them is what PBS said, and what it means.
# shellcheck disable=SC2016,SC2119 # for wait_for; pbs_config needs no words
TEST_LIMIT=200
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/pbs.sh
. "$srcdir/tests/t/pbs.sh"

members() { # COUNT [FILTER]
	jq -n --arg home "$HOME" --argjson n "$1" '{name: "words", adapter: "pbs", width: $n, members: {retries: 0, resources: {walltime: "10m"},
		parameters: {grid: {x: [range($n)]}}, command: ["sh", "-c", "echo {x} >>\($home)/ran; while test -e \($home)/hold; do sleep 0.1; done"]}}' |
		jq "${2:-.}" >spec.json
	rm -f "$HOME/ran" "$HOME/hold"
	: >"$HOME/ran"
}
begin() { # KIND [KEY JSON]...
	kind=$1
	rm -rf "${T:?}/$kind" # jobs of one before
	pbs_start "$kind"
	pbs_config timeout '"60s"' "${@:2}" # a command that the machine holds up leaves no doubt
	start_daemon --config config.json
}
end() {
	stop_daemon
	is "$DAEMON_STATUS" 0 "$kind: the daemon ends well"
	pbs_stop
}
reasons() { # what ended attempt 1 of each member
	local i
	for ((i = 0; i < $1; i++)); do api GET "/v1/ensembles/$id/members/$i" | jq -r '.attempts[0] | .outcome + ": " + .reason'; done | sort | uniq -c
}
ids() { pbs_jobs | awk -v state="$1" '$3 == state { print $2 }' | sort -V; }

# --- a shell that the node does not have
begin openpbs shell '"/no/such/shell"'
members 2
id=$(submit spec.json)
ok "without a shell they end" wait_for 60 'api GET "/v1/ensembles/$id/members/0" | jq -e ".attempts[0].outcome != null"'
like "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0].reason')" "^the job ended before it started: PBS: its shell could not be started .Exit_status 254.$" "and it is told that it was the shell"
stretto cancel "$id" >/dev/null
end

# --- of an array: the node of one is lost, one is put back by hand, one that waits is deleted by somebody
begin openpbs
members 6 '.members.resources.cpus_per_task = 4'
touch "$HOME/hold"
id=$(submit spec.json)
ok "two run, the others wait" wait_for 40 '[ "$(wc -l <"$HOME/ran") $(ids Q | wc -l)" = "2 4" ]'
ok "as an array" test -n "$(ids R | grep '\[')"
{ read -r lost; read -r rerun; } < <(ids R)
ok "those that wait have a reason, which is not when the array began" wait_for 40 'api GET "/v1/jobs?ensemble=$id&state=submitted" | jq -e ".jobs | length == 4 and all(.waits_for // \"\" | test(\"Began\") | not)"'
ok "that they run is known" wait_for 40 '[ "$(api GET "/v1/ensembles/$id" | jq .members.running)" = 2 ]'
deleted=$(ids Q | tail -n 1)
qdel "$deleted"
pbs lose-node "$lost"
qrerun "$rerun"
is "$?" 0 "qrerun of a job of an array says that it is done"
# before the array is over, of which less is told then
ok "what became of two is known" wait_for 60 'grep -q "its node was lost (Exit_status -20)" "$DAEMON_LOG" && grep -q "deleted (Subjob terminated)" "$DAEMON_LOG"'
rm "$HOME/hold"
ok "all go on" wait_ensemble "$id" 120
is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" '["complete",6]' "to a good end"
reasons 6 >reasons
like "$(cat reasons)" "1 lost: the runner was lost: no exit record was left; PBS: its node was lost .Exit_status -20." "that the node was lost is told"
like "$(cat reasons)" "1 lost: the job ended before it started: PBS: deleted .Subjob terminated." "and that somebody deleted the one that waited"
is "$(grep -c " lost: " reasons)" 3 "and that one was put back, by its runner's end"
end

for kind in openpbs torque; do
	# --- a queue that takes no jobs for now: they wait for that, and are not in doubt
	begin $kind
	pbs disable main
	members 2
	id=$(submit spec.json)
	ok "$kind: what jobs wait for is told before they are submitted" wait_for 30 'api GET "/v1/jobs?ensemble=$id&state=intent" | jq -e ".jobs | length > 0 and all(.waits_for | . != null and test(\"Queue is not enabled\"))"'
	like "$(api GET "/v1/ensembles/$id" | jq -c .notice)" "Queue is not enabled" "$kind: of the ensemble, too"
	pbs enable main
	ok "$kind: they are submitted when the queue takes them" wait_ensemble "$id" 90
	is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" '["complete",2]' "$kind: and succeed"
	is "$(sort "$HOME/ran" | xargs)" "0 1" "$kind: each ran once"
	is "$(grep "it is not known whether" "$DAEMON_LOG")" "" "$kind: there was no doubt"
	ok "$kind: the log tells of it" grep -q "adapter pbs: [0-9]* submissions were not accepted for now, and are tried again: .*Queue is not enabled" "$DAEMON_LOG"
	pbs disable main
	id=$(submit spec.json)
	ok "$kind: once more" wait_for 30 'api GET "/v1/ensembles/$id" | jq -e ".notice != null"'
	stretto cancel "$id" >/dev/null
	ok "$kind: what was never submitted is cancelled without PBS" wait_for 30 'api GET "/v1/ensembles/$id" | jq -e ".members.cancelled == 2"'
	pbs enable main

	# --- refusals name what is refused, and lines of PBS stay apart
	members 2 '.members.resources.queue = "nope"'
	id=$(submit spec.json)
	wait_ensemble "$id" 30
	ok "$kind: both are told that they are refused" wait_for 30 'api GET "/v1/ensembles/$id/members" | jq -e ".members | length == 2 and all(.state == \"failed\")"'
	like "$(jq -r .reason ensemble.json)" "Unknown queue.* \"?nope\"?" "$kind: the queue is named that PBS does not know"
	pbs refuse 15001 $'first line\nsecond line'
	members 1
	id=$(submit spec.json)
	wait_ensemble "$id" 30
	like "$(jq -r .reason ensemble.json)" "first line; second line" "$kind: two lines are not glued together"
	end
done
done_testing
