#!/bin/bash
# A training on a real Slurm that is completed in five jobs: four times Slurm tells its job to end, as it does at
# preemption. It saves, and goes on in the next one; members stream meanwhile, and jobs of theirs are told to end, too.
# The loss curve has each batch once, without a gap, and the model that is left has learnt from every sample, from each
# once. By hand, disturbed by a seed: SEED=7 SEEDS=10 ROUNDS=40 tests/t/0662-slurm-short-jobs.t By hand, as long as it
# is meant, the heat ensemble, which streams for 60 minutes, in jobs of 10 minutes: MINUTES=60
# tests/t/0662-slurm-short-jobs.t
# shellcheck disable=SC2016,SC2119 # for wait_for; slurm_start and slurm_config need no words
TEST_LIMIT=${TEST_LIMIT:-240}
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
# shellcheck source=tests/t/chaos.sh
. "$srcdir/tests/t/chaos.sh"
slurm_start
slurm_config
jq --arg python "$STRETTO_PYTHON" '.python = $python' config.json >config.new && mv config.new config.json
start_daemon --config config.json
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }

if [ -n "${SEED:-}" ]; then
	for ((seed = SEED; seed < SEED + ${SEEDS:-1}; seed++)); do chaos "seed$seed" $seed "${ROUNDS:-20}" slurm; done
	stop_daemon
	slurm_stop
	done_testing
fi

# The time of a job is up in earnest. Four members at once, each of which takes half a minute or more, so many that they
# take MINUTES.
if [ -n "${MINUTES:-}" ]; then
	MEMBERS=$((MINUTES * 8)) STEPS=20 SAMPLES=$((MINUTES * 160))
	jq --arg path "$builddir/examples/heat:" --argjson members $MEMBERS '.width = 4 | .members.parameters.count = $members |
		.members.command = ["sh", "-c", "sleep 30; exec \"$@\"", "sh", $path[:-1] + "/" + .members.command[0]] + .members.command[1:] |
		.members.resources = {walltime: "10m"} |
		.training.command = ["sh", "-c", "PATH=\($path)$PATH exec \"$@\"", "sh"] + .training.command + ["--report-every", "1"] |
		.training.resources.walltime = "10m" | .training.retries = 0 | .training.checkpoint = {every: "1m", before: "1m"} |
		.training.buffer.policy = "firo"' "$srcdir/examples/heat/heat-slurm.json" >spec.json
	ID=$(submit spec.json)
	[ "$ID" != null ] || bail "it is refused: $(cat api.body)"
	ok "the ensemble ends" wait_ensemble "$ID" $((MINUTES * 60))
	diag "$(jq -c '[.state, .reason, .members, .training]' ensemble.json)"
	is "$(jq -c '[.state, .reason, .members.succeeded, .training.state, .training.failures]' ensemble.json)" \
		"[\"complete\",null,$MEMBERS,\"done\",0]" "it is complete, at no cost"
	is "$(jq -c '[.training.received, .training.unique, .training.drawn]' ensemble.json)" "[$SAMPLES,$SAMPLES,$SAMPLES]" \
		"nothing came twice, and its books balance"
	ok "it took as many jobs as that takes" jq -e --argjson jobs $((MINUTES / 10)) '.training.generation >= $jobs' ensemble.json
	GENERATION=$(jq .training.generation ensemble.json)
	is "$(jq -c '[.unique_drawn, .samples]' "$STATE/run/e$ID/training/g$GENERATION/rank0/books.json")" "[$SAMPLES,$SAMPLES]" \
		"the model that is left has learnt from every sample, from each once"
	api GET "/v1/trainings/$(jq .training.id ensemble.json)/metrics?buckets=10000" >metrics.json
	is "$(jq -c '.series.train_loss.buckets | [map(.count) | length, add] + (map(.step) | [min, max, (unique | length)])' metrics.json)" \
		"$(jq -c '.training.batches | [., ., 1, ., .]' ensemble.json)" "the loss curve has each batch once, without a gap"
	is "$(jq -c '.series.validation_loss.buckets | map(select(.count != 1).step)' metrics.json)" "[]" "no batch is validated twice"
	diag "validation: $(jq -c '.series.validation_loss.buckets | map([.step, (.last | round)])' metrics.json)"
	is "$(db "SELECT count(*) FROM job WHERE ensemble = $ID AND kind = 'training'")" "$GENERATION" "each generation was a job of its own"
	slurm_completes
	diag "seconds of the generations: $(db "SELECT group_concat((ended - started) / 1000, ', ') FROM generation")"
	diag "$(squeue -h -a -r -t all -o '%T %l' | sort | uniq -c)"
	stop_daemon
	slurm_stop
	done_testing
