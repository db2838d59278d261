#!/bin/bash
# Members and their training on different batch systems: the example of stretto-spec(5), and the other way round.
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -x "$builddir/examples/heat/heat2d" ] || skip_all "heat2d is not built (no MPI)"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
slurm_start

slurm_config
jq '.adapters.local.slots = 4' config.json >config.new && mv config.new config.json
cat >"$HOME/train.py" <<'END'
import stretto.train
with stretto.train.open() as rx:
    for batch in rx.batches():
        pass
    rx.done()
END
start_daemon --config config.json
systems() { # ID: the batch system of each job
	api GET "/v1/jobs?limit=500&ensemble=$1" | jq -c '[.jobs[] | .kind + " " + .adapter] | group_by(.) | map([.[0], length])'
}
streamed() { jq -c '[.state, .members.succeeded, .adapter, .training.adapter, .training.state, .training.unique, .training.drawn]' ensemble.json; }

# --- the example of stretto-spec(5): members as Slurm's jobs, their training here
sed -n '/^Simulations on a cluster/,/^\.Ed/{/^\./d;p}' "$srcdir/docs/man/stretto-spec.5" | sed "1d; s|/home/me|$HOME|" >spec.json
id=$(submit spec.json)
ok "members in Slurm, their training here" wait_ensemble "$id" 120
is "$(streamed)" '["complete",4,"slurm","local","done",200,200]' "every time step was streamed and used"
is "$(systems "$id")" '[["members slurm",4],["training local",1]]' "each where it belongs"
is "$(squeue -h -a -r -t all -o %P | sort | uniq -c | xargs)" "4 main" "in the queue that its resources name"
is "$(jq -c .network "$STATE/run/e$id/training/g1/training.json")" true "a training of this host listens on the network for them"
is "$(jq -c '.curve | length' "$STATE/run/e$id/training/stream/g1-rank0.json")" 40 "encrypted"
like "$(stretto status "$id")" "width +4 on slurm"$'\n'"(.*"$'\n'")*training +[0-9]+: done, ranks 1, generation 1, on local" "stretto status tells both"
is "$(api GET "/v1/jobs?ensemble=$id&adapter=local" | jq -c '[.jobs[].kind]')" '["training"]' "jobs are found by the training's adapter"

# --- the other way round; the training's host is another by what it says of itself, so all goes over the network
jq '.members.parameters.count = 2 | .members.resources = {walltime: "5m"}' spec.json >two.json # without MPI
# shellcheck disable=SC2016 # for the members
jq '.adapter = "local" | .training += {adapter: "slurm", resources: {queue: "high", walltime: "10m"}} |
	.members.command = ["sh", "-c", "sed -i \"s/\\\"host\\\": *\\\"[^\\\"]*/\\\"host\\\":\\\"elsewhere/\" $STRETTO_STREAM/g1-rank0.json; exec \"$@\"", "sh"] +
	.members.command' two.json >other.json
id=$(submit other.json)
ok "members here, their training in Slurm" wait_ensemble "$id" 120
is "$(streamed)" '["complete",2,"local","slurm","done",100,100]' "every time step came over the network, and was used"
is "$(jq -c '[.host, (.curve | length), (.endpoints | map(select(startswith("tcp://"))) | length > 0)]' \
	"$STATE/run/e$id/training/stream/g1-rank0.json")" '["elsewhere",40,true]' "by TCP and CURVE"
is "$(systems "$id")" '[["members local",2],["training slurm",1]]' "each where it belongs"
slurm_completes
is "$(squeue -h -a -r -t all -p high -o '%T')" COMPLETED "the training in the queue that its own resources name"

# --- killed with both under way
# shellcheck disable=SC2016 # for the members
jq '.members.command = ["sh", "-c", "while ! test -e $HOME/go; do sleep 0.1; done; exec \"$@\"", "sh"] + .members.command' two.json >held.json
id=$(submit held.json)
ok "members run" wait_for 60 '[ "$(api GET "/v1/ensembles/$id" | jq .members.running)" -ge 1 ]'
kill_daemon
touch "$HOME/go"
start_daemon --config config.json
ok "the daemon is killed, and finds both again" wait_ensemble "$id" 120
is "$(streamed)" '["complete",2,"slurm","local","done",100,100]' "nothing is lost"
is "$(systems "$id")" '[["members slurm",2],["training local",1]]' "and nothing was started twice"

# --- cancelled with both under way
rm "$HOME/go"
id=$(submit held.json)
ok "members run" wait_for 60 '[ "$(api GET "/v1/ensembles/$id" | jq .members.running)" -ge 1 ]'
stretto cancel "$id" >/dev/null
# shellcheck disable=SC2016 # for eval
ok "cancelling ends both" wait_for 60 '[ "$(api GET "/v1/ensembles/$id" | jq -c "[.members.cancelled, .training.state]")" = "[2,\"cancelled\"]" ]'

# --- what cannot be
refused() { # FILTER: status, code and place
	api_status POST /v1/ensembles "$(jq "$1" spec.json)"
	jq -r '" \(.code) \(.pointer)"' api.body
}
is "$(refused '.training.adapter = "nowhere"')" "422 spec_unknown_adapter /training/adapter" "a training's adapter that is none is refused"
is "$(refused '.training.adapter = 3')" "422 spec_wrong_type /training/adapter" "so is what is no name"
is "$(refused '.training.resources.gpus = 4096')" "422 resources_impossible /training/resources/gpus" "what its adapter cannot have"
is "$(refused '.start = "members-first"')" "422 spec_impossible_value /start" "members first, where the daemon gives the training's places"
is "$(refused '.start = "members-first" | .adapter = "local" | .training.adapter = "slurm"')" "422 spec_impossible_value /start" "or theirs"
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
slurm_stop
done_testing
