#!/bin/bash
# A PBS that hangs, dies, lies, forgets and loses nodes, and a daemon that dies at the worst moment: every member is
# accounted for, and none runs twice at once.
# shellcheck disable=SC2016,SC2119 # for wait_for; pbs_config needs no words
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/pbs.sh
. "$srcdir/tests/t/pbs.sh"

# A member says where it begins. A second of the same at the same time finds the first one's directory.
cat >member <<'END'
#!/bin/sh
mkdir "$HOME/now/$1" 2>/dev/null || { echo "$1" >>"$HOME/twice"; exit 1; }
trap 'rmdir "$HOME/now/$1"; exit 1' TERM
echo "$1" >>"$HOME/ran"
while [ -e "$HOME/hold" ]; do sleep 0.1; done
rmdir "$HOME/now/$1"
END
chmod +x member
mkdir "$HOME/now"
members() { # COUNT [FILTER]
	jq -n --arg program "$T/member" --argjson count "$1" '{name: "faults", adapter: "pbs",
		members: {command: [$program, "{x}"], retries: 0, parameters: {grid: {x: [range($count)]}}, resources: {walltime: "10m"}}}' |
		jq "${2:-.}" >spec.json
}
touch "$HOME/twice"
ran() { sort -n "$HOME/ran" | xargs; }
anew() { rm -rf "$HOME/ran" "$HOME"/now/*; touch "$HOME/ran"; before=$(qsubs); }
qsubs() { pbs counts | awk '$1 == "qsub" { n = $2 } END { print n + 0 }'; }
job_ids() { pbs_jobs | awk -v state="$1" '$3 == state { print $2 }'; }
all_succeeded() { # ID COUNT WHAT
	ok "$kind: $3: it ends" wait_ensemble "$1" 90
	is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" "[\"complete\",$2]" "$kind: $3: every member has succeeded"
}
first_attempt() { api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0] | .outcome + ": " + .reason'; }

begin() { # KIND
	kind=$1
	pbs_start "$kind"
	pbs_config
	start_daemon --config config.json
}
end() {
	stop_daemon
	is "$DAEMON_STATUS" 0 "$kind: the daemon ends well"
	pbs_stop
}
lost_answer() { # the answer to qsub is lost, by a broken connection: there is one job of the member
	anew
	touch "$HOME/hold"
	pbs lose-answer error
	members 1
	id=$(submit spec.json)
	ok "$kind: that it is not known is said" wait_for 30 'grep -q "not known whether it was submitted: qsub: " "$DAEMON_LOG"'
	rm "$HOME/hold"
	all_succeeded "$id" 1 "a lost answer"
	is "$(ran) $(($(qsubs) - before))" "0 1" "$kind: it was submitted once, and ran once"
}
put_out() { # FAULT: a lost node, and a job that PBS puts back into the queue, are no failures of the member's, and no retries
	anew
	touch "$HOME/hold"
	members 1
	id=$(submit spec.json)
	ok "$kind: $1: it runs" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 1 ]'
	[ "$kind" = openpbs ] || pbs next-id 0 # reused, and misleads no one
	rmdir "$HOME/now/0"
	pbs "$1" "$(job_ids R)"
	ok "$kind: $1: it runs again" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
	rm "$HOME/hold"
	all_succeeded "$id" 1 "$1"
	like "$(first_attempt)" "^lost: .*$2" "$kind: $1: why the first attempt ended"
	ok "$kind: $1: nothing of it waits" wait_for 20 '[ -z "$(job_ids Q)$(job_ids R)" ]'
}

# where nobody looked before it began and ended once more, its runner has said so: the job was taken
put_back="PBS: (put back into the queue|FAILED .Exit_status 75.)"
begin openpbs
lost_answer

# --- a server that hangs: nothing is lost or failed, it is said once, and all goes on when it answers
anew
touch "$HOME/hold"
members 2
id=$(submit spec.json)
ok "two run" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
pbs freeze
ok "that PBS does not answer is told" wait_for 30 'api GET /v1/adapters | jq -e ".adapters[] | select(.name == \"pbs\") | .failing_since != null and (.reason | test(\"in time\"))"'
is "$(api GET "/v1/ensembles/$id" | jq -c '[.state, .members.running, .members.failed]')" '["running",2,0]' "and changes nothing"
pbs thaw
pbs foreign
pbs empty
rm "$HOME/hold"
all_succeeded "$id" 2 "a hanging server that then tells of no jobs, and of somebody's with a strange name"
is "$(ran) $(cat "$HOME/twice")" "0 1 " "each ran once"
ok "it answers again" wait_for 30 'api GET /v1/adapters | jq -e ".adapters[] | select(.name == \"pbs\") | .failing_since == null"'
# it may fail to answer once more on a machine that stalls
ok "each time, one line in the log tells of it" wait_for 30 \
	'[ "$(grep -c "adapter pbs does not answer" "$DAEMON_LOG")" = "$(grep -c "adapter pbs answers again" "$DAEMON_LOG")" ]'

# --- the server is killed, and comes back with other ids; meanwhile one job has ended
anew
touch "$HOME/hold"
members 2 '.width = 1'
id=$(submit spec.json)
ok "one runs" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 1 ]'
pbs kill
rm "$HOME/hold"
ok "its end is known without the server" wait_for 30 '[ "$(api GET "/v1/ensembles/$id" | jq .members.succeeded)" = 1 ]'
pbs start 1000
all_succeeded "$id" 2 "a killed server"
is "$(ran)" "0 1" "each ran once"
is "$(pbs_jobs | awk '{ print $2 }' | sort -n | tail -n 1)" 1000.testpbs "with another id"

put_out lose-node "Exit_status -20"
put_out requeue "$put_back"

# --- what is held for good is told
anew
touch "$HOME/hold"
members 3 '.members.resources.cpus_per_task = 4'
id=$(submit spec.json)
ok "one waits" wait_for 30 '[ "$(wc -l <"$HOME/ran") $(job_ids Q | wc -l)" = "2 1" ]'
pbs hold-failed "$(job_ids Q)"
ok "a job that is held after too many attempts is given up" wait_for 30 '[ "$(api GET "/v1/ensembles/$id" | jq .members.failed)" = 1 ]'
rm "$HOME/hold"
wait_ensemble "$id" 30
end

begin torque
lost_answer
put_out requeue "$put_back"
end

# --- the daemon dies after the submission, before it could write that down; the server keeps no history, as is OpenPBS's default
kind=openpbs
rm -rf openpbs
pbs_start openpbs --no-history
cat >qsub-and-kill <<END
#!/bin/sh
$PBS_DIR/bin/qsub "\$@" >$T/answer.\$\$
status=\$?
if [ -e $T/kill ]; then rm $T/kill; kill -KILL \$(cat $T/daemon.pid); fi
cat $T/answer.\$\$
exit \$status
END
chmod +x qsub-and-kill
pbs_config qsub "\"$T/qsub-and-kill\""
start_daemon --config config.json
echo "$DAEMON_PID" >daemon.pid
anew
touch kill "$HOME/hold"
members 3
id=$(submit spec.json)
ok "the daemon is killed when PBS has the job" wait_for 30 '! kill -0 $DAEMON_PID'
kill_daemon
start_daemon --config config.json
ok "all run" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 3 ]'
rm "$HOME/hold"
all_succeeded "$id" 3 "killed after qsub"
is "$(ran) $(cat "$HOME/twice")" "0 1 2 " "each ran once"
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
pbs_stop
done_testing
