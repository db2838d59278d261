#!/usr/bin/env bash
# A member that streams into a full buffer is killed behind its checkpoint: what was sent before the checkpoint and had
# not come to the training is sent again by the next attempt, and so every step is used.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
echo detect_leaks=1 >"$T/asan.held-member"
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 16}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

# A training that draws DRAWN samples, and then nothing until it is told to.
cat >"$T/rank.py" <<'EOF2'
import os, sys, time, stretto.train
drawn, go = int(sys.argv[1]), sys.argv[2] + os.environ["STRETTO_ENSEMBLE"]
with stretto.train.open() as rx:
    batches = rx.batches()
    while drawn > 0:
        drawn -= len(next(batches).step)
    while not os.path.exists(go):
        time.sleep(0.02)
    for batch in batches:
        pass
    rx.done()
EOF2

# The same as held-member, by the Python package: what is reported waits in several calls, so that signals are looked
# at.
cat >"$T/member.py" <<'EOF2'
import os, signal, sys, numpy, stretto
steps, at, size = map(int, sys.argv[2:])
with stretto.open() as member:
    step = 0
    if member.resume:
        with open(member.resume, encoding="ascii") as file:
            step = int(file.read())
    for step in range(step, steps):
        if member.attempt == 1 and step == at:
            path = os.path.join(member.checkpoint_dir, "count")
            with open(path, "w", encoding="ascii") as file:
                file.write(str(step))
            open("left", "x").close()
            signal.alarm(1)
            member.checkpointed(path, step - 1)
            signal.pause()
        member.send(step, data=numpy.zeros(size, dtype=numpy.uint8))
        open("sent", "w").close()
EOF2

# It leaves a checkpoint that is held, and another one behind more than the buffer takes: it waits for the ranks until
# its time is over.
cat >"$T/late.py" <<'EOF2'
import os, sys, numpy, stretto
with stretto.open() as member:
    for step in range(20):
        if step in (5, 19):
            path = os.path.join(member.checkpoint_dir, "count-%d" % step)
            with open(path, "w", encoding="ascii") as file:
                file.write(str(step))
            member.checkpointed(path, step - 1)
            open("reported-%d" % step, "x").close()
        member.send(step, data=numpy.zeros(20000, dtype=numpy.uint8))
EOF2

ids=() names=() steps=() member="[\"$builddir/tests/t/held-member\"]"
begin() { # NAME HOW STEPS AT BYTES DRAWN [JQ]
	jq -n --arg t "$T" --arg how "$2" --arg steps "$3" --arg at "$4" --argjson bytes "$5" --arg drawn "$6" \
		--argjson member "$member" '{name: $how,
		members: {command: ($member + [$how, $steps, $at, ($bytes | tostring)]), parameters: {grid: {i: [1]}}, retries: 3,
			checkpoint: {glob: "*.ckpt"}},
		training: {command: ["python3", ($t + "/rank.py"), $drawn, ($t + "/go")], fields: {data: {dtype: "uint8", shape: [$bytes]}},
			buffer: {policy: "fifo", capacity: 10, threshold: 0, batch: 5}}} | '"${7:-.}" >"$T/spec.json"
	ids+=("$(submit "$T/spec.json")") names+=("$1") steps+=("$3")
	echo "${ids[-1]}"
}
begin "a checkpoint that is reported" reported 200 150 20000 0 >/dev/null
begin "one that is found by its name" found 200 150 20000 0 >/dev/null
begin "with large fields" reported 30 14 4000000 0 >/dev/null
member="[\"{python}\", \"-B\", \"$T/member.py\"]"
begin "one that a Python program reports" reported 200 150 20000 0 >/dev/null
if [ -x "$builddir/tests/t/held-member-fortran" ]; then
	begin "one that a Fortran program reports" fortran 200 150 20000 0 '.training.fields.data = {dtype: "float32", shape: [5000]} |
		.members.command = ["'"$builddir"'/tests/t/held-member-fortran", "200", "150", "20000"]' >/dev/null
fi
late=$(begin late reported 20 19 20000 0 '.members.command = ["{python}", "-B", "'"$T"'/late.py"] | .members.resources.walltime = "20s" |
	.members.checkpoint = {before: "1s", signal: "USR2", grace: "5s", attempts: 1000}')
for i in "${!ids[@]}"; do
	dir=$STATE/run/e${ids[i]}/members/0/0
	wait_for 30 "[ -d $dir/a2 ]" || bail "${names[i]}: nobody was killed"
	ok "${names[i]}: it was there when the member was killed" test -e "$dir/a1/left"
	: >"$T/go${ids[i]}"
done
for i in "${!ids[@]}"; do
	wait_ensemble "${ids[i]}" 60
	is "$(jq -c '[.state, .members.succeeded, .training.unique, .training.drawn]' "$T/ensemble.json")" \
		"[\"complete\",1,${steps[i]},${steps[i]}]" "${names[i]}: every step is used"
done
# one that takes all of its time to start has no checkpoint, and goes again
wait_for 100 'api GET "/v1/ensembles/$late/members/0" | jq -e "(.checkpoints | length > 0) and (.attempts | any(.outcome == \"timeout\"))"'
api GET "/v1/ensembles/$late/members/0" >"$T/member.json"
is "$(jq -c '[([.attempts[].outcome | values] | unique), ([.checkpoints[].step] | unique)]' "$T/member.json")" '[["timeout"],[4]]' \
	"a member that waits for the ranks until its time is over has the checkpoint before"
ok "which it had reported" ls "$STATE/run/e$late"/members/0/0/a*/reported-5
is "$(find "$STATE/run/e$late/members" -name reported-19)" "" "and not the other one"
: >"$T/go$late"
wait_ensemble "$late" 60
done_testing
