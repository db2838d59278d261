#!/usr/bin/env bash
# The reason why an ensemble does not go on: the same sentence in the API, `stretto status` and `stretto wait`, about
# who takes the slots, who has paused it, and who waits for whom. (test_engine_notice has all causes, in virtual time.)
. "${srcdir:-.}/tests/t/lib.sh"

echo '{"adapters": {"local": {"slots": 1}}}' >config.json
start_daemon --config config.json --listen tcp:127.0.0.1:0
URL=$(jq -r '.listeners[] | select(.url // "" | startswith("http")) | .url' "$STATE/listen.json")
notice() { api GET "/v1/ensembles/$1" | jq -r '"\(.notice.code): \(.notice.text)"'; }

# --- who takes the slots
jq -n --arg go "$T/go" '{name: "first", members: {command: ["sh", "-c", "until [ -e \($go) ]; do sleep 0.05; done"], parameters: {grid: {x: [1]}}}}' >first.json
jq '.name = "second"' first.json >second.json
ok "an ensemble takes the only slot" stretto submit first.json
ok "it runs" wait_for 30 'api GET /v1/ensembles/1 | jq -e ".members.running == 1"'
ok "a second one waits behind it" stretto submit second.json
ok "which it says" wait_for 60 'notice 2 | grep -q "ensemble 1 takes 1 slot\$"'
# The same sentence with its times, which people are told by the clock of their machine, left out
timeless() { sed -E 's/20[0-9]{2}-[0-9-]+T[0-9:.]+Z/TIME/g; s/(20[0-9]{2}-[0-9-]+ )?[0-9]{2}:[0-9]{2} \([0-9a-z ]+\)/TIME/g'; }
# It becomes another one when jobs have been in the queue for a while.
sentence() { api GET /v1/ensembles/2 | jq -r .notice.text | timeless; }
like "$(notice 2)" "^(queued: its jobs wait in the queue of local since|no_slot: its members wait for free slots on local)" "and what it waits for"
ok "status says the same" wait_for 30 'stretto status 2 | timeless | tr -s " " | grep -q -x -F "waiting $(sentence)"'
stretto wait 2 >waited.out 2>waited.err &
waiter=$!
ok "so does wait" wait_for 30 'timeless <waited.err | grep -q -F "ensemble 2 waits: $(sentence)"'

# --- who has paused it
ok "it is paused here" stretto pause 2
like "$(notice 2)" "^paused: it was paused over the daemon's Unix socket at 20[0-9TZ:.-]+: .stretto resume 2. lets it go on" "which is told, and when"
ok "wait tells it, too" wait_for 30 'grep -q -F "it was paused over the" waited.err'
LOCAL="it was paused over the daemon's Unix socket at (20[0-9-]+ )?[0-9]{2}:[0-9]{2} \\((now|[0-9]+ (s|min) ago)\\): .stretto resume 2. lets it go on"
like "$(cat waited.err)" "$LOCAL" "by the clock of whoever waits"
like "$(stretto status 2)" "$LOCAL" "as status does"
ok "it goes on" stretto resume 2
TOKEN=$(stretto token create --role operator --label $'cron \e[31m<b>' 2>err)
ok "somebody else pauses it by a token" env "STRETTO_URL=$URL" "STRETTO_TOKEN=$TOKEN" stretto pause 2
like "$(notice 2)" "^paused: it was paused by token 1 \(cron " "whose number and label are told"
is "$(stretto status 2 | grep -c $'\e')" 0 "and do nothing to a terminal"
is "$(api GET '/v1/events?kind=ensemble.paused' | jq -c '[.events[].detail.by | .[:10]]')" '["over the d","by token 1"]' "the events say who it was, too"
ok "it goes on" stretto resume 2
: >go
ok "both end" wait_ensemble 2 60
wait $waiter

