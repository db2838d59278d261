#!/usr/bin/env bash
# The resampler in C: built as its comment says, it chooses heat members from what the training reports of earlier ones,
# and is killed meanwhile.
# shellcheck disable=SC2016 # for wait_for
TEST_LIMIT=400
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
heat2d=$builddir/examples/heat/heat2d
[ -x "$heat2d" ] || skip_all "no MPI"
cp "$srcdir/examples/suggest/resample.c" .
ok "it is built by the line in its comment" sh -e -c "$(sed -n 's/^ \*     \(gcc .*\)/\1/p' resample.c)"
[ -x resample ] || bail "no resampler"
is "$(wc -l <resample.c | awk '{print $1 < 80}')" 1 "it has less than 80 lines"

export PATH=$builddir/examples/heat:$PATH PYTHONPATH=$builddir/python OMP_NUM_THREADS=1
jq '.members.parameters.most = 16 | .training.command += ["--validation-members", "1"]' "$srcdir/examples/heat/heat-open.json" >spec.json
jq -n --arg python "$STRETTO_PYTHON" '{python: $python, adapters: {local: {slots: 8}}}' >config.json
start_daemon --config config.json
id=$(submit spec.json)
get() { api GET "/v1/ensembles/$id" | jq -c "$1"; }
ranges=(t0=100..500 tw=100..500 te=100..500 ts=100..500 tn=100..500)
./resample "$id" 16 0 1 "${ranges[@]}" >/dev/null &
ok "six members are suggested" wait_for 60 '[ "$(get .count)" -ge 6 ]'
kill -KILL $! 2>/dev/null
wait $! 2>/dev/null
ok "the training reports of them" wait_for 120 '[ "$(api GET "/v1/ensembles/$id/members?metrics=statistic" | jq "[.members[].metrics.statistic.last | numbers] | length")" -ge 5 ]'
first=$(get .count)
ok "it goes on where it was killed" timeout $((100 * PATIENCE)) ./resample "$id" 16 1 1 "${ranges[@]}"
ok "the ensemble ends" wait_ensemble "$id" 200
is "$(jq -c '[.state, .count, .members.succeeded, .training.unique]' ensemble.json)" '["complete",16,16,320]' "no member is lost, and none is there twice"
api GET "/v1/ensembles/$id/members?metrics=statistic" >members.json
is "$(jq '[.members[].metrics.statistic.last | select(. > 0)] | length' members.json)" 16 "the training has reported of each"
# a member beyond the first ones lies within a tenth of the range of an earlier one, in each parameter
is "$(jq --argjson first "$first" '[.members[].parameters] as $all | [range($first; 16) as $i |
	any(range($i); . as $j | all($all[$i] | keys[]; ($all[$i][.] - $all[$j][.] | fabs) <= 40.000001))] | all' members.json)" true \
	"those that were suggested later are near earlier ones"
done_testing
