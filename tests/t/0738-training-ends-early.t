#!/usr/bin/env bash
# A training says that it has learnt enough while members run: they are ended, the others are not started, and the
# ensemble is complete and tells what was not needed. It is not where a rank fails, or where steps are missing. A
# training that raises has failed, and so has its ensemble.
TEST_LIMIT=300
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 16}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

# rank.py HOW DIR: draws ten samples at least, and then does what HOW says, when DIR/enough is there
cat >"$T/rank.py" <<'EOF2'
import os, sys, time, stretto.train
how, here = sys.argv[1:]
def wait_for(name):
    while not os.path.exists(os.path.join(here, name)):
        time.sleep(0.02)
with stretto.train.open() as rx:
    if how == "again" and rx.generation > 1:
        for batch in rx.batches():
            pass
    elif rx.rank == 0:
        for _ in range(1 if rx.resume else 2):
            assert rx.next_batch() is not None
            if how == "resumed" and not rx.resume:
                rx.checkpoint(lambda path: open(path, "w", encoding="ascii").close(), 1)
                wait_for(os.environ["STRETTO_TRAINING_DIR"] + "/../checkpoints/checkpoints.json")
                raise ValueError("the first generation fails")
        wait_for("enough")
        if how == "silent":
            sys.exit(0)
        rx.done()
        if how == "held":
            wait_for("exit")
        assert rx.next_batch() is None
        sys.exit(0)
    elif how in ("raises", "again"):
        wait_for("enough")
        raise ValueError("the loss is not a number")
    else:
        for batch in rx.batches():
            pass
        open(os.path.join(here, "ended"), "w", encoding="ascii").close()
        wait_for("exit")
    rx.done()
EOF2
# member.py DIR: member 0 sends 20 steps, and the others 5 until DIR/on is there, and then the rest; where DIR/stubborn
# is, it ends only when killed
cat >"$T/member.py" <<'EOF2'
import os, signal, sys, time, numpy, stretto
here = sys.argv[1]
if os.path.exists(os.path.join(here, "stubborn")):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with stretto.open() as member:
    for step in range(20):
        while member.index > 0 and step == 5 and not os.path.exists(os.path.join(here, "on")):
            time.sleep(0.05)
        member.send(step, data=numpy.zeros(4, dtype=numpy.uint8))
EOF2
begin() { # HOW RANKS [JQ [NAME]]: $ID and its $DIR
	DIR=$T/${4:-$1$2}
	mkdir -p "$DIR"
	jq -n --arg t "$T" --arg how "$1" --argjson ranks "$2" --arg dir "$DIR" '{name: $how, width: 3, members: {
		command: ["{python}", "-B", ($t + "/member.py"), $dir], parameters: {grid: {i: [range(6)]}}, retries: 0},
		training: {command: ["python3", "-B", ($t + "/rank.py"), $how, $dir], ranks: $ranks, retries: 0, steps: 20,
		fields: {data: {dtype: "uint8", shape: [4]}}, buffer: {policy: "fifo", capacity: 1000, threshold: 0, batch: 5}}} | '"${3:-.}" \
		>"$T/spec.json"
	ID=$(submit "$T/spec.json")
}
state() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
# member 0 has succeeded, and all has come that the three others send before they wait
have_sent() { wait_for 60 '[ "$(state "[.members.succeeded, .members.running, .training.received]")" = "[1,3,35]" ]' || bail "not sent: $(state .)"; }
told() { jq -c "$1" "$T/ensemble.json"; }
reasons() { api GET "/v1/ensembles/$ID/members" | jq -c '[.members[] | .state + ": " + (.reason // "") + " " + (.attempts | tostring)]'; }
EARLY='the training ended early: it has learnt enough, and did not need 5 of 6 members, nor 85 steps that had not come, nor 25 samples that had come'

begin enough 1
have_sent
: >"$DIR/enough"
status_is 0 "stretto wait ends with status 0 where the training has learnt enough" stretto wait "$ID"
like "$(head -n 1 "$T/out")" "complete in .*: $EARLY" "and says what was not needed"
like "$(stretto status "$ID")" "complete.*: $EARLY" "stretto status does"
wait_ensemble "$ID" 10
is "$(told '[.state, .training.state, .training.reason, .members.succeeded, .members.cancelled, .notice]')" '["complete","done",null,1,5,null]' \
	"the ensemble is complete, and the training done"
is "$(told .reason)" "\"$EARLY\"" "the ensemble's reason says it"
is "$(told '[.training.ended_early, .training.missing]')" \
	'[{"members":5,"steps":85,"undrawn":25},{"first":[],"members":0,"steps":0}]' "there are figures, and nothing is missing"
is "$(reasons)" '["succeeded:  1","cancelled: cancelled: the training was done 1","cancelled: cancelled: the training was done 1","cancelled: cancelled: the training was done 1","cancelled:  0","cancelled:  0"]' \
	"members that ran were ended and told why; no other was started"

is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT group_concat(kind || coalesce(' ' || json_extract(detail, '$.early'), ''), ', ') FROM (SELECT kind, detail FROM event
	WHERE ensemble = $ID AND kind IN ('training.ended', 'ensemble.ending', 'ensemble.complete', 'ensemble.failed') ORDER BY id)")" \
	'ensemble.ending, training.ended 1, ensemble.complete' "events say so, too"
is "$(jq -c '[.state, .early]' "$STATE/run/e$ID/training/g1/done-rank0.json")" '["done",true]' "the done record has what the rank said"
is "$(api_status POST "/v1/ensembles/$ID/members/4/resubmit" '{}')" 409 "none of its members can be resubmitted"
like "$(jq -r .detail "$T/api.body")" 'training of ensemble .* is done' "and it is told why"
is "$(api GET "/v1/ensembles/$ID/members?state=cancelled" | jq -c '[.members[].index]')" "[1,2,3,4,5]" "lists of members have those that were never started, too"

