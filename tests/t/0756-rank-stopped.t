#!/usr/bin/env bash
# One of two ranks of PyTorch's DistributedDataParallel raises, and later is stopped, while the other one waits for it
# in a collective call. It is blamed each time, both begin again where they were, and no sample is lost or learnt from
# twice.
TEST_LIMIT=400 PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
"$STRETTO_PYTHON" -c 'import torch' 2>"$T/torch" || skip_all "no PyTorch: $(tail -n 1 "$T/torch")"

# members come in two waves, each once the test says so: member m has wave m / 4
MEMBERS=8 STEPS=10
SAMPLES=$((MEMBERS * STEPS))
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"
jq -n --arg rank "$srcdir/tests/t/ddp-rank.py" --arg steps $STEPS --argjson members $MEMBERS --arg go "$T/go" \
	--arg member "$builddir/tests/t/stream-member" '{name: "stopped", width: 4,
	members: {command: ["sh", "-c", "while [ ! -e \($go)$((STRETTO_MEMBER / 4)) ]; do sleep 0.1; done; exec \"$@\"", "sh", $member, $steps],
		parameters: {grid: {i: [range($members)]}}},
	training: {command: ["python3", $rank, "3"], ranks: 2, retries: 2, checkpoint: {}, failure_after: "3s",
		fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
			particles: {dtype: "float32", shape: [-1, 3], max: 40}},
		buffer: {policy: "fifo", capacity: 200, threshold: 0, batch: 5}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
RUN=$STATE/run/e$ID
training() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
: >"$T/go0"
wait_for 250 "[ \"\$(training '[.training.state, .training.restarts, .training.drawn]')\" = '[\"running\",1,40]' ]" ||
	bail "no rank learns again after one has raised: $(training .training) $(tail -n 5 "$RUN"/training/g1/rank?/stderr)"
JOB=$(sqlite3 -readonly "$STATE/stretto.db" "SELECT name FROM job WHERE kind = 'training'")
PID=$(grep -lazx "STRETTO_RANK=1" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do
	grep -qazx "STRETTO_JOB=$JOB" "/proc/$pid/environ" 2>/dev/null && echo "$pid"; done | sort -n | head -n 1)
ok "a rank runs" [ -n "$PID" ]
kill -STOP "$PID"
: >"$T/go1"
ok "when it is stopped, the ensemble ends all the same" wait_ensemble "$ID" 150
E=$(cat "$T/ensemble.json")
[ "$(jq -r .state <<<"$E")" = complete ] || diag "$(jq -r .reason <<<"$E") $(tail -n 5 "$RUN"/training/g?/rank?/stderr)"
is "$(jq -c '[.state, .training.state, .training.generation, .training.failures, .training.unique, .training.drawn]' <<<"$E")" \
	"[\"complete\",\"done\",1,1,$SAMPLES,$SAMPLES]" "it is complete, only the rank that raised has cost a retry, and its books balance"
blamed() { # REASON: the ranks that were blamed for it
	sqlite3 -readonly "$STATE/stretto.db" "SELECT json_extract(detail, '\$.rank') FROM event WHERE kind = 'training.recovered' AND
		json_extract(detail, '\$.reason') LIKE '%$1%'"
}
is "$(blamed "exit status 1")" 1 "the rank that raised is blamed, and not the one whose collective call failed because of that"
is "$(blamed "were stopped")" 1 "the rank that was stopped is blamed, once"
is "$(jq -sc 'map(.end) | [length, (unique | length)]' "$RUN"/training/g1/rank?/parameters.json)" '[2,1]' "both ranks end with the same parameters"
is "$(jq -sc --argjson steps $STEPS 'add | [length, (map(.[0] * $steps + .[1]) | unique | length)]' "$RUN"/training/g1/rank?/learnt.json)" \
	"[$SAMPLES,$SAMPLES]" "the model that is left has learnt from every sample, from each once"
is "$(api GET "/v1/ensembles/$ID/members?limit=100" | jq -c '[.members[].attempts] | unique')" '[1]' "no member ran again"
done_testing
