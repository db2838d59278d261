#!/usr/bin/env bash
# One model on two ranks of PyTorch, one of which is killed: both go on where they are, from their newest checkpoint
# with the same weights. In the end every sample was learnt from on one of them, and no member ran again.
TEST_LIMIT=400
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -x "$builddir/examples/heat/heat2d" ] || skip_all "heat2d is not built (no MPI)"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"

MEMBERS=12 STEPS=20
SAMPLES=$((MEMBERS * STEPS))
echo '{"adapters": {"local": {"slots": 6}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
# the second half of the members waits, so that the training goes on until the test lets it end
jq --arg go "$T/go" '.training.ranks = 2 | .training.buffer.threshold = 10 | .training.checkpoint = {every: "100ms"} |
	.members.command = ["sh", "-c", "while [ $STRETTO_MEMBER -ge 6 ] && [ ! -e \($go) ]; do sleep 0.1; done; exec \"$@\"", "sh"] + .members.command |
	.members.resources.launcher = null | del(.members.resources.launcher) | .members.resources.tasks = 1' \
	"$srcdir/examples/heat/heat-small.json" >"$T/spec.json"
ID=$(submit "$T/spec.json")
RUN=$STATE/run/e$ID
training() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
wait_for 200 '[ "$(training .training.checkpoint.ranks)" = 2 ]' || bail "no checkpoint: $(tail -n 5 "$RUN"/training/g1/rank?/stderr)"
pass "both ranks save the same checkpoint, though each asks by its own clock"
ranks() { # the processes of this test alone: others may train beside it
	left_behind | while read -r pid; do grep -qs heat_surrogate "/proc/$pid/cmdline" && echo "$pid"; done
}
pid=$(ranks | tail -n 1)
rank=$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^STRETTO_RANK=//p')
kill -9 "$pid"
wait_for 200 '[ "$(training .training.restarts)" = 1 ]' || bail "the training does not begin anew: $(training .training)"
pass "after one of them was killed, both begin again"
is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT json_extract(detail, '\$.rank') FROM event WHERE kind = 'training.recovered'")" "$rank" \
	"the one that was killed is blamed, and not the one whose collective call failed because of that"
: >"$T/go"
ok "the ensemble ends" wait_ensemble "$ID" 300
E=$(cat "$T/ensemble.json")
[ "$(jq -r .state <<<"$E")" = complete ] || diag "$(jq -r .reason <<<"$E") $(tail -n 5 "$RUN"/training/g1/rank?/stderr)"
is "$(jq -c '[.state, .training.state, .training.unique, .training.drawn]' <<<"$E")" "[\"complete\",\"done\",$SAMPLES,$SAMPLES]" \
	"it is complete, and its books balance"
is "$(jq -s 'map(.unique_drawn) | add' "$RUN"/training/g1/rank?/books.json)" $SAMPLES \
	"by the program's own books, which are in the checkpoint, each sample was learnt from on one rank"
is "$(api GET "/v1/ensembles/$ID/members?limit=100" | jq -c '[.members[].attempts] | unique')" '[1]' "no member ran again"
done_testing
