#!/bin/bash
# Ensembles as applications of an emulated ALPS, inside of an allocation of Cobalt's: the conformance suite, an ensemble
# over a restart of the daemon, nodes that fail, are taken, or are too small.
# shellcheck disable=SC2016 # for wait_for
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

# shellcheck source=tests/t/alps.sh
. "$srcdir/tests/t/alps.sh"
alps_start 3-5 8
aprun_count() { grep -c '^aprun ' alps/counts; }

# --- the conformance suite
echo "1-3 8" >alps/nodes
conforms alps '{"nids": "1-%d", "pause": "10ms", "environment": ["STRETTO_TEST"]}' STRETTO_ADAPTER=alps
echo "3-5 8" >alps/nodes

# --- outside of an allocation it refuses
alps_config cpus 8 extra '["-j", "1"]'
jq -n '{name: "by-alps", adapter: "alps", width: 30, pack: 2, members: {retries: 1, parameters: {grid: {x: [0, 1, 2, 3, 4, 5, 6, 7]}},
	resources: {walltime: "1h", memory: "10MiB", cpus_per_task: 4, extra: ["-cc", "none"]},
	command: ["sh", "-c", "echo {x} >>$HOME/ran; while ! test -e $HOME/go; do sleep 0.1; done; env >env; echo hello {x}; [ {x} != 3 ] || exit 7"]}}' >spec.json
unset COBALT_PARTNAME SLURM_JOB_NODELIST PBS_NODEFILE
start_daemon --config config.json
is "$(api_status POST /v1/ensembles @spec.json) $(jq -r .code api.body)" "422 resources_impossible" "outside of an allocation nothing is accepted"
like "$(jq -r .detail api.body)" "adapters.alps.nids" "and it is told why"
stop_daemon

# --- an ensemble, packed, over a restart
export COBALT_PARTNAME=3-5 COBALT_JOBID=77 STRETTO_TOKEN=secret
start_daemon --config config.json
unset STRETTO_TOKEN
refused() { # POINTER JQ NAME
	jq "$2" spec.json >big.json
	is "$(api_status POST /v1/ensembles @big.json) $(jq -r '.code + " " + .pointer' api.body)" "422 resources_impossible $1" "$3"
}
refused /members/resources/nodes '.pack = 8 | .members.resources.nodes = 4' "there are three nodes"
refused /members/resources/nodes '.pack = 1 | .members.resources.nodes = 2' "one process has no two of them"
refused /pack '.members.resources.launcher = "aprun"' "programs that aprun starts share no nodes"
refused /members/resources/extra/0 '.members.resources.extra = ["-N", "2"]' "what the adapter gives to aprun is not given twice"
refused /members/resources/tasks '.pack = 6 | .members.resources.nodes = 2' "three members of four CPUs are too many for a node"
refused /pack '.members.resources.tasks = 2' "and so are two of two tasks"
touch "$HOME/ran"
before=$(aprun_count)
id=$(submit spec.json)
ok "two members run on each of the nodes" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 6 ]'
is "$(placed | wc -l)" 3 "each node has one application"
like "$(grep '^aprun ' alps/counts | tail -n 1)" '^aprun -j 1 -cc none -n 2 -N 2 -L [345] -d 4 -m 10m /bin/sh ' "as it was asked for"
ok "the others wait" wait_for 30 '[ "$(api GET "/v1/ensembles/$id" | jq -c "[.members.running, .members.submitted]")" = "[6,2]" ]'
kill_daemon
start_daemon --config config.json
ok "the daemon finds those that run" wait_for 20 '[ "$(api GET "/v1/ensembles/$id" | jq .members.running)" = 6 ]'
touch "$HOME/go"
ok "they go on to their end" wait_ensemble "$id" 60
is "$(jq -c '[.state, .members.succeeded, .members.failed]' ensemble.json)" '["complete",7,1]' "as they do"
is "$(sort "$HOME/ran" | xargs)" "0 1 2 3 3 4 5 6 7" "each once, and one again, as it failed"
is "$(stretto logs "$id.5")" "hello 5" "their output is there"
is "$(grep -l -r -e secret "$STATE/run/e$id" | wc -l)" 0 "nothing of the daemon's secrets reaches them"
ok "what they need does" grep -r -q "^COBALT_JOBID=77" "$STATE/run/e$id"
is "$(($(aprun_count) - before))" 5 "an aprun for each two, and one again"

# --- on nodes of their own a training and the members of another run side by side, and so do jobs of several nodes
rm -f "$HOME/ran"
jq '.name = "trains" | .pack = 1 | .training = {retries: 0, resources: {cpus_per_task: 8}, fields: {f: {dtype: "float32", shape: [1]}},
	command: ["sh", "-c", "touch $HOME/trains; while ! test -e $HOME/trained; do sleep 0.1; done; exit 1"]}' spec.json >trains.json
trains=$(submit trains.json)
ok "a training runs" wait_for 30 '[ -e "$HOME/trains" ]'
jq '.name = "wide" | .pack = 4 | .members.resources.nodes = 2 | .members.parameters = {grid: {x: [1, 2, 4, 5]}}' spec.json >wide.json
id=$(submit wide.json)
ok "members on two nodes run beside it" wait_ensemble "$id" 30
is "$(jq -c .members.succeeded ensemble.json) $(api GET "/v1/ensembles/$trains" | jq -c .training.ended)" "4 null" "to their end, while it runs"
like "$(grep '^aprun ' alps/counts | tail -n 1)" ' -n 4 -N 2 -L [345],[345] -d 4 ' "as one application"
touch "$HOME/trained"
wait_ensemble "$trains" 30

# --- a node that fails is no failure of the member's; one that is taken by another application is waited for
rm -f "$HOME/go" "$HOME/ran"
touch "$HOME/ran" alps/lose-node
jq '.members.retries = 0 | .members.parameters = {grid: {x: [0]}}' spec.json >one.json
id=$(submit one.json)
ok "a member runs" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 1 ]'
apkill -KILL "$(placed)"
ok "its node fails: it runs again" wait_for 40 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
rm alps/lose-node
touch "$HOME/go"
ok "to its end" wait_ensemble "$id" 30
is "$(jq -c .members.succeeded ensemble.json)" 1 "it has succeeded"
like "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0] | .outcome + ": " + .reason')" \
	"^lost: .*ALPS: .*Received node failed or halted event for nid [345]" "why the first attempt ended"
echo "apsched: claim exceeds reservation's node-count" >alps/refuse
id=$(submit one.json)
ok "a node that is not free after all is waited for" wait_ensemble "$id" 30
is "$(jq -c .members.succeeded ensemble.json),$(api GET "/v1/ensembles/$id/members/0" | jq '.attempts | length')" 1,1 "the member succeeds at once"

# --- the operating system on a node ends a member's runner: the reason is told
rm "$HOME/go" "$HOME/ran"
touch "$HOME/ran" alps/oom
id=$(submit one.json)
ok "another runs" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 1 ]'
apkill -KILL "$(placed)"
wait_for 40 '[ "$(api GET "/v1/ensembles/$id/members/0" | jq ".attempts[0].outcome")" != null ]'
like "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[0] | .outcome + ": " + .reason')" "^lost: .*OOM killer" "why it ended"
touch "$HOME/go"
wait_ensemble "$id" 30
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
ok "nothing is left on the nodes" wait_for 10 '[ -z "$(placed)" ]'
done_testing
