#!/usr/bin/env bash
# The daemon is killed in the middle of the main job and started again: the run ends with the same books, and what went
# on meanwhile was neither lost nor run again.
TEST_LIMIT=500
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -x "$builddir/examples/heat/heat2d" ] || skip_all "heat2d is not built (no MPI)"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"

MEMBERS=30 STEPS=20
SAMPLES=$((MEMBERS * STEPS))
# each sample is drawn once: from a reservoir it would train all the while, which takes a processor and shows nothing
# here
jq ".members.parameters.count = $MEMBERS | .training.buffer.policy = \"fifo\"" "$srcdir/examples/heat/heat-small.json" >"$T/spec.json"
start_daemon
ID=$(submit "$T/spec.json")
succeeded() { api GET "/v1/ensembles/$ID" | jq .members.succeeded; }
wait_for 200 '[ "$(succeeded)" -ge 5 ]' || bail "no member has succeeded"
kill_daemon
pass "the daemon was killed after $(sqlite3 -readonly "$STATE/stretto.db" \
	"SELECT n FROM tally WHERE state = 'succeeded'") of $MEMBERS members"
# those that run end without it, and what they leave is there to be found
members() { # their processes
	left_behind | while read -r pid; do
		grep -q -s -z '^STRETTO_MEMBER=' "/proc/$pid/environ" && echo "$pid"
	done
}
ok "those that run come to their end meanwhile" wait_for 60 '[ -z "$(members)" ]'
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
