#!/bin/bash
# Ensembles as jobs of an emulated OpenPBS and Torque: the conformance suite, an ensemble over a restart of the daemon,
# what can never run.
# shellcheck disable=SC2016,SC2119 # for wait_for; pbs_config needs no words
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/pbs.sh
. "$srcdir/tests/t/pbs.sh"

attributes() { # what each job that runs has asked for: TIME CPU-TIME ACCOUNT
	if [ "$kind" = torque ]; then
		qstat -t -f -x | sed 's|</Job>|\n|g' | sed -n 's|.*<job_state>R<.*<Account_Name>\([^<]*\).*<Resource_List>\(.*\)</Resource_List>.*|\2 \1|p' |
			sed 's|.*<walltime>\([^<]*\).*<cput>\([^<]*\)[^ ]*|\1 \2|'
	else
		qstat -t -f -F json | jq -r '.Jobs[] | select(.job_state == "R") | "\(.Resource_List.walltime) \(.Resource_List.cput) \(.Account_Name)"'
	fi
}
ensemble() {
	export STRETTO_TOKEN=secret AWS_SECRET_ACCESS_KEY=secret
	start_daemon --config config.json
	unset STRETTO_TOKEN AWS_SECRET_ACCESS_KEY
	rm -f "$HOME/ran" "$HOME/go"
	jq -n '{name: "by-pbs", adapter: "pbs", width: 6, members: {retries: 1, parameters: {grid: {x: [0, 1, 2, 3, 4, 5, 6, 7]}},
		resources: {walltime: "50m", memory: "10MiB", queue: "main", account: "abc", extra: ["-l", "cput=01:00:00"]},
		command: ["sh", "-c", "echo {x} >>$HOME/ran; while ! test -e $HOME/go; do sleep 0.1; done; env >env; echo hello {x}; [ {x} != 3 ] || exit 7"]}}' >spec.json
	id=$(submit spec.json)
	ok "$kind: as many members run as the width says" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 6 ]'
	is "$(pbs_jobs | grep -c '^st-.* R$')" 6 "$kind: each is a job"
	is "$(attributes | sort | uniq -c | xargs)" "6 00:50:40 01:00:00 abc" "$kind: with room for the grace, options passed through, and the account"
	like "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0].job')" "^st-" "$kind: the attempt names it"
	kill_daemon
	start_daemon --config config.json
	touch "$HOME/go"
	ok "$kind: they go on over a restart of the daemon" wait_ensemble "$id" 60
	is "$(jq -c '[.state, .members.succeeded, .members.failed]' ensemble.json)" '["complete",7,1]' "$kind: to their end"
	is "$(sort "$HOME/ran" | xargs)" "0 1 2 3 3 4 5 6 7" "$kind: each once, and one again, as it failed"
	is "$(stretto logs "$id.5")" "hello 5" "$kind: their output is there"
	is "$(api GET "/v1/ensembles/$id/members/3" | jq -c '[.attempts[].exit_code]')" "[7,7]" "$kind: and their exit status"
	is "$(grep -l -r -e secret "$STATE/run/e$id" | wc -l)" 0 "$kind: nothing of the daemon's secrets reaches them"
	ok "$kind: no job is left behind" wait_for 20 '! pbs_jobs | grep -v " [FC]$"'
}
# what can never run: told in PBS's own words, once, and not tried for ever
refused() { # NAME FILTER REASON
	jq ".name = \"$1\" | $2" spec.json >never.json
	id=$(submit never.json)
	ok "$kind: $1: it ends" wait_ensemble "$id" 20
	is "$(jq -r .state ensemble.json)" failed "$kind: $1: the ensemble has failed"
	like "$(jq -r .reason ensemble.json)" "^the (scheduler refuses its jobs|job can never run): .*($3)" "$kind: $1: with PBS's reason"
	is "$(api GET "/v1/ensembles/$id/members" | jq '[.members[].attempts] | max')" 1 "$kind: $1: nothing is tried again"
}
for kind in openpbs torque; do
	pbs_start $kind
	pbs_config
	conforms $kind '{"extra": ["-q", "slots%d"], "environment": ["STRETTO_TEST"]}' STRETTO_ADAPTER=pbs
	ensemble
	[ $kind = openpbs ] || over='exceeds queue resource limits'
	refused "no such queue" '.members.resources.queue = "nope"' 'Unknown queue'
	refused "too much time" '.members.resources.walltime = "2h"' "${over:-violates queue and/or server resource limits}"
	refused "too many nodes" '.members.resources.nodes = 3' "${over:-Can Never Run}"
	refused "unknown option" '.members.resources.extra = ["--no-such-option"]' 'no-such-option'
	ok "$kind: nothing of it waits on" wait_for 20 '! pbs_jobs | grep -v " [FC]$"'

	# a waiting one is cancelled, too; none that has a whole node, by its size or by its wish, fits beside another
	for whole in '.cpus_per_task = 4' '.exclusive = true'; do
		rm "$HOME/go" "$HOME/ran"
		jq '.width = 20 | .members.parameters = {grid: {x: [range(20)]}} | .members.resources'"$whole" spec.json >big.json
		id=$(submit big.json)
		ok "$kind: some run, others wait" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ] && [ "$(pbs_jobs | grep -c " Q$")" = 18 ]'
		# OpenPBS says so; Torque says nothing
		[ $kind = torque ] || ok "openpbs: what they wait for is told" wait_for 20 'api GET "/v1/jobs?ensemble=$id&limit=1" | jq -e ".jobs[0].waits_for | test(\"^Not Running\")"'
		stretto cancel "$id" >/dev/null
		ok "$kind: cancelling ends them all" wait_for 30 'stretto members '"$id"' --state cancelled --json | jq -e ".members | length == 20"'
		ok "$kind: in PBS, too" wait_for 20 '! pbs_jobs | grep -v " [FC]$"'
		is "$(wc -l <"$HOME/ran")" 2 "$kind: none of those that waited has started"
		touch "$HOME/go"
	done
	stop_daemon
	is "$DAEMON_STATUS" 0 "$kind: the daemon ends well"
	pbs_stop
done
done_testing
