#!/usr/bin/env bash
# The spec says how many steps each member sends: one that ends with fewer fails; and where members succeed all the
# same, the ensemble has failed, and says how many steps are missing and of whom.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
export PATH=$builddir/examples/heat:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

cat >"$T/rank.py" <<'EOF2'
import stretto.train
with stretto.train.open() as rx:
    for batch in rx.batches():
        pass
    rx.done()
EOF2
# member.py HOW: member I sends I steps less than 20, every tenth number, and then ends as HOW says; or it sends none
cat >"$T/member.py" <<'EOF2'
import os, sys, numpy, stretto
if sys.argv[1] == "absent" and os.environ["STRETTO_MEMBER"] != "0":
    sys.exit(0)
with stretto.open() as member:
    for step in range(20 - member.index):
        member.send(10 * step, data=numpy.zeros(4, dtype=numpy.uint8))
    if sys.argv[1] == "heedless":
        try:
            member.close()
        except stretto.StreamError as error:
            print(error, flush=True)
            member.abort()
EOF2
# begin MEMBERS HOW [JQ]
begin() {
	jq -n --arg t "$T" --argjson members "$1" --arg how "$2" '{name: "m", members: {command: ["{python}", "-B", ($t + "/member.py"), $how],
		parameters: {grid: {i: [range($members)]}}, retries: 0}, training: {command: ["python3", ($t + "/rank.py")], ranks: 2, steps: 20,
		fields: {data: {dtype: "uint8", shape: [4]}}, buffer: {policy: "fifo", capacity: 100, threshold: 0, batch: 5}}} | '"${3:-.}" \
		>"$T/spec.json"
	submit "$T/spec.json"
}
# A checkpoint that covers steps which were never sent, or a program that goes on from one of its own; one that stops at
# its checkpoint.
cat >"$T/leap.py" <<'EOF2'
import os, sys, numpy, stretto
with stretto.open() as member:
    own = os.path.join(member.checkpoint_dir, "own")
    resume = own if sys.argv[1] == "own" and os.path.exists(own) else member.resume
    first = int(open(resume, encoding="ascii").read()) if resume else 0
    for step in range(first, 100):
        if sys.argv[1] == "stops" and step == 40 * member.attempt:
            with open(own, "w", encoding="ascii") as file:
                file.write(str(step))
            member.checkpointed(own, step - 1)
            break
        if sys.argv[1] != "stops" and member.attempt == 1 and step == 40:
            with open(own, "w", encoding="ascii") as file:
                file.write("60")
            member.checkpointed(own, 60)
            member.abort()
            sys.exit(7)
        member.send(step, data=numpy.zeros(4, dtype=numpy.uint8))
EOF2
leap() { # HOW [JQ]
	begin 1 "$1" "${2:-del(.training.steps)}"' | .members.command = ["{python}", "-B", "'"$T"'/leap.py", "'"$1"'"] | .members.retries = 2 | .members.checkpoint = {}'
}
told() { jq -c "$1" "$T/ensemble.json"; }

is "$(api_status POST /v1/ensembles '{"name": "m", "members": {"command": ["true"], "parameters": {"grid": {"i": [1]}}}, "training":
	{"command": ["true"], "fields": {"u": {"dtype": "uint8", "shape": [1]}}, "steps": 0}}')" 422 "a number of steps is positive"
is "$(jq -r .pointer "$T/api.body")" /training/steps "and that is where"

