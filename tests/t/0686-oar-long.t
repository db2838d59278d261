#!/bin/bash
# By hand, with STRETTO_OAR_LONG=1: the plugin for OAR with all of the conformance suite, the example of
# docs/cluster.md, and what happens to jobs in OAR: besteffort ones make room, a node is gone, its database does not
# answer. It takes minutes: a job costs OAR seconds.
# shellcheck disable=SC2016,SC2119 # for wait_for; oar_config needs no words
TEST_LIMIT=600
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_OAR_LONG:-}" ] || skip_all "by hand: STRETTO_OAR_LONG=1"
# shellcheck source=tests/t/oar.sh
. "$srcdir/tests/t/oar.sh"
oar_start
oar_config
oar besteffort
# A sanitized library is loaded into a Python that loaded the sanitizer first.
mkdir -p bin
printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$(sed -n 's/^LD_PRELOAD=\([^ ]*\) .*/\1/p' bin/strettod 2>/dev/null)" \
	"${STRETTO_PYTHON:-python3}" >bin/python3
chmod +x bin/python3
PATH=$T/bin:$builddir/examples/heat:$PATH
start_daemon --config config.json

# --- besteffort jobs make room for others
jq -n '{name: "besteffort", adapter: "oar", width: 2, members: {retries: 0, parameters: {grid: {x: [0, 1]}},
	resources: {walltime: "50m", cpus_per_task: 4, queue: "besteffort"},
	checkpoint: {before: "1m", signal: "USR1", grace: "4s", glob: "*.ckpt"},
	command: ["sh", "-c", "trap \"echo warned >>$HOME/warned\" USR1; echo {x} >>$HOME/ran; while ! test -e $HOME/go; do sleep 0.1; done"]}}' >spec.json
id=$(submit spec.json)
ok "besteffort members run" wait_for 60 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
oarsub -n other -l /nodes=2/core=4,walltime=0:10:00 -d / -O /dev/null -E /dev/null "touch $HOME/other; while ! test -e $HOME/over; do sleep 0.1; done" >/dev/null
ok "another job takes their place" wait_for 90 'test -e "$HOME/other"'
is "$(wc -l <"$HOME/warned")" 2 "they were warned before"
touch "$HOME/over" "$HOME/go"
ok "they are done again" wait_ensemble "$id" 120
is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" '["complete",2]' "at the cost of no retry"
is "$(api GET "/v1/ensembles/$id/members/0" | jq '.attempts | length')" 2 "by a second attempt"

# --- a node is gone
rm "$HOME/go" "$HOME/ran"
jq '.members.resources.queue = "default" | del(.members.checkpoint)' spec.json >gone.json
id=$(submit gone.json)
ok "members run" wait_for 60 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
oar absent-node n1
ok "of the one whose node is gone nothing is left" wait_for 90 '[ "$(api GET "/v1/ensembles/$id" | jq .members.running)" = 1 ]'
touch "$HOME/go"
ok "it is done again" wait_ensemble "$id" 120
is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" '["complete",2]' "at the cost of no retry"

# --- the database does not answer
rm "$HOME/go" "$HOME/ran"
jq '.members.resources.cpus_per_task = 1' gone.json >silent.json
id=$(submit silent.json)
ok "members run" wait_for 60 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
oar freeze
touch "$HOME/go"
ok "that OAR does not answer is told" wait_for 90 'api GET /v1/adapters | jq -e "[.adapters[] | select(.name == \"oar\") | .state] == [\"silent\"]"'
is "$(api GET "/v1/ensembles/$id" | jq -c .members.failed)" 0 "and costs nothing"
oar thaw
ok "then all goes on" wait_ensemble "$id" 90
is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" '["complete",2]' "to its end"

# --- the example, as a user would
if [ -x "$builddir/examples/heat/heat2d" ] && [ -n "${STRETTO_PYTHON:-}" ]; then
	ln -s "$srcdir/examples" .
	awk '/^<!-- tested with OAR -->$/ { armed = 1; next } armed && /^```sh$/ { inside = 1; armed = 0; next } /^```$/ { inside = 0 } inside' \
		"$srcdir/docs/cluster.md" >commands
	status_is 0 "the commands of docs/cluster.md" bash -e ./commands
	is "$(stretto status --json | jq -c '[.ensembles[] | select(.name == "heat-slurm") | .state, .members.succeeded]')" '["complete",12]' "end well"
fi

conforms oar "{\"extra\": [\"-p\", \"cluster = 'slots%d'\"], \"environment\": [\"STRETTO_TEST\"], \"gather\": \"100ms\"}" \
	STRETTO_ADAPTER_PLUGIN="$T/adapters/oar.so"
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
oar_stop
done_testing