begin silent 1
have_sent
: >"$DIR/enough"
status_is 1 "a rank that exits with status 0 and says nothing has not done so" stretto wait "$ID"
like "$(cat "$T/out")" 'failed.*a rank exited without saying that it was done' "and is told so"

begin enough 2
have_sent
: >"$DIR/enough"
wait_for 60 '[ -e "$DIR/ended" ]' || bail "the other rank gets no end"
: >"$DIR/on"
STATUS=$STATE/run/e$ID/training/g1/status-rank1.json
wait_for 60 '[ "$(jq .rejected "$STATUS")" -gt 0 ]' || bail "nothing was sent to the other rank: $(cat "$STATUS")"
is "$(jq -c '.rejected_by | keys' "$STATUS")" '["stopped"]' "members that still send to the other rank are not refused, but wait"
: >"$DIR/exit"
status_is 0 "with two ranks, one says that it needs no more, and the other learns what it holds and is done" stretto wait "$ID"
wait_ensemble "$ID" 10
is "$(told '[.state, .training.state, .members.succeeded, .members.failed, .members.cancelled, .training.ended_early.members, .training.unique]')" \
	'["complete","done",1,0,5,5,35]' "no member has failed"
is "$(jq -c '[.state, .early]' "$STATE/run/e$ID/training/g1/done-rank1.json")" '["done",null]' "the other rank did not say so"

begin raises 2
have_sent
: >"$DIR/enough"
status_is 1 "where another rank raises, the training has failed" stretto wait "$ID"
wait_ensemble "$ID" 10
is "$(told '[.state, .training.state, .training.ended_early]')" '["failed","failed",null]' "and so has the ensemble: it is not cancelled"
is "$(told .reason)" '"the training failed: rank 1 failed: exit status 1: ValueError: the loss is not a number"' "the reason is what the rank last said"
is "$(told .training.reason)" '"rank 1 failed: exit status 1: ValueError: the loss is not a number"' "the training's, too"
like "$(stretto status "$ID")" 'failed in .*ValueError: the loss is not a number' "stretto status says it"
is "$(reasons | jq -c '.[1:]')" '["cancelled: cancelled: the training failed 1","cancelled: cancelled: the training failed 1","cancelled: cancelled: the training failed 1","cancelled:  0","cancelled:  0"]' \
	"its members are told why they were ended"

begin again 2 '.training.retries = 1'
have_sent
: >"$DIR/enough"
: >"$DIR/on"
status_is 0 "what a rank of a former generation said counts no more" stretto wait "$ID"
wait_ensemble "$ID" 10
is "$(told '[.state, .reason, .members.succeeded, .training.generation, .training.unique, .training.drawn, .training.ended_early]')" \
	'["complete",null,6,2,120,120,null]' "the next one learns all that there is"

# the daemon is killed between what the rank says and its end
begin held 1
have_sent
: >"$DIR/enough"
wait_for 30 '[ -e "$STATE/run/e$ID/training/g1/done-rank0.json" ]'
kill_daemon
: >"$DIR/exit"
start_daemon --config "$T/config.json"
ok "the daemon is killed when the rank has said it, and the ensemble ends" wait_ensemble "$ID" 60
is "$(told '[.state, .reason]')" "[\"complete\",\"$EARLY\"]" "it is complete"

# and once more, when members are being ended
mkdir "$T/stubborn"
: >"$T/stubborn/stubborn"
begin enough 1 . stubborn
have_sent
: >"$DIR/enough"
wait_for 30 '[ "$(state .notice.code)" = "\"ending\"" ]' || bail "it is not ending: $(state .)"
like "$(state .notice.text)" 'the training ended early.*members that still run are being ended' "while members are being ended, the ensemble says so"
kill_daemon
start_daemon --config "$T/config.json"
ok "the daemon is killed when members are being ended, and the ensemble ends" wait_ensemble "$ID" 90
is "$(told '[.state, .members.succeeded, .members.cancelled, .reason]')" "[\"complete\",1,5,\"$EARLY\"]" "it is complete"

# with checkpoints: the rank fails after its first one, and what goes on from it learns a little more
begin resumed 1 '.training.retries = 1 | .training.checkpoint = {every: "10m", retain: 0}'
wait_for 60 '[ "$(state .training.generation)" = 2 ]' || bail "the training does not begin anew: $(state .training)"
wait_for 60 '[ "$(state "[.members.succeeded, .members.running, .training.unique]")" = "[1,3,35]" ]' || bail "not sent: $(state .)"
: >"$DIR/enough"
status_is 0 "a training that goes on from a checkpoint has learnt enough" stretto wait "$ID"
wait_ensemble "$ID" 10
is "$(told '[.state, .training.resumed_from, .training.drawn, .reason]')" "[\"complete\",\"g1-s1\",10,\"$EARLY\"]" "what was learnt before is not told as unneeded"

# steps of a member that succeeded are missing
begin enough 1 '.training.streams = "optional" | .members.command = ["sh", "-c", "[ $STRETTO_MEMBER != 1 ] || exit 0; exec \"$@\"", "sh"] + .members.command' lacking
wait_for 60 '[ "$(state "[.members.succeeded, .members.running, .training.received]")" = "[2,3,35]" ]' || bail "not sent: $(state .)"
: >"$DIR/enough"
status_is 1 "where a member succeeded and its steps are missing, no training says that the ensemble is complete" stretto wait "$ID"
like "$(cat "$T/out")" 'failed.*20 steps are missing, of 1 member that succeeded: 1 \(20\)' "the reason is told"
done_testing
