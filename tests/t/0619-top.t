#!/usr/bin/env bash
# stretto top on a terminal: refreshed in place, ended by q and by Ctrl-C, stopped and gone on with; and through a pipe.
. "${srcdir:-.}/tests/t/lib.sh"
export LC_ALL=C.UTF-8 TERM=xterm

# top COLUMNS LINES [ID]: the orders on standard input (pty_session.py) while it runs; $T/bytes, and $T/said with how it ended
top() { "$T/bin/python3" "$srcdir/tests/t/pty_session.py" "$1" "$2" stretto top "${@:3}" >bytes 2>said; }

cat >rank <<'X'
#!/usr/bin/env bash
set -eu
cd "$STRETTO_TRAINING_DIR"
whole() { cat >"$1.tmp" && mv "$1.tmp" "$1"; }
for i in $(seq 0 99); do echo "{\"name\": \"train_loss\", \"step\": $i, \"time\": 1769860000, \"value\": $((100 - i)).5}"; done >metrics-rank0.jsonl
echo '{"version": 1, "generation": 1, "rank": 0, "time": 1769860000, "state": "receiving", "population": 17, "capacity": 50, "unseen": 9}' | whole status-rank0.json
echo '{"version": 1, "generation": 1, "rank": 0, "ranks": 1, "host": "here", "endpoints": ["ipc:///nowhere"]}' | whole ../stream/g1-rank0.json
until [ -e reception.json ]; do sleep 0.05; done
echo '{"version": 1, "generation": 1, "rank": 0, "time": 1769860000, "state": "done"}' | whole done-rank0.json
X
chmod +x rank
echo '{"adapters": {"local": {"slots": 4}}}' >config.json
start_daemon --config config.json
jq -n --arg rank "$T/rank" --arg go "$T/go" '{name: "shown", members: {command: ["sh", "-c", "until [ -e \($go) ]; do sleep 0.05; done"],
	parameters: {grid: {x: [range(4)]}}}, width: 2, training: {command: [$rank], fields: {f: {dtype: "float32", shape: [2]}}}}' >spec.json
ID=$(submit spec.json)
ok "its members run, and its training has told" wait_for 60 'api GET "/v1/ensembles/$ID" | jq -e ".members.running == 2 and .training.metrics.train_loss == 1.5"'

# --- through a pipe
stretto top "$ID" >once
like "$(head -n 1 once)" '^\[p{39}r{39}\]$' "a bar of the members by state"
like "$(cat once)" 'buffer     17 samples of 50 at most, 9 never drawn' "the buffer"
like "$(cat once)" $'\ntrain_loss\n +100 ' "the curve of the loss"
is "$(grep -c $'\e' once)" 0 "once, and nothing for a terminal"
like "$(stretto top)" " +$ID +shown +running +0/4 +2 +0 " "all that are not over"
status_is 2 "not for programs" stretto top --json
status_is 3 "not of what is not there" stretto top 4711

# --- on a terminal
top 80 40 "$ID" <<-END
	until 2 running
	until never drawn
	until train_loss
	key q
END
is "$(cut -d ' ' -f 1-5 said | xargs)" "ok ok ok ok exit 0 wrapped 0 modes" "q ends it"
like "$(tail -n 1 said)" "modes kept" "the terminal is as it was"
like "$(cat bytes)" $'\e\\[\\?1049h.*\e\\[\\?25h\e\\[\\?1049l' "and so is its screen"
top 40 8 "$ID" <<-END
	until 2 running
	key ^C
END
is "$(tail -n 1 said)" "exit 0 wrapped 0 modes kept" "Ctrl-C, too, and what is too long or too much is cut"
top 80 40 "$ID" <<-END
	until 2 running
	signal SIGTERM
END
is "$(tail -n 1 said)" "exit -15 wrapped 0 modes kept" "who ends it leaves the terminal as it was"
rm said
top 80 40 "$ID" <<-END &
	until 2 running
	until 4 succeeded
	key q
END
session=$!
wait_for 60 'grep -q ok said' # it shows them running
: >go
wait $session
is "$(tail -n 1 said)" "exit 0 wrapped 0 modes kept" "it shows what happens meanwhile"
ok "it ends" wait_ensemble "$ID" 60
done_testing
