# shellcheck shell=bash
# shellcheck disable=SC2154,SC2016 # lib.sh; for wait_for
# For tests on a real Slurm of their own (tests/slurm/private-slurm): source it after lib.sh.
PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd sbatch squeue scancel scontrol; do
	command -v $program >/dev/null || skip_all "no Slurm here ($program): slurmctld, slurmd and slurm-client are missing"
done
# shellcheck source=tests/t/batch.sh
. "$srcdir/tests/t/batch.sh"
export SLURM_CONF=$T/slurm/slurm.conf

# slurm_start [--db] [KEY=VALUE]...: returns when all nodes are idle.
slurm_start() {
	batch_start Slurm 60 "$T/slurm.out" "$srcdir/tests/slurm/private-slurm" "$T/slurm" serve "$@"
	SLURM_PID=$BATCH_PID
}
slurm() { python3 "$srcdir/tests/slurm/private-slurm" "$T/slurm" "$@"; }
slurm_down() { batch_down "$SLURM_PID"; SLURM_PID=; }
# slurm_stop: no process of a job may be left.
slurm_stop() {
	wait_for 20 '[ -z "$(slurm work)" ]'
	is "$(slurm work)" "" "no process of a job is left in Slurm"
	slurm_down
}

# slurm_config [KEY JSON]...: the daemon's settings, in config.json
slurm_config() { batch_config slurm '{}' "{\"conf\": \"$SLURM_CONF\", \"poll\": \"1s\", \"timeout\": \"10s\", \"gather\": \"200ms\"}" "$@"; }
# slurm_jobs: NAME ID STATE of each job that Slurm knows, sorted
# Slurm takes a moment to complete what its jobs have told us long ago.
slurm_completes() { wait_for 20 '[ -z "$(squeue -h -o %i)" ]'; }
slurm_jobs() { squeue -h -a -r -t all -o '%j %i %T' | sort; }
# tells_why ADAPTER: what waits says for what, in Slurm's words, wherever a user looks.
tells_why() {
	jq -n --arg adapter "$1" '{name: "waits", adapter: $adapter, members: {command: ["true"], parameters: {grid: {x: [0]}},
		resources: {walltime: "10m", extra: ["--hold"]}}}' >waits.json
	jq '.members.resources.extra = [] | .training = {command: ["true"], fields: {f: {dtype: "float32", shape: [1]}},
		resources: {walltime: "10m", extra: ["--hold"]}}' waits.json >waits-training.json
	local batch=$1 id training
	id=$(submit waits.json)
	training=$(submit waits-training.json)
	ok "an ensemble tells what it waits for" wait_for 20 '[ "$(api GET "/v1/ensembles/$id" | jq -r .notice.text)" = "its jobs wait in the queue of $batch: JobHeldUser" ]'
	is "$(api GET "/v1/jobs?ensemble=$id" | jq -c '[.jobs[] | .state, .waits_for, .reason]')" '["submitted","JobHeldUser",null]' "so does its job"
	is "$(api GET "/v1/ensembles/$id/members/0" | jq -r '.attempts[].waits_for')" JobHeldUser "and a member's attempt"
	like "$(stretto status "$id")" "waiting +its jobs wait in the queue of $1: JobHeldUser" "people are told, of the ensemble,"
	like "$(stretto jobs "$id")" " JobHeldUser" "of the job"
	like "$(stretto members "$id.0")" " JobHeldUser" "and of the attempt"
	ok "a training tells it, too" wait_for 20 '[ "$(api GET "/v1/ensembles/$training" | jq -c "[.training.waits_for, .notice.text]")" = "[\"JobHeldUser\",\"its training waits in the queue of $batch: JobHeldUser\"]" ]'
	stretto cancel "$training" >/dev/null
	scontrol release "$(api GET "/v1/jobs?ensemble=$id" | jq -r '.jobs[].scheduler_id')"
	ok "once it is let go it runs" wait_ensemble "$id" 30
	is "$(jq -c .notice ensemble.json) $(api GET "/v1/jobs?ensemble=$id" | jq -c '[.jobs[].waits_for]')" "null [null]" "and waits for nothing"
	ok "the training is cancelled" wait_ensemble "$training" 30
}
# cancels_all RESOURCES: of members like those of spec.json two run, which then fill the nodes, and others wait.
cancels_all() {
	rm -f "$HOME/go" "$HOME/ran"
	jq '.width = 12 | .members.parameters = {grid: {x: [range(12)]}} | .members.resources'"$1" spec.json >big.json
	CANCELLED=$(submit big.json)
	ok "some run, others wait" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ] && [ "$(slurm_jobs | grep -c " PENDING$")" = 10 ]'
	stretto cancel "$CANCELLED" >/dev/null
	ok "cancelling ends them all" wait_for 30 '[ "$(api GET "/v1/ensembles/$CANCELLED" | jq .members.cancelled)" = 12 ]'
	ok "in Slurm, too" wait_for 20 '! slurm_jobs | grep -E "(PENDING|RUNNING|COMPLETING)$"'
	is "$(wc -l <"$HOME/ran")" 2 "none of those that waited has started"
	touch "$HOME/go"
}
# refused NAME FILTER REASON: spec.json, so changed, can never run, which is told in Slurm's own words.
refused() {
	local id
	jq ".name = \"$1\" | $2" spec.json >never.json
	id=$(submit never.json)
	ok "$1: it ends" wait_ensemble "$id" 20
	is "$(jq -r .state ensemble.json)" failed "$1: the ensemble has failed"
	like "$(jq -r .reason ensemble.json)" "^the (scheduler refuses its jobs|job can never run): .*($3)" "$1: with Slurm's reason"
	like "$(api GET "/v1/ensembles/$id/members?state=failed" | jq -r '.members[].reason')" "$3" "$1: so is a member of it"
	is "$(api GET "/v1/ensembles/$id/members" | jq '[.members[].attempts] | max')" 1 "$1: nothing is tried again"
}
