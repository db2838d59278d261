#!/usr/bin/env bash
# The daemon is killed in the middle of the main job and started again: the run ends with the same books, and what went
# on meanwhile was neither lost nor run again.
TEST_LIMIT=500
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -x "$builddir/examples/heat/heat2d" ] || skip_all "heat2d is not built (no MPI)"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"

MEMBERS=30 STEPS=20
SAMPLES=$((MEMBERS * STEPS))
jq ".members.parameters.count = $MEMBERS" "$srcdir/examples/heat/heat-small.json" >"$T/spec.json"
start_daemon
ID=$(submit "$T/spec.json")
succeeded() { api GET "/v1/ensembles/$ID" | jq .members.succeeded; }
wait_for 200 '[ "$(succeeded)" -ge 5 ]' || bail "no member has succeeded"
kill_daemon
pass "the daemon was killed after $(sqlite3 -readonly "$STATE/stretto.db" \
	"SELECT n FROM tally WHERE state = 'succeeded'") of $MEMBERS members"
# those under way end without it, and what they leave is there to be found
wait_for 60 '! pgrep -x heat2d -s 0 >/dev/null && [ "$(ls "$STATE"/run/e*/jobs/*/ended.json | wc -l)" -ge 6 ]' ||
	diag "few jobs have ended meanwhile"
start_daemon
ok "the ensemble ends" wait_ensemble "$ID" 300
E=$(cat "$T/ensemble.json")
field() { jq -r "$1" <<<"$E"; }
is "$(field .state)" complete "it is complete"
is "$(field .members.succeeded)" $MEMBERS "every member succeeded"
is "$(field .training.unique)" $SAMPLES "members x steps samples were received"
is "$(field .training.drawn)" $SAMPLES "each was drawn at least once"
is "$(jq .unique_drawn "$STATE/run/e$ID/training/g1/rank0/books.json")" $SAMPLES "the trainer counted as many by itself"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
is "$(db "SELECT count(*) FROM attempt")" $MEMBERS "no member was run twice"
is "$(db "SELECT count(*) FROM attempt WHERE outcome = 'succeeded'")" $MEMBERS "no attempt was taken for lost"
done_testing
