#!/bin/bash
# Where Slurm keeps accounts (slurmdbd, MariaDB), a job that squeue has forgotten is looked up there.
# shellcheck disable=SC2016,SC2034,SC2119 # for wait_for; slurm_config needs no words
TEST_LIMIT=200
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
for program in slurmdbd mariadbd mariadb-install-db sacct; do
	command -v $program >/dev/null || skip_all "no accounts here ($program is missing)"
done
# other records are not to help out
slurm_start --db JobCompType=jobcomp/none

slurm_config
start_daemon --config config.json
jq -n '{name: "accounts", adapter: "slurm", members: {command: ["sh", "-c", "echo >>$HOME/ran; while test -e $HOME/hold; do sleep 0.1; done"],
	retries: 0, parameters: {grid: {x: [0]}}, resources: {walltime: "10m"}}}' >spec.json
slurm save
touch "$HOME/hold"
id=$(submit spec.json)
ok "a member runs" wait_for 30 '[ -s "$HOME/ran" ]'
kill_daemon
job=$(slurm_jobs | awk '{ print $1 }')
slurm work | while read -r pid _; do kill -KILL "$pid"; done
ok "its job has ended, by the accounts" wait_for 30 'sacct -n -X -P --name "$job" -S now-1hours -o State | grep -q FAILED'
slurm kill
slurm rollback
slurm start
is "$(slurm_jobs)" "" "Slurm does not know it any more"
rm "$HOME/hold"
start_daemon --config config.json
ok "the member runs again" wait_ensemble "$id" 100
is "$(jq -c '[.state, .members.succeeded]' ensemble.json) $(wc -l <"$HOME/ran")" '["complete",1] 2' "and succeeds"
like "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0] | .outcome + ": " + .reason')" "^lost: .*Slurm: FAILED" "why the first attempt ended"
stop_daemon
slurm_stop
done_testing
