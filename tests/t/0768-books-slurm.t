#!/usr/bin/env bash
# An older copy of the database is put back, with real Slurm: nobody's results are taken for those of a new ensemble, and
# jobs of a life that is gone do no harm when they start.
# shellcheck disable=SC2016,SC2119 # for wait_for; slurm_config needs no words
TEST_LIMIT=200
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
slurm_start
slurm_config
start() { start_daemon --config config.json --run-dir "$T/run"; }
spec() { # NAME COUNT [EXTRA]
	jq -n --arg name "$1" --argjson n "$2" --argjson extra "${3:-[]}" --arg script "[ ! -e result ] || exit 9
		echo \"$1 \$STRETTO_JOB\" >>$T/ran; echo $1 >result" '{name: $name, adapter: "slurm", members: {command: ["sh", "-c", $script],
		parameters: {grid: {x: [range($n)]}}, resources: {walltime: "10m", extra: $extra}, success: {file: "result"}, retries: 0}}' >spec.json
	submit spec.json
}
# own ID NAME: each of its members has succeeded in a job that ran its command
own() {
	api GET "/v1/jobs?ensemble=$1&limit=100" | jq -r --arg name "$2" '.jobs[] | "\($name) \(.name)"' | sort -u >jobs
	sort -u "$T/ran" | comm -23 jobs - | wc -l
}
start
first=$(spec first 4)
ok "an ensemble runs" wait_ensemble "$first" 60
stop_daemon
mkdir old && cp "$STATE"/stretto.db* old/
start
other=$(spec other 12)
ok "another one, after the copy" wait_ensemble "$other" 60
held=$(spec held 1 '["--hold"]')
ok "a third one waits" wait_for 30 'slurm_jobs | grep -q PENDING'
waits=$(slurm_jobs | awk '$3 == "PENDING" { print $2 }')
stop_daemon
rm "$STATE"/stretto.db*
cp old/stretto.db* "$STATE/"
start
like "$(cat "$DAEMON_LOG")" "the database is older than the run directory $T/run, by [0-9]+ changes; ensembles $other to $held are not in it" \
	"the older database says what is gone"
later=$(spec later 12)
is "$later" $((held + 1)) "a new ensemble gets a number of its own"
scontrol release "$waits"
ok "it ends" wait_ensemble "$later" 60
is "$(jq -c '[.state, .members.succeeded]' ensemble.json) $(own "$later" later)" '["complete",12] 0' "with the results of its own members alone"
ok "a job of before does its work for nobody" wait_for 60 '[ "$(grep -c ^held "$T/ran")" = 1 ]'
is "$(stretto status --json | jq -c '[.ensembles[].name] | sort')" '["first","later"]' "and there is nothing that nobody asked for"
is "$(own "$first" first)" 0 "what was known is as it was"
stop_daemon
slurm_completes
slurm_stop
done_testing
