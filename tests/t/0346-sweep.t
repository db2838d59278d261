#!/usr/bin/env bash
# The example of a sweep: real trainings by one process and by two with PyTorch's DDP, of which one diverges, from one
# spec to the report.
TEST_LIMIT=600
# shellcheck source=tests/t/lib.sh
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
sweep=$srcdir/examples/sweep
export PYTHONPATH=$builddir/python OMP_NUM_THREADS=1

# Two workers with batches of 8 learn the same as one with batches of 16, since DDP takes the mean of their gradients.
# The third would take hours if nobody noticed that it has diverged.
cat >runs.jsonl <<'END'
{"workers": 1, "optimiser": "sgd", "lr": 0.05, "batch": 16, "epochs": 8}
{"workers": 2, "optimiser": "sgd", "lr": 0.05, "batch": 8, "epochs": 8}
{"workers": 1, "optimiser": "sgd", "lr": 1e18, "batch": 8, "epochs": 100000}
END
jq '.members.parameters = {file: "runs.jsonl"} | .members.command += ["--images", "512", "--epochs", "{epochs}"]' "$sweep/sweep.json" >spec.json
jq -n --arg python "$STRETTO_PYTHON" '{python: $python, adapters: {local: {slots: 2}}}' >config.json
start_daemon --config config.json
id=$(stretto submit spec.json --json | jq .id)
[ -n "$id" ] || bail "the sweep is refused"
ok "it ends" wait_ensemble "$id" 300
is "$(api GET "/v1/ensembles/$id" | jq -c '[.state, .members.succeeded, .members.failed, .diverged]')" '["complete",2,1,1]' "two trainings succeed, and one diverges"
results=$(api GET "/v1/ensembles/$id" | jq -r .dir)/results
is "$(find -L "$results" -type f ! -name '.*' -printf '%P\n' | sort | xargs)" \
	"1/sgd-lr0.05-b16/model.pt 1/sgd-lr0.05-b16/stdout 2/sgd-lr0.05-b8/model.pt 2/sgd-lr0.05-b8/stdout" "models and output are under names that say what they are"
ok "two workers have learnt the same as one with batches of twice the size, and something" timeout $((100 * PATIENCE)) "$STRETTO_PYTHON" - "$results" <<'PY'
import sys
import torch
from stretto.examples.sweep_images import images
from stretto.examples.sweep_train import accuracy, network
models = [torch.load(f"{sys.argv[1]}/{name}/model.pt") for name in ("1/sgd-lr0.05-b16", "2/sgd-lr0.05-b8")]
assert all(torch.allclose(models[0][key], models[1][key], atol=1e-2) for key in models[0])
pictures, classes = images(200, seed=3)
again, same = images(200, seed=3)
assert (pictures == again).all() and (classes == same).all() and set(classes.tolist()) == set(range(10))
model = network()
model.load_state_dict(models[0])
assert accuracy(model, pictures, classes) > 0.5, accuracy(model, pictures, classes)  # a guess has 0.1
PY
points() { api GET "/v1/ensembles/$id/members?metrics=loss" | jq ".members[$1].metrics.loss.points"; }
is "$(points 0)" 51 "a curve has all points of 256 batches"
ok "and what diverged was ended early" test "$(points 2)" -lt 1280000
ok "the report says what follows from the points" python3 "$srcdir/tests/t/sweep_check.py" "$SOCKET" "$id"
stretto report "$id" --group workers >report
like "$(cat report)" "lr=1e18" "numbers are written as in the spec"
is "$(grep -c -E '^[12] .*lr=0\.05' report) $(grep -c diverged report)" "2 2" "the report ranks the two, and has the other one apart" || cat report
is "$(jq -c '.members.parameters.grid | [.workers, .optimiser, .lr, .batch | length]' "$sweep/sweep.json")" '[2,2,3,2]' "the example itself has 24 members"
done_testing
