#!/usr/bin/env bash
# Trainings that outlive their jobs: the example's parts, and a small ensemble of it that follow-ups complete by
# themselves.
TEST_LIMIT=400
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
export PYTHONPATH=$builddir/python OMP_NUM_THREADS=1
python() { timeout $((200 * PATIENCE)) "$STRETTO_PYTHON" "$@"; }

ok "the series: the equation's, chaotic, in its known range" python - <<'PY'
import numpy
from stretto.examples.rnn_series import mackey_glass, windows
series = mackey_glass(1000)
assert 0.2 < series.min() < 0.5 and 1.2 < series.max() < 1.4, (series.min(), series.max())
# another start leads elsewhere, but not at once: what is chaotic forgets slowly
apart = abs(mackey_glass(3000, start=1.2 + 1e-5) - mackey_glass(3000))
assert apart[:50].max() < 0.01 and apart.max() > 0.3, (apart[:50].max(), apart.max())
# with a short memory it settles where production and decay are equal: 0.2 x / (1 + x^10) = 0.1 x at x = 1
assert abs(mackey_glass(50, tau=2.0) - 1).max() < 1e-3
inputs, wanted = windows(series, 20)
assert inputs.shape == (980, 20, 1) and wanted.shape == (980, 1) and inputs.dtype == wanted.dtype == numpy.float32
assert (inputs[1:, -1, 0] == wanted[:-1, 0]).all() and abs(wanted.mean()) < 0.1
PY
ok "a history has each epoch once" python - <<'PY'
from stretto.examples.rnn_history import History
record = {"train_loss": 2.0, "validation_loss": 4.0, "seconds": 0.5, "attempt": "1.1"}
history = History()
history.add(epoch=1, **record)
for wrong in (1, 3, 0):
    try:
        history.add(epoch=wrong, **record)
    except ValueError:
        continue
    raise AssertionError(wrong)
history.add(epoch=2, **dict(record, validation_loss=2.0, seconds=0.7))
assert len(history) == 2 and history.longest() == 0.7 and history.area() == 3.0
assert len(History(history.records)) == 2
PY
ok "a hundred different arguments, always the same" python - <<'PY'
import json
from stretto.examples import rnn_arguments
rnn_arguments.main(["--out", "arguments.jsonl"])
lines = open("arguments.jsonl").read().splitlines()
assert len(lines) == len(set(lines)) == 100
assert json.loads(lines[0]) == {"cell": "gru", "hidden": 16, "lr": 0.01, "batch": 32}
PY

# --- by itself
train() { python -m stretto.examples.rnn_train "$@"; }
losses() { cut -d, -f1-3 "$1"; }
mkdir whole
(cd whole && train --cell gru --hidden 16 --lr 0.01 --batch 32 --seed 0 --epochs 5 --checkpoints . >log 2>err)
is "$?,$(grep -c '^epoch' whole/log),$(jq .epochs whole/result.json)" 0,5,5 "it runs without stretto, to its end"
like "$(cat whole/err)" "this is no ensemble member" "which is said"
status_is 1 "another training's checkpoint is refused" train --hidden 24 --restart whole/epoch-0005.pt
like "$(cat err)" "rnn_train: whole/epoch-0005.pt belongs to a training with other arguments" "with the reason"
STRETTO_DEADLINE=$(date +%s) train --checkpoints late >out 2>err
is "$?,$(tail -n 1 out),$(ls late)" "0,no time for epoch 1: to be continued," "where no time is left it stops, with exit status 0"

# --- as an ensemble: a training that needs two jobs; others on batch systems (0341, 0342)
start_daemon
head -n 1 arguments.jsonl >one && mv one arguments.jsonl
jq '.members.command[-1] = "5" | .members.command += ["--most", "3"] | .members.resources.walltime = "5m"' \
	"$srcdir/examples/rnn/rnn.json" >rnn.json
id=$(stretto submit rnn.json --json | jq .id)
family() { api GET "/v1/ensembles/$id" | jq -e "$1" >family.out; }
ok "it is completed" wait_for 240 "family '.family.members.succeeded == 1'"
api GET "/v1/ensembles/$id" >ensemble.json
is "$(jq -c '[.members.unfinished, (.follow_ups | length)]' ensemble.json)" '[1,1]' "by a follow-up"
root=$(jq -r .dir ensemble.json)
is "$(tail -n +2 "$root/members/0/0/checkpoint/history.csv" | cut -d, -f1,5 | xargs)" "1,1.1 2,1.1 3,1.1 4,2.1 5,2.1" \
	"each epoch once, in order, in two jobs"
is "$(losses "$root/members/0/0/checkpoint/history.csv")" "$(losses whole/history.csv)" \
	"it comes to what it comes to in one piece, digit by digit"
is "$(sqlite3 "$STATE/stretto.db" 'SELECT max(failures) FROM member')" 0 "no retry was spent"
python -m stretto.examples.rnn_report "$root" >report
is "$? $(awk 'NR > 1 { print $3 }' report | sort | xargs)" "0 0" "it is reported"
stop_daemon
done_testing
