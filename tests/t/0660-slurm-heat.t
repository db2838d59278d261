#!/bin/bash
# The README's chapter on clusters and the examples of docs/cluster.md, as they stand, on a real Slurm: the heat
# ensemble, its members (MPI) and its training as Slurm's jobs; members in an allocation, and packed.
# shellcheck disable=SC2119 # slurm_start and slurm_config need no words
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -x "$builddir/examples/heat/heat2d" ] || skip_all "heat2d is not built (no MPI)"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
# shellcheck source=tests/t/blocks.sh
. "$srcdir/tests/t/blocks.sh"
slurm_start

# Only a test needs this, and the chapter has it not: jobs bear the test's mark.
slurm_config
mkdir configured
program configured/strettod "$(command -v strettod) --config $T/config.json"
PATH=$T/configured:$PATH
ln -s "$srcdir/examples" .
run_blocks "$srcdir/README.md" "tested with Slurm"

is "$(squeue -h -a -r -t all -o '%i' | wc -l)" 13 "a job for each member and for the training"
slurm_completes
is "$(squeue -h -a -r -t all -o '%T' | sort | uniq -c | xargs)" "13 COMPLETED" "each once, and ended well"

# --- the examples of docs/cluster.md
run_blocks "$srcdir/docs/cluster.md" "tested with Slurm"
slurm_completes
is "$(squeue -h -a -r -t all -o '%i' | wc -l)" 16 "an allocation for eight members, and a job for each four"

start_daemon --run-dir "$HOME/stretto-runs" --state-dir "$XDG_STATE_HOME/stretto"

# --- members first: they wait for their training, which is submitted once one of them runs
jq '.start = "members-first" | .members.parameters.count = 4 | .members.resources = {walltime: "5m"} | .training.buffer.threshold = 10' \
	examples/heat/heat-slurm.json >spec.json
id=$(submit spec.json)
ok "members first" wait_ensemble "$id" 100
is "$(jq -c '[.state, .members.succeeded, .training.unique, .training.drawn]' ensemble.json)" '["complete",4,80,80]' \
	"every time step was used"
first=$(api GET "/v1/jobs?limit=200" | jq -r --argjson id "$id" "[.jobs[] | select(.ensemble == \$id and .kind == \"members\") | .started] | min")
ok "the training was submitted when a member ran" jq -e --arg first "$first" \
	"[.jobs[] | select(.ensemble == $id and .kind == \"training\") | .created > \$first] == [true]" <<<"$(api GET '/v1/jobs?limit=200')"
is "$(api_status POST /v1/ensembles "$(jq '.adapter = "local"' spec.json)") $(jq -r .pointer api.body)" "422 /start" \
	"where the daemon itself gives the places, the training goes first"
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
slurm_stop
done_testing
