#!/usr/bin/env bash
# One model on two ranks: each sample goes to one of them, both learn the same weights, and who met is checked first.
TEST_LIMIT=400
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -x "$builddir/examples/heat/heat2d" ] || skip_all "heat2d is not built (no MPI)"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"

MEMBERS=12 STEPS=20
SAMPLES=$((MEMBERS * STEPS))
echo '{"adapters": {"local": {"slots": 6}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
RUN=$STATE/run
on_two_ranks() { jq '.training.ranks = 2 | .training.buffer.threshold = 10' "$srcdir/examples/heat/heat-small.json"; }
submit_ranks() { # MODE [COMMAND]: by a launcher of its own, as JSON
	on_two_ranks | jq --arg program "$srcdir/tests/t/ranks-train.py" --arg mode "$1" --argjson by "${2:-[\"python3\"]}" \
		'.training.command = $by + [$program, $mode] | .training.retries = 0' >"$T/ranks.json"
	ID=$(submit "$T/ranks.json")
	wait_ensemble "$ID" 200
	E=$(cat "$T/ensemble.json")
}
field() { jq -r "$1" <<<"$E"; }

# --- the surrogate of the example

on_two_ranks >"$T/heat.json"
ID=$(submit "$T/heat.json")
ok "the heat ensemble ends with its training on two ranks" wait_ensemble "$ID" 300
E=$(cat "$T/ensemble.json")
is "$(field '.state + " " + .training.state')" "complete done" "both are done"
is "$(field .training.unique) $(field .training.drawn)" "$SAMPLES $SAMPLES" "together they drew every sample"
is "$(jq -s 'map(.unique_drawn) | add' "$RUN/e$ID"/training/g1/rank*/books.json)" $SAMPLES "each was drawn on one rank only"
is "$(jq -s 'map(.members == 12) | all' "$RUN/e$ID"/training/g1/rank*/books.json)" true "every member deals to both"
ok "the network is kept once" test -s "$RUN/e$ID/training/g1/rank0/model.pt" -a ! -e "$RUN/e$ID/training/g1/rank1/model.pt"
api GET "/v1/trainings/$(field .training.id)/metrics?buckets=10000" >"$T/metrics.json"
ok "one rank tells the losses" jq -e '[.series.validation_loss.buckets[] | .count == 1] | all' "$T/metrics.json"

# --- the weights

submit_ranks whole
is "$(field '.state + " " + .training.state')" "complete done" "a training of one's own on two ranks ends well"
G=$RUN/e$ID/training/g1
ok "after as many batches both ranks have the same weights, to the last bit" cmp "$G/rank0/weights.json" "$G/rank1/weights.json"
is "$(jq -s 'add | length' "$G"/rank*/drawn.json)" $SAMPLES "and none of their samples in common, nor any left out"
is "$(jq -s 'add | unique | length' "$G"/rank*/drawn.json)" $SAMPLES "that is, all different"

# --- steps that are not consecutive: one member, whose samples are far more than buffer and window hold, so that it ends
# only if both ranks get their share all the time
cat >"$T/far.py" <<'END'
import sys, numpy, stretto
with stretto.open() as member:
    step = 0
    for count in range(3000):
        member.send(step, temperature=numpy.full((4, 4), 100 + count % 7, dtype=numpy.float32))
        step += 10 if sys.argv[1] == "ten" else 1 + count * count % 17
END
for how in ten uneven; do
	on_two_ranks | jq --arg program "$srcdir/tests/t/ranks-train.py" --arg how "$how" --arg member "$T/far.py" --arg python "$STRETTO_PYTHON" '
		.training.command = ["python3", $program, "whole"] | .training.retries = 0 | .training.fields.temperature.shape = [4, 4] |
		.training.buffer = {policy: "fifo", capacity: 200, threshold: 0, batch: 20} |
		.members.parameters.count = 1 | .members.command = [$python, "-B", $member, $how]' >"$T/far.json"
	ID=$(submit "$T/far.json")
	ok "$how: a training on two ranks that wait for each other ends" wait_ensemble "$ID" 100
	is "$(jq -c '[.state, .training.unique, .training.drawn]' "$T/ensemble.json")" '["complete",3000,3000]' "$how: it has learnt all"
	ok "$how: each rank had about half" jq -se 'all(length > 1300)' "$RUN/e$ID"/training/g1/rank*/drawn.json
