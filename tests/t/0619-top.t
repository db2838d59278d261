#!/usr/bin/env bash
# stretto top on a terminal: refreshed in place, ended by q and by Ctrl-C, stopped and gone on with; and through a pipe.
. "${srcdir:-.}/tests/t/lib.sh"
export LC_ALL=C.UTF-8 TERM=xterm

# top COLUMNS LINES [ID]: the orders on standard input (pty_session.py) while it runs; $T/bytes, and $T/said with how it
# ended. Whatever it waits for in vain ends the test, since each such wait is long.
top() {
	"$T/bin/python3" "$srcdir/tests/t/pty_session.py" "$1" "$2" stretto top "${@:3}" >bytes 2>said
	! grep -q '^not ok' said || bail "stretto top ${*:3} on $1 columns and $2 lines: $(cat said)"
}

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
	parameters: {grid: {x: [range(4)]}}}, width: 2, training: {streams: "optional", command: [$rank], fields: {f: {dtype: "float32", shape: [2]}}}}' >spec.json
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

# --- on a terminal; where it gets another size, lines that were under way before may be longer than the new one
top 80 40 "$ID" <<-END
	until 2 running
	until never drawn
	until train_loss
	key q
END
is "$(cut -d ' ' -f 1-5 said | xargs)" "ok ok ok ok exit 0 wrapped 0 modes" "q ends it"
like "$(tail -n 1 said)" "modes kept" "the terminal is as it was"
is "$(tr -d '\r' <bytes | grep -c $'\\]\e\\[K')" 0 "no line is erased behind its last character, which would take that away"
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
top 80 40 "$ID" <<-END
	until 2 running
	size 30 20
	until [$(printf 'p%.0s' {1..14})$(printf 'r%.0s' {1..14})]
	size 100 8
	until [$(printf 'p%.0s' {1..49})$(printf 'r%.0s' {1..49})]
	gone never drawn
	size 100 40
	until never drawn
	key ^Z
	signal SIGTSTP
	size 60 30
	until [$(printf 'p%.0s' {1..29})$(printf 'r%.0s' {1..29})]
	key q
END
like "$(tail -n 1 said)" "^exit 0 wrapped [0-9]+ modes kept$" "it is as large as the terminal is, and is not stopped where nobody could continue it"

# A shell with job control: the terminal is the shell's as it was while top is stopped, also if it goes on in the
# background.
cat >in-shell <<-X
	PS1='\$ '
	told() { stty -a | grep -o -E -- '-?(icanon|echo)\b' | xargs echo \$1; }
	none_left() { while [ -n "\$(jobs -s; jobs -r)" ]; do sleep 0.1; done; } # \`wait\` returns at once where a job was stopped
	one_stopped() { until [ -n "\$(jobs -s)" ]; do sleep 0.1; done; }
X
"$T/bin/python3" "$srcdir/tests/t/pty_session.py" 80 30 bash --rcfile in-shell --noediting -i >bytes 2>said <<-END
	type told first
	until first icanon echo
	type stretto top $ID
	until 2 running
	until train_loss
	key ^Z
	until Stopped
	gone train_loss
	type told stopped
	until stopped icanon echo
	type fg
	until train_loss
	gone told stopped
	size 60 20
	until [$(printf 'p%.0s' {1..29})$(printf 'r%.0s' {1..29})]
	key ^Z
	until Stopped
	type bg
	type one_stopped; told background
	until background icanon echo
	type fg
	until 2 running
	key q
	gone 2 running
	type told ended
	until ended icanon echo
	type stretto top &
	type one_stopped; fg
	until waiting
	key ^Z
	until Stopped
	type kill %1; none_left; told killed
	until killed icanon echo
	type exit 7
END
like "$(grep -v '^ok$' said)" "^exit 7 wrapped [0-9]+ modes kept$" "Ctrl-Z stops it, the shell's terminal is as it was, and fg draws it again"
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

# --- more ensembles than lines, those that are over aside
is "$(stretto top | wc -l)" 1 "none is left"
ids=
jq '{name: "held", members: {command: ["sleep", "600"], parameters: {grid: {x: [1]}}}, width: 1}' -n >held.json
for _ in {1..9}; do ids+=" $(submit held.json)"; done
stretto pause 5 >out
api POST /v1/ensembles/3/cancel '{}' >out
wait_ensemble 3 60
is "$(stretto status --state running,paused | awk 'NR > 1 { print $1 }' | xargs)" "10 9 8 7 6 5 4 2" "status --state lists those in a state"
is "$(stretto top | awk 'NR > 1 { print $1 }' | xargs)" "10 9 8 7 6 5 4 2" "top has all that are not over, where it is no terminal"
top 80 6 <<-END
	until and older ones
	size 80 20
	gone and older ones
	until 2  held
	key q
END
is "$(tail -n 1 said)" "exit 0 wrapped 0 modes kept" "as many as there are lines for, and that there are more"
for id in $ids; do api POST "/v1/ensembles/$id/cancel" '{}' >out && wait_ensemble "$id" 60; done
done_testing
