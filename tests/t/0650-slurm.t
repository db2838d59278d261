#!/bin/bash
# Ensembles as jobs of a real Slurm: the conformance suite, an ensemble over a restart of the daemon, what can never
# run.
# shellcheck disable=SC2016,SC2119 # for wait_for; slurm_start and slurm_config need no words
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
slurm_start

# --- the conformance suite
conforms slurm "{\"conf\": \"$SLURM_CONF\", \"gather\": \"100ms\", \"extra\": [\"--partition=slots%d\"], \"environment\": [\"STRETTO_TEST\"]}" \
	STRETTO_ADAPTER=slurm

# --- an ensemble, over a restart
slurm_config
export STRETTO_TOKEN=secret AWS_SECRET_ACCESS_KEY=secret
start_daemon --config config.json
unset STRETTO_TOKEN AWS_SECRET_ACCESS_KEY
jq -n '{name: "by-slurm", adapter: "slurm", width: 6, members: {retries: 1, parameters: {grid: {x: [0, 1, 2, 3, 4, 5, 6, 7]}},
	resources: {walltime: "1h", memory: "10MiB", queue: "main", extra: ["--comment=hello"]},
	command: ["sh", "-c", "echo {x} >>$HOME/ran; while ! test -e $HOME/go; do sleep 0.1; done; env >env; echo hello {x}; [ {x} != 3 ] || exit 7"]}}' >spec.json
id=$(submit spec.json)
ok "as many members run as the width says" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 6 ]'
is "$(slurm_jobs | grep -c ' RUNNING$')" 6 "each is a job"
is "$(squeue -h -t R -o '%k %L' | grep -c '^hello [0-9:]*$')" 6 "options are passed through"
squeue -h -r -t R -o '%i %e' >ends
is "$(squeue -h -t R -o '%l' | sort -u)" "1:00:00" "the time limit is the most that the partition allows"
like "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0].job')" "^st-" "the attempt names it"
kill_daemon
start_daemon --config config.json
touch "$HOME/go"
ok "they go on over a restart of the daemon" wait_ensemble "$id" 60
is "$(jq -c '[.state, .members.succeeded, .members.failed]' ensemble.json)" '["complete",7,1]' "to their end"
is "$(sort "$HOME/ran" | xargs)" "0 1 2 3 3 4 5 6 7" "each once, and one again, as it failed"
is "$(stretto logs "$id.5")" "hello 5" "their output is there"
is "$(api GET "/v1/ensembles/$id/members/3" | jq -c '[.attempts[].exit_code]')" "[7,7]" "and their exit status"
is "$(grep -l -r -e secret "$STATE/run/e$id" | wc -l)" 0 "nothing of the daemon's secrets reaches them"
name=$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0].job')
end=$(awk -v id="$(api GET "/v1/jobs?ensemble=$id" | jq -r --arg name "$name" '.jobs[] | select(.name == $name).scheduler_id')" '$1 == id { print $2 }' ends)
left=$(($(date -d "$end" +%s) - $(sed -n 's/^STRETTO_DEADLINE=\([0-9]*\).*/\1/p' "$STATE/run/e$id/members/0/0/a1/env")))
ok "their time ends, for them, before Slurm's limit, which is not above it: by grace and 10 s ($left)" test "$left" -ge 19 -a "$left" -le 21
ok "what they need does" grep -r -q "^HOME=$HOME" "$STATE/run/e$id"
ok "no job is left behind" wait_for 20 '! slurm_jobs | grep -E "(PENDING|RUNNING|COMPLETING)$"'

# --- cancelled, running and waiting
cancels_all '.cpus_per_task = 4'
cancels_all '.exclusive = true'

# --- what waits
tells_why slurm

# --- what can never run: told in Slurm's own words, once, and not tried for ever
before=$(slurm_jobs | grep -c PENDING)
refused "no such queue" '.members.resources.queue = "nope"' 'Invalid partition name'
refused "too much time" '.members.resources.walltime = "2h"' 'Partition(TimeLimit|Config)'
refused "too many nodes" '.members.resources.nodes = 3' 'PartitionConfig|PartitionNodeLimit'
refused "too many CPUs" '.members.resources.tasks = 1000' 'PartitionConfig|node configuration'
refused "no such GPU" '.members.resources.gpus = 1' 'generic resource'
refused "unknown option" '.members.resources.extra = ["--no-such-option"]' 'no-such-option'
ok "nothing of it waits on" wait_for 20 '[ "$(slurm_jobs | grep -c PENDING)" = '"$before"' ]'

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
slurm_stop
done_testing
