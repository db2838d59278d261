#!/bin/bash
# Jobs of one shape go to PBS as job arrays, and are single jobs all the same: looked up, cancelled and withdrawn one by
# one, put back into the queue, and not submitted again where the answer is lost.
# shellcheck disable=SC2016,SC2119 # for wait_for; pbs_config needs no words
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/pbs.sh
. "$srcdir/tests/t/pbs.sh"

# Writes down the array of each qsub.
cat >qsub-noted <<END
#!/bin/bash
array=alone
for ((i = 1; i < \$#; i++)); do
	case \${!i} in -J | -t) i=\$((i + 1)) array=\${!i} ;; esac
done
echo "\$array" >>$T/arrays
exec "$T/\$(cat $T/kind)/bin/qsub" "\$@"
END
chmod +x qsub-noted
members() { # COUNT [FILTER]
	jq -n --arg home "$HOME" --argjson n "$1" '{name: "arrays", adapter: "pbs", width: $n, members: {retries: 0, resources: {walltime: "10m"},
		parameters: {grid: {x: [range($n)]}}, command: ["sh", "-c", "echo {x} >>\($home)/ran; while test -e \($home)/hold; do sleep 0.1; done"]}}' |
		jq "${2:-.}" >spec.json
	rm -f "$HOME/ran" arrays "$HOME/hold"
	touch "$HOME/ran" arrays
}
ran() { sort -n "$HOME/ran" | xargs; }
ran_n() { wc -l <"$HOME/ran"; }
in_state() { pbs_jobs | grep -c " $1\$"; }
succeeded() { # ID COUNT WHAT
	ok "$kind: $3: it ends" wait_ensemble "$1" 60
	is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" "[\"complete\",$2]" "$kind: $3: every member has succeeded"
	is "$(ran)" "$(seq 0 $(($2 - 1)) | xargs)" "$kind: $3: each ran once"
}
begin() { # KIND [KEY=VALUE]...
	kind=$1
	echo "$kind" >kind
	rm -rf "${T:?}/$kind"
	pbs_start "$@"
	pbs_config qsub "\"$T/qsub-noted\""
	start_daemon --config config.json
}
end() {
	stop_daemon
	is "$DAEMON_STATUS" 0 "$kind: the daemon ends well"
	pbs_stop
}
together() {
	members 20
	id=$(submit spec.json)
	succeeded "$id" 20 "20 members"
	like "$(wc -l <arrays)" '^[1-9]$' "$kind: by few commands" # one for what comes within 200 ms
	ok "$kind: as arrays" grep -q '^0-[0-9]*$' arrays
	is "$(find "$STATE/run/e$id/jobs" -name runner.log -print0 | xargs -0 grep -h "job st-" | sort -u | wc -l)" 20 \
		"$kind: each has the log of its own runner"
}
# one that waits is there twice; one that runs is put back into the queue; the rest is cancelled
one_by_one() {
	members 8 '.members.resources.cpus_per_task = 4'
	touch "$HOME/hold"
	id=$(submit spec.json)
	ok "$kind: two run, others wait" wait_for 30 '[ "$(ran_n) $(in_state R) $(in_state Q)" = "2 2 6" ]'
	ok "$kind: that they wait is known" wait_for 30 '[ "$(api GET "/v1/ensembles/$id" | jq -c "[.members.submitted, .members.running]")" = "[6,2]" ]'
	name=$(pbs_jobs | awk '$3 == "Q" { print $1 }' | sort -V | tail -n 1) # no job has a number that is higher by 8
	if [ "$kind" = openpbs ]; then range=(-J 0-8:8 -l select=1:ncpus=4); else range=(-t "0,8" -l nodes=1:ppn=4); fi
	surplus=$(echo true | "$PBS_DIR/bin/qsub" "${range[@]}" -v "STRETTO_RUNNER=$name+" -o /dev/null -j oe)
	surplus=${surplus%%[*}
	ok "$kind: one job too many is taken out" wait_for 30 '! pbs_jobs | grep -F "${surplus}[0]" | grep " [QH]$"'
	is "$(pbs_jobs | grep -F "${surplus}[8]" | cut -d' ' -f3)" Q "$kind: the other one of its array is left alone"
	qdel "${surplus}[8]"
	is "$(in_state Q) $(ran_n)" "6 2" "$kind: so is the first of the name"
	pbs requeue "$(pbs_jobs | awk '$3 == "R" { print $2 }' | head -n 1)"
	ok "$kind: one that PBS has put back is lost, and runs again" wait_for 40 '[ "$(api GET "/v1/ensembles/$id/members" | jq "[.members[].attempts] | max")" = 2 ]'
	stretto cancel "$id" >/dev/null
	ok "$kind: cancelling ends all that run and wait" wait_for 40 'stretto members '"$id"' --state cancelled --json | jq -e ".members | length == 8"'
	ok "$kind: in PBS, too" wait_for 20 '! pbs_jobs | grep -v " [FC]$"'
	rm "$HOME/hold"
}
lost_answer() {
	members 6
	before=$(pbs_jobs | wc -l)
	touch "$HOME/hold"
	pbs lose-answer error
	id=$(submit spec.json)
	ok "$kind: all run" wait_for 40 '[ "$(ran_n)" = 6 ]'
	is "$(($(pbs_jobs | wc -l) - before))" 6 "$kind: there is one job of each"
	rm "$HOME/hold"
	succeeded "$id" 6 "a lost answer"
	ok "$kind: that it was lost is known" grep -q "not known whether it was submitted: qsub: " "$DAEMON_LOG"
}
# free places of a job are taken by the next members, while one of its first runs on
refilled() {
	members 9 '.pack = 3 | .width = 3 | .refill = true | del(.members.resources) | .members.command[2] = "echo {x} >>$HOME/ran; [ {x} != 0 ] || while [ $(wc -l <$HOME/ran) -lt 9 ]; do sleep 0.1; done"'
	id=$(submit spec.json)
	succeeded "$id" 9 "refilled"
	is "$(xargs <arrays)" alone "$kind: in one job"
}

begin openpbs
together
one_by_one
lost_answer
refilled
end
begin torque
together
one_by_one
lost_answer
refilled
end

# --- a server that keeps no history: of subjobs that are over it tells no more than that; and a limit that only trying tells
begin openpbs --no-history array_max=2
members 5 '.members.command[2] += "; [ {x} != 3 ] || exit 7"'
id=$(submit spec.json)
ok "without a history they end" wait_ensemble "$id" 60
is "$(jq -c '[.state, .members.succeeded, .members.failed]' ensemble.json)" '["complete",4,1]' "and it is known how"
is "$(ran)" "0 1 2 3 4" "each ran once"
like "$(xargs <arrays)" "(^| )0-[2-4] alone" "when an array is refused, one job is tried alone"
like "$(cat "$DAEMON_LOG")" "an array of [345] jobs is refused, one job is not .*exceeds.* they go by [1-3] at most" "and the log tells of it"
pbs_config gather '"0s"' qsub "\"$T/qsub-noted\""
stop_daemon
start_daemon --config config.json
members 3
id=$(submit spec.json)
succeeded "$id" 3 "without arrays"
is "$(xargs <arrays)" "alone alone alone" "each went alone"
end
done_testing
