#!/usr/bin/env bash
# Members that stream into a training and are out of time go on in the same ensemble until their last step, as often as
# needed and at no cost, and their training waits for them; one that gets no further is given up.
TEST_LIMIT=240
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 24}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

# In the third ensemble the ranks save a checkpoint when all members have told the end of their first attempt, and fail
# when they have ended well.
cat >"$T/rank.py" <<'EOF2'
import json, os, sys, time
import stretto.train
with stretto.train.open() as rx:
    learnt = json.load(open(rx.resume, encoding="ascii")) if rx.resume else []
    def save(path):
        with open(path, "w", encoding="ascii") as file:
            json.dump(learnt, file)
    for batch in rx.batches():
        learnt += zip(batch.member.tolist(), batch.step.tolist())
        if sys.argv[1] == "ends" and rx.generation == 1 and len(learnt) == 32:
            while rx.stats()["finalized"] < 4:
                time.sleep(0.02)
            rx.checkpoint(save, 32)
        if sys.argv[1] == "ends" and rx.generation == 1 and len(learnt) == 64:
            while not os.path.exists(sys.argv[0] + ".fail"):
                time.sleep(0.02)
            sys.exit(3)
    with open("learnt.json", "w", encoding="ascii") as file:
        json.dump(learnt, file)
    rx.done()
EOF2
# An attempt gets eight steps further, and then waits for the warning before its time is over. In the second ensemble
# member 1 saves nothing in its second attempt, and in later ones. In the third one members are warned by the signal
# alone, so that they tell the ranks their end although steps are left.
cat >"$T/member.py" <<'EOF2'
import os, signal, sys, time, numpy, stretto
steps, stuck, ends = int(sys.argv[1]), sys.argv[2] == "stuck", sys.argv[2] == "ends"
warned = []
signal.signal(signal.SIGUSR2, lambda *_: warned.append(1))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2]) # it is blocked until then, so that nobody is warned too early
with stretto.open() as member:
    resume = os.environ.get("STRETTO_RESUME")
    first = int(os.path.basename(resume)) if resume else 0
    for step in range(first, steps):
        if step == first + 8:
            while not (warned if stuck or ends else member.checkpoint_due()):
                time.sleep(0.05)
            path = os.path.join(member.checkpoint_dir, "%04d" % step)
            if not (stuck and member.index == 1 and member.attempt > 1):
                with open(path, "w", encoding="ascii") as file:
                    file.write(str(step))
                member.checkpointed(path, step)
            break
        member.send(step, data=numpy.full(4, step, dtype=numpy.uint8))
    else:
        with open("result", "w", encoding="ascii") as file:
            file.write("done")
EOF2
begin() { # STEPS MODE
	jq -n --arg t "$T" --arg steps "$1" --arg mode "$2" '{name: $mode, max_same_failures: 1,
		members: {command: ["env", "--block-signal=USR2", "{python}", "-B", ($t + "/member.py"), $steps, $mode], parameters: {grid: {i: [0, 1, 2, 3]}}, retries: 0,
			resources: {walltime: "80s"}, success: {file: "result"}, checkpoint: {before: "1m", signal: "USR2", grace: "20s", attempts: 2}},
		training: {command: ["python3", "-B", ($t + "/rank.py"), $mode],
			checkpoint: {every: "1h", retain: 0}, retries: 1,
			fields: {data: {dtype: "uint8", shape: [4]}}, buffer: {policy: "fifo", capacity: 100, threshold: 0, batch: 1}}}
		| if $mode == "further" then .training.steps = ($steps | tonumber) else . end' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
}
told() { jq -c "$1" "$T/ensemble.json"; }
attempts() { api GET "/v1/ensembles/$ID/members/$1" | jq -c "[.attempts[] | $2]"; }

# all at once: an attempt is warned after 20 s
begin 28 stuck
STUCK=$ID
begin 16 ends
ENDS=$ID
begin 20 further
wait_for 60 "[ \"\$(db \"SELECT count(*) FROM event WHERE ensemble = $ID AND kind = 'attempt.ended'\")\" -ge 2 ]" || bail "no attempt ends"
kill_daemon
start_daemon --config "$T/config.json"
wait_ensemble "$ID" 100 || bail "the ensemble does not end"
is "$(told '[.state, .training.state, .members.succeeded, .members.unfinished]')" '["complete","done",4,0]' "all members are out of time twice, and end well"
is "$(told '[.training.received, .training.unique, .training.drawn]')" '[80,80,80]' "the training has each of their steps, and none came twice"
is "$(jq -c '[length, (unique | length)]' "$STATE/run/e$ID/training/g1/rank0/learnt.json")" '[80,80]' "it has learnt from each once"
is "$(told '[.training.generation, .training.failures]')" '[1,0]' "the same ranks have waited for them"
for i in 0 1 2 3; do
	is "$(attempts $i .outcome)" '["timeout","timeout","succeeded"]' "member $i had three attempts"
	is "$(db "SELECT failures, losses, stalls FROM member WHERE ensemble = $ID AND idx = $i")" "0|0|0" "that cost it nothing"
	is "$(attempts $i '.resumed // "" | split("/") | last // ""')" '["","0008","0016"]' "each began where the one before had stopped"
done
is "$(db "SELECT count(*) FROM event WHERE ensemble = $ID AND kind = 'attempt.ended' AND json_extract(detail, '\$.member') = 'pending'")" 8 \
	"events tell that the members wait for their next attempt"
is "$(db "SELECT count(*) FROM cause WHERE ensemble = $ID")" 0 "nothing of that counts as a cause of failures"
status_is 0 "stretto wait calls it success" stretto wait "$ID"

ID=$STUCK
wait_ensemble "$ID" 100 || bail "an ensemble of which a member gets no further does not end"
is "$(told '[.state, .training.state, .members.succeeded, .members.failed]')" '["complete","done",3,1]' "a member that gets no further fails, and the others end well"
is "$(attempts 1 .outcome)" '["timeout","timeout","timeout"]' "after as many attempts as its spec has for that"
like "$(api GET "/v1/ensembles/$ID/members/1" | jq -r .reason)" '^stalled: 2 attempts in a row left no newer checkpoint' "the reason says so"
is "$(told '[.training.unique, .training.drawn]')" '[100,100]' "what it had sent is learnt, too"

# A checkpoint of the training from between the attempts of members does not count for them, though they had told their
# end: so their ranks, which fail and have kept nothing, lose no step for good.
ID=$ENDS
wait_for 60 "[ \"\$(api GET /v1/ensembles/$ID | jq .members.succeeded)\" = 4 ]" || bail "the members do not end: $(api GET "/v1/ensembles/$ID")"
: >"$T/rank.py.fail"
wait_ensemble "$ID" 100 || bail "an ensemble whose training begins anew does not end"
is "$(told '[.state, .training.state, .training.generation, .training.resumed_from, .members.succeeded]')" '["complete","done",2,"g1-s32",4]' \
	"a training goes on from a checkpoint that was saved between two attempts of its members"
is "$(told '[.training.unique, .training.drawn]')" '[64,64]' "and lacks no step of them"
is "$(jq -c '[length, (unique | length)]' "$STATE/run/e$ID/training/g2/rank0/learnt.json")" '[64,64]' "it has learnt from each once"
done_testing
