#!/usr/bin/env bash
# One model on two ranks of PyTorch's DistributedDataParallel, then on one, then on two again, while members stream: the
# parameters are the same on all ranks, and go on from those before; every sample is learnt from once.
TEST_LIMIT=400
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
"$STRETTO_PYTHON" -c 'import torch' 2>"$T/torch" || skip_all "no PyTorch: $(tail -n 1 "$T/torch")"

# members come in four waves, each once the test says so: member m has wave m / 4
MEMBERS=16 STEPS=10
SAMPLES=$((MEMBERS * STEPS))
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"
jq -n --arg rank "$srcdir/tests/t/ddp-rank.py" --arg steps $STEPS --argjson members $MEMBERS --arg go "$T/go" \
	--arg member "$builddir/tests/t/stream-member" '{name: "ddp", width: 4,
	members: {command: ["sh", "-c", "while [ ! -e \($go)$((STRETTO_MEMBER / 4)) ]; do sleep 0.1; done; exec \"$@\"", "sh", $member, $steps],
		parameters: {grid: {i: [range($members)]}}},
	training: {command: ["python3", $rank], ranks: 2, retries: 0, checkpoint: {},
		fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
			particles: {dtype: "float32", shape: [-1, 3], max: 40}},
		buffer: {policy: "fifo", capacity: 200, threshold: 0, batch: 5}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
RUN=$STATE/run/e$ID
training() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
reaches() { # GENERATION RANKS DRAWN
	wait_for 150 "[ \"\$(training '[.training.state, .training.generation, .training.ranks, .training.drawn]')\" = '[\"running\",$1,$2,$3]' ]" ||
		bail "no generation $1 of $2 ranks: $(training .training) $(tail -n 5 "$RUN"/training/g*/rank?/stderr)"
}
resize() { api PATCH "/v1/trainings/$(training .training.id)" "{\"ranks\": $1}" >"$T/resized.json" || bail "$(cat "$T/resized.json")"; }

: >"$T/go0"
reaches 1 2 40
resize 1
reaches 2 1 40 # both wait for samples
: >"$T/go1"
reaches 2 1 80
resize 2
reaches 3 2 80
: >"$T/go2"
: >"$T/go3"
ok "the ensemble ends" wait_ensemble "$ID" 150
E=$(cat "$T/ensemble.json")
[ "$(jq -r .state <<<"$E")" = complete ] || diag "$(jq -r .reason <<<"$E") $(tail -n 5 "$RUN"/training/g?/rank?/stderr)"
is "$(jq -c '[.state, .training.state, .training.generation, .training.failures, .training.unique, .training.drawn]' <<<"$E")" \
	"[\"complete\",\"done\",3,0,$SAMPLES,$SAMPLES]" "it is complete, and its books balance"
parameters() { jq -sc "$1" "$RUN"/training/g"$2"/rank?/parameters.json; }
is "$(parameters '[length, (map(.end) | unique | length)]' 1)" '[2,1]' "the first two ranks end with the same parameters"
is "$(parameters '[.[0].begin, .[0].ranks, .[0].before]' 2)" "$(parameters '[.[0].end, 1, 2]' 1)" \
	"one rank begins with them, and knows that they were two"
is "$(parameters 'map([.begin, .ranks, .before])' 3)" "$(parameters '[.[0].end, 2, 1] | [., .]' 2)" \
	"two ranks begin with its parameters, both"
is "$(parameters '[length, (map(.end) | unique | length)]' 3)" '[2,1]' "and end with the same again"
is "$(jq -sc --argjson steps $STEPS 'add | [length, (map(.[0] * $steps + .[1]) | unique | length)]' "$RUN"/training/g3/rank?/learnt.json)" \
	"[$SAMPLES,$SAMPLES]" "the model that is left has learnt from every sample, from each once"
is "$(api GET "/v1/ensembles/$ID/members?limit=100" | jq -c '[.members[].attempts] | unique')" '[1]' "no member ran again"
done_testing
