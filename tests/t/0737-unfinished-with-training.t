#!/usr/bin/env bash
# A member has failed when its training is done, since it was out of time and got no further: no follow-up is made of
# it, and it is told what to do instead, which then works: the training goes on from its newest checkpoint, and the
# member with it.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"
cat >"$T/rank.py" <<'EOF2'
import stretto.train
with stretto.train.open() as rx:
    n = 0 if rx.resume is None else int(open(rx.resume, encoding="ascii").read())
    def save(path):
        with open(path, "w", encoding="ascii") as file:
            file.write(str(n))
    for batch in rx.batches():
        n += len(batch.step)
    rx.checkpoint(save, n)
    rx.done()
EOF2
# member 1 runs out of time in its first attempt, when it has sent ten steps of twenty, and leaves no checkpoint
cat >"$T/member.py" <<'EOF2'
import signal, time, numpy, stretto
warned = []
signal.signal(signal.SIGUSR2, lambda *_: warned.append(1))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2]) # it is blocked until then, so that nobody is warned too early
with stretto.open() as member:
    for step in range(20):
        if step == 10 and member.index == 1 and member.attempt == 1:
            while not warned:
                time.sleep(0.05)
            break
        member.send(step, data=numpy.zeros(4, dtype=numpy.uint8))
    else:
        with open("result", "w", encoding="ascii") as file:
            file.write("done")
EOF2
jq -n --arg t "$T" '{name: "m", members: {command: ["env", "--block-signal=USR2", "{python}", "-B", ($t + "/member.py")], parameters: {grid: {i: [0, 1]}}, retries: 0,
	resources: {walltime: "80s"}, success: {file: "result"}, checkpoint: {before: "1m", signal: "USR2", grace: "20s", attempts: 1}},
	training: {command: ["python3", "-B", ($t + "/rank.py")], checkpoint: {every: "10m"},
	fields: {data: {dtype: "uint8", shape: [4]}}, buffer: {policy: "fifo", capacity: 100, threshold: 0, batch: 5}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
wait_ensemble "$ID" 100 || bail "the ensemble does not end"
told() { jq -c "$1" "$T/ensemble.json"; }
is "$(told '[.state, .training.state, .members.succeeded, .members.failed, .training.drawn]')" '["complete","done",1,1,30]' \
	"a member that was out of time and got no further has failed, and its training is done"
like "$(api GET "/v1/ensembles/$ID/members/1" | jq -r .reason)" '^stalled: ' "it is told why"
is "$(told .training.ended_early)" null "the training has not ended early: it did not say that it needs no more"
status_is 1 "stretto wait does not call that success" stretto wait "$ID"
is "$(api_status POST "/v1/ensembles/$ID/follow-up" '{"states": ["failed"]}') $(jq -r .code "$T/api.body")" "409 training_over" "there is no follow-up of it"
like "$(jq -r .detail "$T/api.body")" "stretto resubmit $ID.training. takes it on from its newest checkpoint, and them with it" "it is told what to do"
status_is 0 "a follow-up of all is about unfinished members alone" stretto follow-up --all
is "$(api_status POST "/v1/ensembles/$ID/members/1/resubmit" '{}')" 409 "the member alone cannot go again"
like "$(jq -r .detail "$T/api.body")" "stretto resubmit $ID.training" "and is told the same"
ok "so the training is resubmitted" stretto resubmit "$ID.training"
wait_ensemble "$ID" 100 || bail "the ensemble does not end again"
is "$(told '[.state, .training.state, .training.generation, .training.resumed_from, .members.succeeded, .training.drawn]')" \
	'["complete","done",2,"g1-s30",2,40]' "it goes on from its checkpoint, and learns the rest"
is "$(api GET "/v1/ensembles/$ID/members" | jq -c '[.members[].attempts]')" "[1,2]" "the other member did not run again"
status_is 0 "all is well now" stretto wait "$ID"
done_testing
