#!/usr/bin/env bash
# Members, their launchers and their runners are killed while they stream: each goes again, what comes twice counts
# once, and the books are those of an undisturbed run.
TEST_LIMIT=300 MANY_RUNNERS=1
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -x "$builddir/examples/heat/heat2d" ] || skip_all "heat2d is not built (no MPI)"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"

MEMBERS=24 STEPS=60 KILLS=9
SAMPLES=$((MEMBERS * STEPS))
# A grid that takes a while, so that a kill finds somebody in the middle. Each sample is drawn once: from a reservoir it
# would train all the while, which takes a processor and shows nothing here.
jq ".members.parameters.count = $MEMBERS | .max_same_failures = null | .members.retries = 50 | .members.command |= (.[2] = \"64\" | .[4] = \"$STEPS\")
	| .training.command |= map(if . == \"20\" then \"$STEPS\" else . end) | .training.fields.temperature.shape = [64, 64] |
	.training.buffer.policy = \"fifo\"" \
	"$srcdir/examples/heat/heat-small.json" >"$T/spec.json"
echo '{"adapters": {"local": {"slots": 3}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
ID=$(submit "$T/spec.json")
RUN=$STATE/run/e$ID
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }

# pids of the processes called NAME that this test started; members_own: of its members alone, since the training runs a
# heat2d, too, for what it validates with
mine() {
	local pid name
	left_behind | while read -r pid; do
		{ read -r name <"/proc/$pid/comm"; } 2>/dev/null && [ "$name" = "$1" ] && echo "$pid"
	done
}
members_own() { mine "$1" | while read -r pid; do ! grep -q -s -z '^STRETTO_MEMBER=' "/proc/$pid/environ" || echo "$pid"; done; }
# those that have a member just now: others have the training, which is spared, or no job
member_runners() { mine stretto-run | while read -r pid; do ! pgrep -P "$pid" -x mpiexec.mpich >/dev/null || echo "$pid"; done; }

killed=0
over() { [[ $(api GET "/v1/ensembles/$ID" | jq -r .state) = @(complete|cancelled|failed) ]]; }
while [ $killed -lt $KILLS ] && ! over; do
	case $((killed % 3)) in
	0) victim=$(members_own heat2d | head -n 1) ;;
	1) victim=$(members_own mpiexec.mpich | head -n 1) ;;
	2) victim=$(member_runners | head -n 1) ;;
	esac
	if [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null; then killed=$((killed + 1)); fi
done
ok "$killed processes were killed" test $killed -ge 3
ok "the ensemble ends" wait_ensemble "$ID" 200
E=$(cat "$T/ensemble.json")
[ "$(jq -r .state <<<"$E")" = complete ] || { diag "$(jq -c . <<<"$E")"; diag "$(tail -n 20 "$RUN"/training/g*/rank*/stderr 2>/dev/null)"; }
is "$(jq -r '"\(.state) \(.members.succeeded)"' <<<"$E")" "complete $MEMBERS" "every member succeeded in the end"
is "$(jq .training.unique <<<"$E")" $SAMPLES "members x steps samples were received, each counted once"
is "$(jq .training.drawn <<<"$E")" $SAMPLES "each was drawn at least once"
is "$(jq '.training.received - .training.duplicates' <<<"$E")" $SAMPLES "received = unique + duplicates"
is "$(jq .unique_drawn "$RUN/training/g1/rank0/books.json")" $SAMPLES "the trainer counted as many by itself"
ok "every attempt is kept" test "$(db "SELECT count(*) FROM attempt")" -gt $MEMBERS
is "$(db "SELECT count(*) FROM attempt a JOIN attempt b USING (ensemble, idx) WHERE a.number < b.number
	AND a.ended > b.started")" 0 "no member ran twice at once"
diag "$(db "SELECT outcome, count(*), max(reason) FROM attempt GROUP BY outcome")"
done_testing
