#!/usr/bin/env bash
# Members and ranks that hang are found and replaced, and those that only wait for each other are not. How long that is,
# is told by ensembles of one member that does nothing, and is allowed to for longer.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

sql() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }

# --- bad input
refused() { # JQ POINTER NAME
	jq "$1" spec.json >bad.json
	is "$(api_status POST /v1/ensembles @bad.json),$(jq -r .pointer api.body)" "422,$2" "$3"
}
echo '{"name": "h", "members": {"command": ["sh", "-c", "[ $STRETTO_ATTEMPT != 1 ] || {index_is}"], "silence": "2s", "retries": 1,
	"parameters": {"grid": {"index_is": ["kill -STOP $$", "sleep 1000"]}}}}' >spec.json
refused '.members.silence = "0s"' /members/silence "a silence of no time is refused"
refused '.members.resources = {nodes: 2}' /members/silence "and one of a member on two nodes, of which only one is seen"
refused '.training = {command: ["x"], failure_after: 3, fields: {t: {dtype: "float32", shape: [1]}}}' /training/failure_after "and a number without a unit"

# --- members
ID=$(submit spec.json)
ok "a member that stops and one that blocks" wait_ensemble "$ID" 60
is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" '["complete",2]' "have succeeded in the end"
is "$(sql "SELECT group_concat(failures) FROM member WHERE ensemble = $ID")" 1,1 "which cost each a retry"
for index in 0 1; do
	api GET "/v1/ensembles/$ID/members/$index" | jq -r '.attempts[0] | "\(.outcome): \(.reason)"'
done >said
is "$(cat said)" "failed: ended, since all its processes were stopped for 2 s
failed: ended, since it showed no sign of life for 2 s: no sample, no report, no output, no CPU time" "the reason is told"
is "$(sql "SELECT count(*) FROM event WHERE ensemble = $ID AND kind = 'attempt.ended' AND detail LIKE '%ended, since%'")" 2 "by events, too"

# --- members and a rank
cat >rank.py <<'END'
import os, signal, stretto.train
home = os.environ["HOME"]
with stretto.train.open() as rx:
    open(home + "/up", "w").close()
    if rx.generation == 1:
        # one call that lasts until there is something, as programs in C make it
        rx._calls.batch_ragged(rx._open_handle(), None, None, None, None, None, -1)
        open(home + "/working", "w").close()
        while not os.path.exists(home + "/stop"):
            pass
        os.kill(os.getpid(), signal.SIGSTOP)
    for batch in rx.batches():
        pass
    rx.done()
END
jq -n --arg t "$T" --arg member "$builddir/tests/t/stream-member" '{name: "s", members: {silence: "2s", retries: 0, parameters: {grid: {i: [1, 2]}},
		command: ["sh", "-c", "while [ ! -e $HOME/go ]; do :; done; exec " + $member + " 100"]},
	training: {command: ["python3", ($t + "/rank.py")], failure_after: "2s", buffer: {policy: "fifo", capacity: 4, threshold: 1, batch: 1},
		fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
			particles: {dtype: "float32", shape: [-1, 3], max: 40}}}}' >stream.json
nothing() { # for longer than a silence
	jq -n '{name: "n", members: {command: ["sleep", "1000"], parameters: {grid: {i: [1]}}, silence: "3s", retries: 0}}' >nothing.json
	while_id=$(submit nothing.json)
	wait_for 60 "[ \"\$(api GET /v1/ensembles/$while_id | jq .members.failed)\" = 1 ]" || bail "nothing does not end"
}
attempts() { api GET "/v1/ensembles/$ID" | jq -c '[.training.generation, .members.running, .members.failed]'; }
ID=$(submit stream.json)
ok "a rank" wait_for 60 '[ -e "$HOME/up" ]'
nothing
is "$(attempts)" "[1,2,0]" "that waits for samples is left alone"
[ $TESTS_FAILED -eq 0 ] || bail "the rank was ended"
touch "$HOME/go"
ok "it works on the first of them" wait_for 60 '[ -e "$HOME/working" ]'
nothing
is "$(attempts)" "[1,2,0]" "while its members, which wait for room, are left alone"
[ $TESTS_FAILED -eq 0 ] || bail "its members were ended"
touch "$HOME/stop"
ok "then it stops" wait_ensemble "$ID" 60
is "$(jq -c '[.state, .members.succeeded, .training.generation, .training.unique]' ensemble.json)" '["complete",2,2,200]' "another one takes its place"

# --- ranks that wait for each other
cat >group.py <<'END'
import time, stretto.train
with stretto.train.open() as rx:
    for batch in rx.batches():
        if rx.generation == 1:
            time.sleep(100000)
    rx.done()
END
jq --arg t "$T" --arg member "$builddir/tests/t/stream-member" '.width = 2 | del(.members.silence) | .members.command = [$member, "20"] | .training.buffer.capacity = 100 |
	.training += {command: ["python3", ($t + "/group.py")], ranks: 2, retries: 3, failure_after: "5s"}' stream.json >group.json
ID=$(submit group.json)
ok "two ranks that both hang with their first batch" wait_ensemble "$ID" 90
is "$(jq -c '[.state, .training.state, .training.unique]' ensemble.json)" '["complete","done",40]' "are replaced"
like "$(api GET "/v1/trainings/$(jq .training.id ensemble.json)/generations" | jq -r '.generations[-1].reason')" 'no rank showed any sign of life for 5 s' \
	"as soon as one could have failed alone, which is told"

done_testing
