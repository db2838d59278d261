#!/usr/bin/env bash
# One of two ranks fails of itself while members send to it, another is killed. The training begins again each time, all
# members go again, and the last generation has used every time step. The daemon is there, or is not.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"

MEMBERS=7 STEPS=20 # members from 4 on wait in the middle of their steps
SAMPLES=$((MEMBERS * STEPS))
ALL_THERE=$((4 * STEPS + 3 * STEPS / 2))
echo detect_leaks=1 >"$T/asan.stream-member"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }

# Files of an attempt that was stopped are not gone on with: its first steps are lost.
cat >"$T/member.sh" <<'EOF2'
[ -z "${STRETTO_RESUME:-}" ] || exit 9
echo "$STRETTO_ATTEMPT" >"$STRETTO_CHECKPOINT_DIR/part"
touch -d '1 minute ago' "$STRETTO_CHECKPOINT_DIR/part" # nobody writes to it any more
mv "$STRETTO_CHECKPOINT_DIR/part" "$STRETTO_CHECKPOINT_DIR/$STRETTO_ATTEMPT.ckpt"
generation=$(jq .generation "$STRETTO_STREAM/current.json")
if [ "$STRETTO_MEMBER" -ge 4 ]; then exec "$1" "$2" "$3" "$4$generation"; else exec "$1" "$2"; fi
EOF2
cat >"$T/rank.py" <<'EOF2'
import os, signal, sys, time, stretto.train
with open("pid.part", "w", encoding="ascii") as file:
    file.write(str(os.getpid()))
os.rename("pid.part", "pid")
drawn = set()
with stretto.train.open() as rx:
    signal.signal(signal.SIGUSR1, lambda *_: rx.interrupt())
    try:
        for batch in rx.batches():
            drawn.update(zip(batch.member.tolist(), batch.step.tolist()))
    except RuntimeError: # interrupted: it works on what it has, as one that is about to fail
        os.mkdir("stopped")
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.02)
        raise
    with open("drawn.json", "w", encoding="ascii") as file:
        print(len(drawn), file=file)
    rx.done()
EOF2
jq -n --arg t "$T" --arg steps $STEPS --arg member "$builddir/tests/t/stream-member" '{name: "r", width: 7,
	members: {command: ["sh", ($t + "/member.sh"), $member, $steps, "-1", ($t + "/go")], parameters: {grid: {i: [range(7)]}},
		checkpoint: {glob: "*.ckpt"}},
	training: {ranks: 2, command: ["python3", ($t + "/rank.py"), ($t + "/fail")], retries: 2,
		fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
			particles: {dtype: "float32", shape: [-1, 3], max: 40}},
		buffer: {policy: "fifo", capacity: 200, threshold: 0, batch: 8}}}' >"$T/spec.json"
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"
ID=$(submit "$T/spec.json")
RUN=$STATE/run/e$ID
ensemble() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }

# Members have ended, others have sent a part, and all of that was taken in.
get_there() { # GENERATION
	wait_for 60 "[ \"\$(ensemble '[.training.generation, .members.succeeded, .training.received >= $ALL_THERE]')\" = '[$1,4,true]' ]" ||
		bail "generation $1 does not get as far: $(ensemble '.') $(tail -n 5 "$RUN/training/g$1/rank0/stderr")"
}
signal_rank() { kill "-$3" "$(cat "$RUN/training/g$1/rank$2/pid")"; } # GENERATION RANK SIGNAL
get_there 1
ok "a rank takes nothing any more" signal_rank 1 0 USR1
wait_for 30 '[ -e "$RUN/training/g1/rank0/stopped" ]' || bail "it goes on"
: >"$T/go1"
wait_for 30 '[ "$(jq .rejected_by.stopped "$RUN/training/g1/status-rank0.json")" -ge 3 ]' || bail "nobody sends to it"
: >"$T/fail"
wait_for 30 '[ "$(ensemble .training.generation)" = 2 ]'
is "$(ensemble '[.state, .training.state != "failed", .members.failed]')" '["running",true,0]' \
	"the ensemble goes on, with another generation of ranks"
like "$(ensemble '[.training.reason, .training.before]')" '.null,"generation 1: rank 0 failed: exit status 1: .*interrupted' "and says why, of the one before"
get_there 2
kill_daemon
ok "a rank is killed while there is no daemon" signal_rank 2 1 KILL
start_daemon --config "$T/config.json"
wait_for 30 '[ "$(ensemble .training.generation)" = 3 ]'
: >"$T/go3"
ok "the ensemble ends" wait_ensemble "$ID" 100
E=$(cat "$T/ensemble.json")
is "$(jq -c '[.state, .training.state, .training.generation, .members.succeeded, .training.unique, .training.drawn]' <<<"$E")" \
	"[\"complete\",\"done\",3,$MEMBERS,$SAMPLES,$SAMPLES]" "every member has succeeded, and the third generation has drawn every sample"
is "$(jq -s add "$RUN/training/g3"/rank[01]/drawn.json)" $SAMPLES "as its ranks counted by themselves"
is "$(db "SELECT count(*) FROM member m JOIN attempt a ON a.ensemble = m.ensemble AND a.idx = m.idx AND a.number = m.attempts
	WHERE a.job < (SELECT max(id) FROM job WHERE kind = 'training')")" 0 "no success is of an attempt that sent to a rank before"
is "$(db "SELECT count(*) FROM attempt WHERE outcome NOT IN ('succeeded', 'cancelled')")" 0 "no attempt has failed for it"
is "$(db "SELECT sum(failures + losses) FROM member")" 0 "nor did it cost a retry"
is "$(db "SELECT count(*) FROM attempt a JOIN attempt b USING (ensemble, idx) WHERE a.number < b.number AND a.ended > b.started")" \
	0 "no member ran twice at once"
ok "there were checkpoints to go on from" test "$(db "SELECT count(*) FROM member_checkpoint")" -ge $MEMBERS
is "$(db "SELECT count(*) FROM event WHERE kind = 'training.restarted'")" 2 "each beginning was told of"
done_testing
