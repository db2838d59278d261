#!/usr/bin/env bash
# The main job, end to end: heat-equation members stream into a PyTorch training; the books balance.
TEST_LIMIT=400
STRETTO_TEST_ASKS_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -x "$builddir/examples/heat/heat2d" ] || skip_all "heat2d is not built (no MPI)"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"

MEMBERS=12 STEPS=20
SAMPLES=$((MEMBERS * STEPS))
program "$T/bare-python" "$STRETTO_PYTHON -IS"
start_daemon --python "$T/bare-python"
like "$(cat "$DAEMON_LOG")" "configured python $T/bare-python lacks torch or numpy" "a Python without packages is seen to be one"
like "$(cat "$DAEMON_LOG")" "python for trainings: .*has torch and numpy" "and another one is found"
ID=$(submit "$srcdir/examples/heat/heat-small.json")
ok "the ensemble ends" wait_ensemble "$ID" 300
E=$(cat "$T/ensemble.json")
field() { jq -r "$1" <<<"$E"; }

is "$(field .state)" complete "it is complete"
is "$(field .members.succeeded)" $MEMBERS "every member succeeded"
is "$(field .training.state)" done "the training is done"
is "$(field .training.unique)" $SAMPLES "members x steps samples were received"
is "$(field .training.drawn)" $SAMPLES "each was drawn at least once"
is "$(field '.training.received - .training.duplicates')" $SAMPLES "received = unique + duplicates"
is "$(field .training.duplicates)" 0 "none came twice"

# the same figures from three sides: the store, the trainer's own count, the batches
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
is "$(db "SELECT n FROM tally WHERE ensemble = $ID AND state = 'succeeded'")" $MEMBERS "the store's tally agrees"
is "$(db "SELECT count(*) FROM member WHERE ensemble = $ID AND state = 'succeeded'")" $MEMBERS "and so do its rows"
is "$(db "SELECT count(*) FROM attempt WHERE ensemble = $ID AND outcome = 'succeeded'")" $MEMBERS "one attempt each"
ok "no job is left" wait_for 60 '[ "$(db "SELECT count(*) FROM job WHERE state <> '"'ended'"'")" = 0 ]'
is "$(db "SELECT uniq || ' ' || drawn FROM rank")" "$SAMPLES $SAMPLES" "the store has the rank's counters"
BOOKS=$(cat "$STATE/run/e$ID/training/g1/rank0/books.json")
is "$(jq .unique_drawn <<<"$BOOKS")" $SAMPLES "the trainer counted as many different samples by itself"
is "$(jq .members <<<"$BOOKS")" $MEMBERS "from as many members"
is "$(jq .batches <<<"$BOOKS")" "$(field .training.batches)" "and as many batches"

# losses
api GET "/v1/trainings/$(field .training.id)/metrics" >"$T/metrics.json"
FIRST=$(jq '.series.validation_loss.buckets[0].first' "$T/metrics.json")
LAST=$(jq '.series.validation_loss.buckets[-1].last' "$T/metrics.json")
# by how much depends on the share of the machine that the trainer got while members ran
ok "the validation loss falls ($FIRST to $LAST)" jq -e -n "$LAST < $FIRST * 0.9"
is "$(field '.training.metrics.validation_loss')" "$LAST" "the ensemble shows the last one"
ok "there is a series of training losses" jq -e '[.series.train_loss.buckets[].count] | add > 1' "$T/metrics.json"

# every member had parameters of its own, the ones that its index gives
is "$(api GET "/v1/ensembles/$ID/members?limit=100" | jq '[.members[].parameters | tostring] | unique | length')" $MEMBERS \
	"every member had parameters of its own"
is "$(db "SELECT count(*) FROM event WHERE ensemble = $ID AND kind = 'attempt.ended'")" $MEMBERS "each end is an event"
done_testing
