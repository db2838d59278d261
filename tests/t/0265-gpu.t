#!/usr/bin/env bash
# If there is a GPU: members and ranks get it, batches reach it whole, and what was on it is saved, and goes on.
# (Without one, nothing of this is tried. STRETTO_TEST_PYTHON: a Python with PyTorch for CUDA, where configure has found
# another.)
TEST_LIMIT=400
PLAIN_PYTHON=yes
export STRETTO_PYTHON=${STRETTO_TEST_PYTHON:-${STRETTO_PYTHON:-}}
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
"$STRETTO_PYTHON" -c 'import torch; exit(not torch.cuda.is_available())' 2>/dev/null || skip_all "no GPU that PyTorch can use"

python() { rm -f state.pt; PYTHONPATH=$builddir/python timeout 100 "$STRETTO_PYTHON" -B "$srcdir/tests/t/gpu.py" "$@"; }
ok "batches in page-locked memory reach the GPU whole, though the next ones are drawn meanwhile" python batches_arrive_whole
ok "the stream brings batches to the GPU by itself, whole, and no more than it needs" python batches_come_to_the_gpu
ok "a copy has the state that the GPU had at that moment" python copies_are_of_the_moment
ok "its memory is as large as it must be, locked, and given back" python memory_is_given_back
ok "where memory cannot be locked, the copy is made all the same" python does_without_locked_memory
ok "a training that goes on draws the GPU's random numbers that it would have drawn" python goes_on_exactly

# the local adapter finds the GPUs by itself
unset CUDA_VISIBLE_DEVICES
GPUS=$("$STRETTO_PYTHON" -c 'import torch; print(torch.cuda.device_count())')
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >config.json
start_daemon --config config.json
cat >seen.py <<'E2'
import os
import torch

count = torch.cuda.device_count()
if count > 0:
    assert torch.ones(1000, device="cuda").sum().item() == 1000
print(count, os.environ.get("STRETTO_GPUS", "").count(",") + bool(os.environ.get("STRETTO_GPUS")))
E2
seen() { # GPUS
	jq -n --arg python "$STRETTO_PYTHON" --arg seen "$T/seen.py" --argjson gpus "$1" '{name: "seen", members: {command: [$python, $seen],
		retries: 0, parameters: {grid: {i: [0]}}, resources: {gpus: $gpus}}}' >"$T/seen.json"
	ID=$(submit "$T/seen.json")
	wait_ensemble "$ID" 100
	api GET "/v1/ensembles/$ID/members/0/stdout"
}
is "$(seen 0)" "0 0" "a member that asks for no GPU sees none"
is "$(seen 1)" "1 1" "one that asks for one works with one"
is "$(seen "$GPUS")" "$GPUS $GPUS" "one may have all of them"
jq ".members.resources.gpus = $GPUS + 1" seen.json >many.json
is "$(api POST /v1/ensembles @many.json | jq -r .pointer)" /members/resources/gpus "more than there are are refused"

# the surrogate of the heat equation on the GPU, whose rank is killed after a checkpoint
export PATH=$builddir/examples/heat:$PATH
jq --arg python "$STRETTO_PYTHON" --arg heat2d "$(command -v heat2d)" '.members.command[0] = $heat2d | .members.parameters.count = 60 |
	.members.command += ["--substeps", "20"] | .members.resources = {tasks: 1} | .width = 6 | .training.command[0] = $python |
	.training.command += ["--substeps", "20", "--validate-every", "200"] | .training.resources = {gpus: 1} |
	.training.checkpoint = {every: "1s"} | .training.buffer.threshold = 100' "$srcdir/examples/heat/heat.json" >heat.json