# --- who waits for whom: a rank that keeps to docs/run-directory.md, and by its own clock has waited for eight of ten seconds
cat >rank <<'X'
#!/usr/bin/env bash
set -eu
cd "$STRETTO_TRAINING_DIR"
whole() { cat >"$1.tmp" && mv "$1.tmp" "$1"; }
status() { echo "{\"version\": 1, \"generation\": 1, \"rank\": 0, \"time\": $2, \"state\": \"$1\", \"received\": 5, \"sample_wait_seconds\": $3, \"room_wait_seconds\": 0}"; }
status receiving 1000 50 | whole status-rank0.json
echo '{"version": 1, "generation": 1, "rank": 0, "ranks": 1, "host": "here", "endpoints": ["ipc:///nowhere"]}' | whole ../stream/g1-rank0.json
until [ -e "$0.read" ]; do sleep 0.05; done
status receiving 1010 58 | whole status-rank0.json
until [ -e reception.json ]; do sleep 0.05; done
status done 1010 58 | whole done-rank0.json
X
chmod +x rank
stop_daemon
echo '{"adapters": {"local": {"slots": 4}}}' >config.json
start_daemon --config config.json
jq --arg go "$T/go" --arg rank "$T/rank" '.name = "stream" | .training = {streams: "optional", command: [$rank], fields: {f: {dtype: "float32", shape: [2]}}}' first.json >stream.json
rm go
ID=$(submit stream.json)
ok "its member runs" wait_for 60 'api GET "/v1/ensembles/$ID" | jq -e ".members.running == 1"'
is "$(api GET "/v1/ensembles/$ID" | jq -c '[.notice, .training.waits]')" '[null,null]' "at first nothing is known"
ok "the first figures are read" wait_for 60 'api GET "/v1/trainings/1" | jq -e ".received == 5"'
: >rank.read
ok "it says who waits for whom" wait_for 60 'notice $ID | grep -q "^waits_for_samples: its training waits for samples 80 % of the time"'
is "$(api GET "/v1/ensembles/$ID" | jq -c '.training.waits | [.for_samples, .for_room == 0]')" '[0.8,true]' "with figures for programs"
: >go
ok "it ends" wait_ensemble "$ID" 60
is "$(jq -c '[.state, .notice, .training.waits]' ensemble.json)" '["complete",null,null]' "and waits no more"

# --- a run directory that is full
stop_daemon
mkdir -m 700 small
if mount -t tmpfs -o size=256k,mode=700 tmpfs "$T/small" 2>/dev/null; then
	jq -n '{name: "full", members: {command: ["true"], parameters: {grid: {i: [0]}}}}' >full.json
	rm -r "$STATE"
	start_daemon --run-dir "$T/small"
	dd if=/dev/zero of=small/fill bs=1k 2>/dev/null
	ID=$(submit full.json)
	ok "nothing can be started in it, and the notice says so" wait_for 60 'notice $ID | grep -q "^queued: .*there is no room for its directories"'
	rm small/fill
	ok "it goes on when there is room" wait_ensemble "$ID" 60
	is "$(jq -c '[.state, .notice]' ensemble.json)" '["complete",null]' "to its end"
	# and one that can only be read
	jq --arg ran "$T/ran" '.members.command = ["sh", "-c", "echo {i} >>\($ran)"] | .members.parameters.grid.i = [0, 1, 2] | .name = "read-only"' full.json >ro.json
	mount -o remount,ro "$T/small"
	ID=$(submit ro.json)
	ok "nothing can be started in one that is read-only either" wait_for 60 'notice $ID | grep -q "^queued: .*the run directory is read-only"'
	tries=$(grep -c "cannot start its runner: .*read-only" "$DAEMON_LOG") back=$(grep -c "back into the queue: .*read-only" "$DAEMON_LOG")
	mount -o remount,rw "$T/small"
	ok "it goes on when that can be written" wait_ensemble "$ID" 60
	is "$(jq -c '[.state, .notice, .members.succeeded]' ensemble.json)" '["complete",null,3]' "to its end"
	is "$(sort ran | tr '\n' ' ')" "0 1 2 " "each member ran once"
	like "$tries $back" '^[1-3] [0-3]$' "the log says it once for each job"
	stop_daemon
	umount "$T/small"
else
	skip "needs the right to mount a small tmpfs"
fi
done_testing
