#!/bin/bash
# An ensemble by the plugin for OAR, on Debian's real OAR: of the conformance suite what differs most, an array of jobs
# over a restart of the daemon, what can never run. 0686-oar-long.t has more.
# shellcheck disable=SC2016,SC2119 # for wait_for; oar_config needs no words
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/oar.sh
. "$srcdir/tests/t/oar.sh"
oar_start
oar_config

conforms oar "{\"extra\": [\"-p\", \"cluster = 'slots%d'\"], \"environment\": [\"STRETTO_TEST\"], \"gather\": \"100ms\"}" \
	STRETTO_ADAPTER_PLUGIN="$T/adapters/oar.so" STRETTO_ADAPTER_SLOW=1

# --- an ensemble, as one array of jobs
export STRETTO_TOKEN=secret AWS_SECRET_ACCESS_KEY=secret
start_daemon --config config.json
unset STRETTO_TOKEN AWS_SECRET_ACCESS_KEY
is "$(api GET /v1/adapters | jq -c '[.adapters[] | select(.name == "oar") | .plugin]')" "[\"$T/adapters/oar.so\"]" "the plugin is there"
jq -n '{name: "by-oar", adapter: "oar", width: 4, members: {retries: 0, parameters: {grid: {x: [0, 1, 2, 3]}},
	resources: {walltime: "50m", cpus_per_task: 2, queue: "default", account: "abc", extra: ["-t", "exotic"]},
	command: ["sh", "-c", "echo {x} >>$HOME/ran; while ! test -e $HOME/go; do sleep 0.1; done; env >env; echo hello {x}; [ {x} != 3 ] || exit 7"]}}' >spec.json
id=$(submit spec.json)
ok "its members run" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 4 ]'
oarstat -J -f --sql "project = 'abc'" >jobs.json
is "$(jq -c '[.[].array_id] | [length, (unique | length)]' jobs.json)" "[4,1]" "as jobs of one array"
is "$(jq -r '.[] | "\(.walltime) \(.wanted_resources) \(.types[0])"' jobs.json | sort | uniq -c | xargs -d '\n')" \
	'      4 3040 -l "/network_address=1/core=2,walltime=0:50:40"  exotic' "with room for the grace, and what was asked for"
is "$(jq -r '[.[].assigned_network_address[]] | sort | join(" ")' jobs.json)" "n1 n1 n2 n2" "on cores of their own"
kill_daemon
start_daemon --config config.json
touch "$HOME/go"
ok "they go on over a restart of the daemon" wait_ensemble "$id" 60
is "$(jq -c '[.state, .members.succeeded, .members.failed]' ensemble.json)" '["complete",3,1]' "to their end"
is "$(sort "$HOME/ran" | xargs)" "0 1 2 3" "each once"
is "$(stretto logs "$id.2")" "hello 2" "their output is there"
is "$(api GET "/v1/ensembles/$id/members/3" | jq -c '[.attempts[].exit_code]')" "[7]" "and their exit status"
is "$(grep -l -r -e secret "$STATE/run/e$id" | wc -l)" 0 "nothing of the daemon's secrets reaches them"
is "$(for i in 0 1 2 3; do find "$STATE/run/e$id" -name env -exec grep -h -c "^OAR_ARRAY_INDEX=$((i + 1))$" {} + | grep -c 1; done | xargs)" \
	"1 1 1 1" "each is a job of its own"

# --- what can never run: told in OAR's own words, once, and not tried for ever
refused() { # NAME FILTER REASON
	jq ".name = \"$1\" | $2" spec.json >never.json
	id=$(submit never.json)
	ok "$1: it ends" wait_ensemble "$id" 30
	is "$(jq -r .state ensemble.json)" failed "$1: the ensemble has failed"
	like "$(jq -r .reason ensemble.json)" "^the scheduler refuses its jobs: .*($3)" "$1: with OAR's reason"
}
before=$(oar_jobs | wc -l)
refused "no such queue" '.members.resources.queue = "nope"' 'The queue nope does not exist'
refused "too much time" '.members.resources.walltime = "2h"' 'the walltime is more than an hour'
refused "too many nodes" '.members.resources.nodes = 3' 'not enough resources'
refused "no such property" '.members.resources.extra = ["-p", "nonsense = 3"]' 'Bad resource request|nonsense'
is "$(oar_jobs | wc -l)" "$before" "OAR has no job of it"
ok "no job is left behind" wait_for 20 '! oar_jobs | grep -v -E " (Terminated|Error)$"'

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
oar_stop
done_testing