fi

MEMBERS=8 STEPS=60 SAMPLES=480
chaos_spec short slurm
# nothing of it depends on the clock
jq '(.members, .training) |= (.checkpoint.grace = "20m" | .checkpoint.before = "1m" | del(.silence, .failure_after) | .resources.walltime = "30m" | .retries = 0)' short.json >spec.json
ID=$(submit spec.json)
RUN=$STATE/run/e$ID
TRAINING=$(chaos_training .training.id)
running() { db "SELECT scheduler_id FROM job WHERE ensemble = $ID AND kind = '$1' AND state = 'running' ORDER BY id DESC LIMIT 1"; }
# Half of what members 0 and 1 send waits for the file short.go.0, and so on; four of them run at once.
drawn=(0 120 240 360 420)
for generation in 1 2 3 4; do
	wait_for 60 "[ \"\$(chaos_training '[.training.state, .training.generation, .training.drawn]')\" = '[\"running\",$generation,${drawn[generation]}]' ]" ||
		bail "generation $generation does not learn: $(chaos_training .)"
	# the daemon may hear later that a member runs than that the ranks have what it sends
	[ $generation != 3 ] || { wait_for 30 '[ -n "$(running members)" ]'; scancel --signal=TERM --batch "$(running members)"; }
	scancel --signal=TERM --batch "$(running training)"
	: >"short.go.$((generation - 1))"
done
ok "the ensemble ends" wait_ensemble "$ID" 100
is "$(jq -c '[.state, .reason, .members.succeeded, .training.state, .training.generation, .training.failures]' ensemble.json)" \
	'["complete",null,8,"done",5,0]' "it is complete, by five generations, at no cost"
# the member whose job was told to end may send steps again that it had sent after its checkpoint
is "$(jq -c --argjson samples $SAMPLES '.training | [.received >= $samples, .unique, .drawn]' ensemble.json)" "[true,$SAMPLES,$SAMPLES]" "its books balance"
is "$(jq -c --argjson steps $STEPS '.learnt | [length, (map(.[0] * $steps + .[1]) | unique | length)]' "$RUN/training/g5/rank0/learnt.json")" \
	"[$SAMPLES,$SAMPLES]" "the model that is left has learnt from every sample, from each once"
is "$(api GET "/v1/trainings/$(jq .training.id ensemble.json)/metrics?buckets=10000" | jq -c '[.series.loss.buckets[] | [.step, .count]] | [length, (map(.[1]) | add), (map(.[0]) | min, max)]')" \
	"[$((SAMPLES / 5)),$((SAMPLES / 5)),1,$((SAMPLES / 5))]" "the loss curve has each batch once, without a gap"
is "$(db "SELECT count(*) FROM job WHERE ensemble = $ID AND kind = 'training'")" 5 "each of them was a job of its own"
is "$(db "SELECT group_concat(outcome || ' ' || n) FROM (SELECT a.outcome, count(*) n FROM attempt a JOIN job j ON j.id = a.job WHERE j.kind = 'members' GROUP BY 1 ORDER BY 1)")" \
	"cancelled 1,succeeded 8" "a job of a member was told to end, too"
is "$(db "SELECT count(*) FROM attempt WHERE number = 2 AND resumed IS NOT NULL")" 1 "and its next attempt went on from its checkpoint"
slurm_completes
stop_daemon
slurm_stop
done_testing