done

# --- worlds that are none

submit_ranks missing
is "$(field .training.state)" failed "where a rank does not come, the training fails"
like "$(field .training.reason)" 'rank 1 of 2 did not come' "and says which one"
submit_ranks whole "$(jq -nc --arg mpiexec "$STRETTO_MPIEXEC" --arg python "$STRETTO_PYTHON" '[$mpiexec, "-n", "2", $python]')"
is "$(field .training.state)" failed "where a command starts a rank twice, by a launcher of its own, the training fails"
like "$(field .training.reason)" 'rank [01] failed' "and names the rank"
like "$(cat "$RUN/e$ID"/training/g1/rank?/stderr)" 'another process is rank [01] .*must not start processes by mpiexec' \
	"which says what it does not do"

# Both ends may have been opened even so, as by processes that do so one after the other. Then the meeting shows it.
cat >"$T/meet.py" <<'END'
import datetime, sys, types, torch.distributed
from stretto.distributed import _meet
store = torch.distributed.FileStore(sys.argv[1], -1)
store.set_timeout(datetime.timedelta(seconds=20))
rx = types.SimpleNamespace(rank=0, ranks=1)
assert len(_meet(store, rx, torch.device("cpu"))) == 1
try:
    _meet(store, rx, torch.device("cpu"))
except RuntimeError as error:
    print(error)
END
like "$(PYTHONPATH=$builddir/python "$STRETTO_PYTHON" -B "$T/meet.py" "$T/met" 2>&1)" \
	'^two processes are rank 0: .* must not start processes by mpiexec' "a second process of the same rank is told who the first is"

# The loopback interface is for ranks of one host alone. These ranks are threads; each is told its host.
cat >"$T/hosts.py" <<'END'
import datetime, os, socket, sys, threading, types, torch.distributed
from stretto import distributed
local, interfaces = threading.local(), []
socket.gethostname = lambda: local.host
def note_interface(*args, **more):
    interfaces.append(os.environ.get("GLOO_SOCKET_IFNAME"))
distributed.torch.distributed.init_process_group = note_interface
distributed.torch.distributed.destroy_process_group = lambda: None
def join(rank, hosts):
    local.host = hosts[rank]
    try:
        with distributed.process_group(types.SimpleNamespace(rank=rank, ranks=len(hosts)),
                                       meet_within=datetime.timedelta(seconds=60)):
            pass
    except (RuntimeError, ValueError): # there is no such group
        pass
for number, hosts in enumerate(sys.argv[2:]):
    os.environ["STRETTO_TRAINING_DIR"] = f"{sys.argv[1]}{number}"
    os.mkdir(os.environ["STRETTO_TRAINING_DIR"])
    os.environ.pop("GLOO_SOCKET_IFNAME", None)
    interfaces.clear()
    hosts = hosts.split()
    threads = [threading.Thread(target=join, args=(rank, hosts)) for rank in range(len(hosts))]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(interfaces)
END
interfaces=$(PYTHONPATH=$builddir/python "$STRETTO_PYTHON" -B "$T/hosts.py" "$T/ranks-of-" "one one" "one two" "one one two" 2>&1)
is "$(sed -n 1p <<<"$interfaces")" "['lo', 'lo']" "ranks of one host need no network"
is "$(sed -n 2p <<<"$interfaces")" "[None, None]" "those of two hosts use it"
is "$(sed -n 3p <<<"$interfaces")" "[None, None, None]" "each of them"
done_testing
