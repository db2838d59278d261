#!/bin/bash
# Slurm's ids wrap, and other jobs have those of ours by the time that the daemon is back: it takes no other job for its
# own, and ends none.
# shellcheck disable=SC2016,SC2034,SC2317 # for wait_for
TEST_LIMIT=200
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
slurm_start MaxJobId=9 MinJobAge=2
slurm_config gather '"0s"' # each job alone: an array's have ids that others' have not
start_daemon --config config.json
member() {
	jq -n '{name: "ids", adapter: "slurm", members: {retries: 0, parameters: {grid: {x: [0]}}, resources: {walltime: "10m"},
		command: ["sh", "-c", "echo '"$1"' >>$HOME/ran; while test -e $HOME/hold; do sleep 0.1; done"]}}' >spec.json
	submit spec.json
}
ids_of() { api GET "/v1/jobs?ensemble=$1" | jq -r '[.jobs[].scheduler_id // empty] | join(" ")'; }
touch "$HOME/hold" "$HOME/ran"
stays=$(member stays)
ok "a member runs" wait_for 30 'grep -q stays "$HOME/ran" && [ -n "$(ids_of "$stays")" ]'
goes=$(member goes)
ok "and one of another ensemble" wait_for 30 'grep -q goes "$HOME/ran" && [ -n "$(ids_of "$goes")" ]'
first=$(ids_of "$stays") second=$(ids_of "$goes")
kill_daemon
slurm work | while read -r pid _; do kill -KILL "$pid" 2>/dev/null; done
ok "both are killed, and Slurm forgets them" wait_for 60 '[ -z "$(slurm_jobs)" ]'

take() { # ID: for a job of somebody else's
	local got
	for _ in $(seq 30); do
		got=$(sbatch --parsable -p slots3 -J theirs -o /dev/null --wrap 'exec sleep 1000')
		[ "$got" != "$1" ] || return 0
		scancel "$got"
	done
	return 1
}
ok "the id of one is another's" take "$first"
ok "and that of the other" take "$second"
theirs() { squeue -h -t R -n theirs -o %i | sort -n | xargs; }
ok "which run" wait_for 30 '[ "$(theirs)" = "$first $second" ]'
slurm freeze
start_daemon --config config.json
stretto cancel "$goes" >/dev/null
slurm thaw
ok "what is cancelled ends" wait_for 60 '[ "$(api GET "/v1/ensembles/$goes" | jq -c "[.state, .members.cancelled]")" = "[\"cancelled\",1]" ]'
rm "$HOME/hold"
ok "the other member runs again" wait_ensemble "$stays" 60
is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" '["complete",1]' "and succeeds"
like "$(api GET "/v1/ensembles/$stays/members/0" | jq -r '.attempts[0] | .outcome + ": " + .reason')" "^lost: .*Slurm: FAILED" "why its first attempt ended"
is "$(sort "$HOME/ran" | xargs)" "goes stays stays" "nothing else has run"
is "$(ids_of "$stays" | tr ' ' '\n' | grep -c -x "$first"),$(ids_of "$stays" | wc -w)" 1,2 "its second job had another id"
is "$(theirs)" "$first $second" "nothing has happened to the jobs that have their ids"
scancel -n theirs

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
slurm_stop
done_testing