ID=$(submit heat.json)
RUN=$STATE/run/e$ID
training() { api GET "/v1/ensembles/$ID" | jq -c ".training | $1"; }
saved() { [ "$(api GET "/v1/checkpoints?ensemble=$ID" | jq "[.checkpoints[] | select(.training != null)] | length")" -ge 1 ]; }
# shellcheck disable=SC2016 # for wait_for
wait_for 100 'saved || [ "$(training .state)" = "\"failed\"" ]'
saved || bail "no checkpoint: $(training .) $(tail -n 5 "$RUN"/training/g1/rank0/stderr)"
is "$(grep -c 'on cuda' "$RUN/training/g1/rank0/stdout")" 1 "the training uses the GPU"
pkill -9 -f "^$STRETTO_PYTHON .*heat_surrogate" || bail "no rank to be killed"
wait_ensemble "$ID" 200
is "$(jq -c '[.state, .training.state, .training.unique]' ensemble.json)" '["complete","done",6000]' \
	"a training whose rank was killed is completed, and its books balance"
is "$(cat "$RUN"/training/g?/rank0/stdout | grep -c 'on cuda')" 2 "it was begun twice, and both times on the GPU"
losses() { cat "$RUN"/training/g?/rank0/stdout | sed -n 's/.*validation loss \([0-9.]*\) .*/\1/p'; }
ok "it learns: the last validation loss is a tenth of the first at most" \
	jq -n --argjson first "$(losses | head -n 1)" --argjson last "$(losses | tail -n 1)" '$last * 10 < $first | if . then . else halt_error end'

# two ranks on one GPU, then one, then two: NCCL would refuse that
MEMBERS=16 STEPS=10
jq -n --arg python "$STRETTO_PYTHON" --arg rank "$srcdir/tests/t/ddp-rank.py" --arg steps $STEPS --argjson members $MEMBERS --arg go "$T/go" \
	--arg member "$builddir/tests/t/stream-member" '{name: "ddp", width: 4,
	members: {command: ["sh", "-c", "while [ ! -e \($go)$((STRETTO_MEMBER / 4)) ]; do sleep 0.1; done; exec \"$@\"", "sh", $member, $steps],
		parameters: {grid: {i: [range($members)]}}},
	training: {command: ["env", "CUDA_VISIBLE_DEVICES=0", "DEVICE=cuda", $python, $rank], ranks: 2, retries: 0, checkpoint: {},
		fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
			particles: {dtype: "float32", shape: [-1, 3], max: 40}},
		buffer: {policy: "fifo", capacity: 200, threshold: 0, batch: 5}}}' >ddp.json
ID=$(submit ddp.json)
RUN=$STATE/run/e$ID
reaches() { # GENERATION RANKS DRAWN
	wait_for 150 "[ \"\$(training '[.state, .generation, .ranks, .drawn]')\" = '[\"running\",$1,$2,$3]' ]" ||
		bail "no generation $1 of $2 ranks: $(training .) $(tail -n 5 "$RUN"/training/g*/rank?/stderr)"
}
resize() { api PATCH "/v1/trainings/$(training .id)" "{\"ranks\": $1}" >resized.json || bail "$(cat resized.json)"; }
: >go0
reaches 1 2 40
like "$(cat "$RUN"/training/g1/rank0/stderr)" "ranks share a GPU" "two ranks on one GPU are told that they share it"
resize 1
reaches 2 1 40
: >go1
reaches 2 1 80
resize 2
reaches 3 2 80
: >go2
: >go3
wait_ensemble "$ID" 150
is "$(jq -c '[.state, .training.generation, .training.failures, .training.unique, .training.drawn]' ensemble.json)" \
	'["complete",3,0,160,160]' "they learn as one model, with one rank, and with two again"
parameters() { jq -sc "$1" "$RUN"/training/g"$2"/rank?/parameters.json; }
is "$(parameters '[length, (map(.end) | unique | length)]' 3)" '[2,1]' "their parameters are the same"
is "$(parameters 'map(.begin) | unique' 3)" "$(parameters 'map(.end)' 2)" "and go on from those of the one rank"
done_testing
