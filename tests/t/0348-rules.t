#!/usr/bin/env bash
# The example of trainings with rules: a reference and a tuned run by real trainings, whatever else differs refused, and
# the report.
TEST_LIMIT=600
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
rules=$srcdir/examples/rules
export PYTHONPATH=$builddir/python${PYTHONPATH:+:$PYTHONPATH} OMP_NUM_THREADS=1

# Smaller than those of the example: one worker, and fewer images.
cp -rL "$builddir/python/stretto/examples" program
small='.members.parameters.grid.workers = [1] | .members.command += ["--images", "256"]'
jq "$small" "$rules/reference.json" >reference.json
jq "$small | .members.parameters.grid |= (.lr = [0.1] | .batch = [32])" "$rules/tuned.json" >tuned.json
# refused AT CHANGE WHAT: the tuned spec with this change is refused, with this place.
refused() {
	jq "$2" tuned.json >changed.json
	status_is 3 "$3" stretto submit changed.json
	like "$(cat err)" "$1" "its place is told"
}
jq -n --arg python "$STRETTO_PYTHON" '{python: $python, adapters: {local: {slots: 2}}}' >config.json
start_daemon --config config.json
status_is 0 "the reference is accepted" stretto submit reference.json
status_is 0 "a run with another learning rate and batch as well" stretto submit tuned.json
refused "/members/parameters/grid/optimiser" '.members.parameters.grid.optimiser = ["adam"]' "a third hyper-parameter is refused"
refused "/members/command" '.members.command |= map(if . == "6" then "60" else . end)' "and so are more epochs"
refused "/members/env" '.members.env.OMP_NUM_THREADS = "2"' "and another environment"
is "$(api GET /v1/ensembles | jq '.ensembles | length')" 2 "what is refused leaves nothing"

ok "the reference ends" wait_ensemble 1 300
ok "the tuned run ends" wait_ensemble 2 300
cp program/sweep_train.py kept.py
echo "# faster" >>program/sweep_train.py
refused "/rules/files" '.rules.reference = 1' "another program than that of the reference's ensemble is refused"
cp kept.py program/sweep_train.py
stretto --json report 1 2 --metric accuracy --higher --accept 'accuracy>=0' --target 0 >runs.json
is "$(jq -c '[.runs | length, all(.[]; .fate == "ranked" and .last >= 0 and .time_to_target > 0)]' runs.json)" "[2,true]" \
	"both are judged by their final accuracy and their time to the target"
stretto report 2 --metric accuracy --higher --accept 'accuracy>=0' >report
results=$(api GET /v1/ensembles/2 | jq -r .dir)/results/1/lr0.1-b32
for file in "$results"/model.pt "$results"/stdout program/sweep_images.py; do
	ok "the report has the SHA-256 of ${file##*/}" grep -q -F "$(sha256sum <"$file" | cut -d ' ' -f 1)" report
done
like "$(cat report)" "reference \(1\) +\[\"lr\",\"batch\"\]" "and names the reference, and what may vary"
like "$(cat report)" "program +[^ ]*python3 .* as in the reference" "and which Python ran"
like "$(cat report)" "not compared: whether the program loads program/sweep_train.py" "and that nobody knows which files it loads by -m"
stretto report 1 2 --metric accuracy --higher --accept 'accuracy>=1.1' >report
is "$(grep -c "outside" report)" 3 "runs outside of the range are not ranked" || cat report

# --- MLPerf's log lines of the tuned run
mllog() {
	stretto report "$1" --mllog --metric accuracy --higher --set submission_org=ours --set submission_platform=here \
		--set submission_division=open --set submission_benchmark=resnet --set submission_status=research --set cache_clear=true --set train_samples=256 \
		--set eval_samples=512 --set 'global_batch_size={batch}' --set 'opt_base_learning_rate={lr}' "${@:2}"
}
mllog 2.0 >result_0.txt
ok "a run as MLPerf's log lines keeps their rules" python3 "$srcdir/tests/t/mllog_check.py" result_0.txt
is "$(sed 's/^:::MLLOG //' result_0.txt | jq -s -c '[.[] | select(.key == "opt_base_learning_rate" or .key == "global_batch_size").value] | sort')" \
	"[0.1,32]" "which have its parameters"
is "$(sed 's/^:::MLLOG //' result_0.txt | jq -s -c '[.[] | select(.key == "eval_accuracy").value]')" \
	"$(api GET '/v1/ensembles/2/members/0/points?name=accuracy' | jq -c '[.points[].value]')" "and all evaluations"
is "$(mllog 2.0 --target 0 | grep -c eval_accuracy) $(mllog 2.0 --target 0 | grep -c '"run_stop".*"success"')" "1 1" \
	"which end with the first that reaches the target"
is "$(mllog 2.0 --target 2 | grep -c '"run_stop".*"aborted"')" 1 "a run that does not reach it was in vain"
status_is 3 "a metric that nobody reported" stretto report 2.0 --mllog --metric speed
status_is 3 "a parameter that the run does not have" mllog 2.0 --set 'a={nothing}'
done_testing