solver=
[ -z "${STRETTO_MPIEXEC:-}" ] || solver=$(begin 1 heedless '.members.command = ["heat2d", "--grid", "8", "--steps", "15"] | .training.ranks = 1 |
	.training.fields = {temperature: {dtype: "float32", shape: [8, 8]}}')
all=$(begin 1 heedless) lacking=$(begin 8 absent '.training.streams = "optional"') heedless=$(begin 8 heedless)
honest=$(begin 3 honest) none=$(begin 2 heedless '.members.command = ["true"] | .training.streams = "optional"')
unsaid=$(begin 3 heedless 'del(.training.steps)') early=$(leap given) own=$(leap own) stops=$(leap stops .training.steps=100)
wait_ensemble "$all" 60
is "$(told '[.state, .training.state, .training.unique, .training.missing]')" \
	'["complete","done",20,{"first":[],"members":0,"steps":0}]' "an ensemble that lacks nothing is complete"
wait_ensemble "$lacking" 60
is "$(told '[.state, .members.succeeded, .training.state, .training.unique]')" '["failed",8,"done",20]' \
	"one whose members succeed with fewer steps has failed"
is "$(told .training.missing)" '{"first":[{"member":1,"steps":20},{"member":2,"steps":20},{"member":3,"steps":20},{"member":4,"steps":20},{"member":5,"steps":20}],"members":7,"steps":140}' \
	"it is told how many are missing, and of whom"
is "$(told .reason)" '"140 steps are missing, of 7 members that succeeded: 1 (20), 2 (20), 3 (20), 4 (20), 5 (20), …"' "in words, too"
status_is 1 "stretto wait fails" stretto wait "$lacking"
like "$(cat "$T/out")" 'failed.*140 steps are missing' "and says why"
like "$(stretto status "$lacking")" 'failed.*140 steps are missing' "stretto status does"
is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT json_extract(detail, '$.missing.steps') FROM event WHERE kind = 'ensemble.failed' AND ensemble = $lacking")" \
	140 "there is an event"
is "$(api_status POST "/v1/ensembles/$lacking/resubmit" '{}')" 409 "nothing of it can be resubmitted"
wait_ensemble "$heedless" 60
is "$(told '[.members.succeeded, .members.failed]')" '[1,7]' "members that ignore that their stream cannot be closed have failed"
like "$(cat "$STATE/run/e$heedless/members/0/7/a1/stdout")" 'holds 13 steps of this member, of the 20 .* 7 are missing' \
	"as each was told when it closed its stream"
like "$(api GET "/v1/ensembles/$heedless/members/7" | jq -r .reason)" 'did not close the stream' "and their reason says"
wait_ensemble "$honest" 60
is "$(told '[.state, .members.succeeded, .members.failed, .training.missing.steps]')" '["complete",1,2,0]' \
	"where the members fail of it, their states tell so"
status_is 1 "and stretto wait fails, too" stretto wait "$honest"
if [ -n "$solver" ]; then
	wait_ensemble "$solver" 60
	is "$(told '[.members.succeeded, .members.failed]')" "[0,1]" "heat2d fails of it"
	like "$(api GET "/v1/ensembles/$solver/members/0" | jq -r .reason)" 'heat2d: .*holds 15 steps of this member, of the 20' "and says why"
else
	skip "no heat2d: built without MPI"
fi
wait_ensemble "$none" 60
is "$(told '[.state, .training.missing.members, .training.missing.steps]')" '["failed",2,40]' "members that never open a stream lack all"
wait_ensemble "$unsaid" 60
is "$(told '[.state, .training.missing]')" '["complete",null]' "where the spec says nothing, nothing is known"
wait_ensemble "$early" 60
is "$(told '[.state, .members.succeeded, .training.unique]')" '["complete",1,100]' \
	"steps that were left out between two attempts are found without being told how many there are, and sent"
attempts() { api GET "/v1/ensembles/$1/members/0" | jq -c '[.attempts[] | [.outcome, .resumed]]'; }
is "$(attempts "$early")" '[["failed",null],["failed","own"],["succeeded",null]]' "by an attempt that begins at the start"
like "$(api GET "/v1/ensembles/$early/members/0" | jq -r '.attempts[1].reason')" '10 steps from 4[01] to 5[89] never came' "as the one before says"
wait_ensemble "$stops" 60
is "$(told '[.state, .members.succeeded, .training.received]')" '["complete",1,100]' "a member that ends too early, behind a checkpoint, sends nothing again"
is "$(attempts "$stops")" '[["failed",null],["failed","own"],["succeeded","own"]]' "since it goes on from there"
wait_ensemble "$own" 60
is "$(told '[.state, .members.succeeded, .members.failed]')" '["failed",0,1]' "a program that leaves them out each time fails"
like "$(api GET /metrics)" "stretto_ensembles\\{state=\"failed\"\\} $(api GET /v1/ensembles | jq '[.ensembles[] | select(.state == "failed")] | length')" \
	"/metrics counts ensembles that have failed"
kill_daemon
start_daemon --config "$T/config.json"
wait_ensemble "$lacking" 10
is "$(told '[.state, .training.missing.steps]')" '["failed",140]' "all of it is there after a restart"
done_testing
