#!/usr/bin/env bash
# Exit status 0 of a member that has not closed its stream is no success, however it came about; and only the process
# that opened a stream can use it.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

cat >"$T/rank.py" <<'EOF2'
import stretto.train
with stretto.train.open() as rx:
    for batch in rx.batches():
        pass
    rx.done()
EOF2
# member.py HOW: sends some of its 20 steps, or all, and then ends as HOW says
cat >"$T/member.py" <<'EOF2'
import itertools, multiprocessing, os, sys, time, numpy, stretto

def send(member, *steps):
    for step in steps:
        member.send(step, data=numpy.zeros(4, dtype=numpy.uint8))

def refused(call, *args):
    try:
        call(*args)
    except stretto.StreamError as error:
        return "forked" in str(error)
    return False

def in_a_child(function):
    child = os.fork()
    if child == 0:
        os._exit(0 if function() else 1)
    return os.waitpid(child, 0)[1] == 0

def leave_block(member):
    try:
        with member:
            sys.exit(0)
    except SystemExit:
        return True

how = sys.argv[1]
member = stretto.open()
if how == "exit-0":
    with member:
        send(member, *range(20))
        sys.exit(0)
elif how == "exit":
    with member:
        send(member, *range(20))
        sys.exit()
elif how == "exit-3":
    with member:
        send(member, *range(20))
        sys.exit(3)
elif how == "raises":
    with member:
        send(member, *range(20))
        raise ValueError("of the program's own")
elif how in ("unclosed", "second") and not (how == "second" and member.attempt == 2):
    send(member, *range(20))
elif how == "opened": # it sends until it is ended
    for step in itertools.count():
        send(member, step)
        time.sleep(0.1)
elif how == "_exit":
    send(member, 0, 1)
    os._exit(0)
elif how == "ignored":
    member.field("data", (4,), numpy.uint8)
    try:
        member.send(0, data=numpy.zeros(4, dtype=numpy.uint8))
        member.send(-1, data=numpy.zeros(4, dtype=numpy.uint8))
        member.close()
    except stretto.StreamError as error:
        print(error)
elif how == "fork":
    field = member.field("data", (4,), numpy.uint8)
    send(member, 0)
    parts = {"send": lambda: refused(send, member, 1), "close": lambda: refused(member.close), "block": lambda: leave_block(member),
        "lend": lambda: refused(field.lend), "declare": lambda: refused(member.field, "data", (4,), numpy.uint8),
        "checkpoint": lambda: refused(member.checkpointed, __file__, 0), "abort": lambda: member.abort() is None,
        "forget": lambda: member._finalizer() is None}
    for name, part in parts.items():
        if not in_a_child(part):
            sys.exit("in a child: " + name)
    with multiprocessing.get_context("fork").Pool(2) as pool: # workers end by themselves
        pool.map(abs, range(4))
    send(member, *range(1, 20))
    member.close()
else:
    send(member, *range(20))
    member.close()
EOF2

begin() { # STREAMS RETRIES HOW…: an ensemble with a member for each
	local streams=$1 retries=$2
	shift 2
	jq -n --arg t "$T" --argjson retries "$retries" --arg streams "$streams" '{name: "m", members: {retries: $retries,
		command: ["sh", $t + "/start.sh", "{how}"], parameters: {grid: {how: $ARGS.positional}}},
		training: {command: ["python3", ($t + "/rank.py")], ranks: 2, fields: {data: {dtype: "uint8", shape: [4]}}, streams: $streams,
		buffer: {policy: "fifo", capacity: 100, threshold: 0, batch: 5}}}' --args "$@" >"$T/spec.json"
	submit "$T/spec.json"
}
cat >"$T/start.sh" <<EOF2
case \$1 in
never) exit 0 ;;
emptied) exec env -i ASAN_OPTIONS=detect_leaks=0 "$builddir/tests/t/stream-member" 3 ;;
child) "$STRETTO_PYTHON" -B "$T/member.py" opened & # this process ends with 0 once the other one has opened a stream
	until ls -A | grep -q '^\\.stretto-stream'; do sleep 0.05; done
	exit 0 ;;
esac
exec "$STRETTO_PYTHON" -B "$T/member.py" "\$1"
EOF2
member() { jq -c "$2" <(api GET "/v1/ensembles/$1/members/$3"); }

hows=(closes exit-0 exit exit-3 raises unclosed _exit ignored child never emptied fork)
unclosed='did not close the stream' never='never opened a stream'
all=$(begin required 0 "${hows[@]}") optional=$(begin optional 0 never emptied unclosed) again=$(begin required 1 second)
lacking=$(begin required 0 unclosed _exit)
wait_ensemble "$all" 60
while read -r index state reason; do
	is "$(member "$all" .state "$index")" "\"$state\"" "${hows[index]}: $state"
	[ -z "$reason" ] || like "$(member "$all" .reason "$index")" "$reason" "${hows[index]}: and why"
done <<END
0 succeeded
1 succeeded
2 succeeded
3 failed exit status 3
4 failed of the program's own
5 failed $unclosed
6 failed $unclosed
7 failed $unclosed
8 failed $unclosed
9 failed $never
10 failed $never
11 succeeded
END
is "$(find "$STATE/run/e$all/members" -name '.stretto-stream*')" "" "no mark of a stream is left"
wait_ensemble "$lacking" 60
is "$(jq -c '[.state, .members.succeeded, .members.failed, .training.finalized]' "$T/ensemble.json")" '["failed",0,2,null]' \
	"an ensemble whose members all ended without a close is not complete"
like "$(stretto members "$lacking")" "$unclosed" "and stretto members says why"
wait_ensemble "$optional" 60
is "$(jq -c '[.members.succeeded, .members.failed]' "$T/ensemble.json")" '[2,1]' "a stream that may be left out has to be closed once it is open"
like "$(member "$optional" .attempts[0].notice 0)" "opened no stream" "one that is left out is told as a notice"
wait_ensemble "$again" 60
is "$(jq -c '[.state, .members.succeeded, .training.unique]' "$T/ensemble.json")" '["complete",1,20]' "a member that did not close is tried again"
is "$(member "$again" '[.attempts[].outcome]' 0)" '["failed","succeeded"]' "as after any failure of its own"
is "$(api_status POST /v1/ensembles "$(jq -c '.training.streams = "maybe"' "$T/spec.json")")" 422 "nothing else is said of streams"
is "$(jq -r .pointer "$T/api.body")" /training/streams "and that is where"
done_testing
