#!/usr/bin/env bash
# Arguments and environments that no program can be given are refused with their place, and a member of a stored spec
# that has them fails with the reason: the daemon goes on, and starts again.
. "${srcdir:-.}/tests/t/lib.sh"

echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
# made LENGTH TEXT: the text so many times
made() { head -c "$(($1 * ${#2}))" < <(yes "$2" | tr -d '\n'); }
made 60000 x >"$T/long"
made 131071 y >"$T/limit"
spec() { # JQ-CHANGE [OPTION...]
	jq -n -c --rawfile long "$T/long" --rawfile limit "$T/limit" "${@:2}" '{name: "t", members: {command: ["sh", "-c", "exit 0", "{a}"],
		parameters: {grid: {a: ["b", $long]}}, retries: 3}, width: 2, pack: 2} | '"$1" >"$T/spec.json"
}
# refused POINTER JQ-CHANGE [OPTION...]
refused() {
	local got
	spec "$2" "${@:3}"
	got=$(api_status POST /v1/ensembles "@$T/spec.json")
	is "$got $(jq -r '"\(.code) \(.pointer)"' "$T/api.body")" "422 spec_impossible_value $1" "refused at $1"
}
made 1000000 "{a}" >"$T/million"
refused /members/command/3 '.members.command[3] = $million' --rawfile million "$T/million"
refused /members/command/4 '.members.command += ["{a}{a}{a}"]'
refused /members/command/3 '.members.command[3] = $limit + "y"'
refused /members/env/E '.members.env = {D: "{a}", E: $limit}'
refused /members/checkpoint/resume/0 '.members.checkpoint = {resume: ["{a}{a}{checkpoint}{a}"]}'
refused /members '.members.command += [range(40) | "{a}"]'
refused /members/parameters/grid '.members.parameters.grid += {b: [$long], c: [$long]}'
refused /training/command/1 '.training = {command: ["x", $limit + "y"], fields: {u: {dtype: "float32", shape: [4]}}}'
refused /pack '.pack = 2000'
jq -n -c --rawfile long "$T/long" '{a: "b"}, {a: $long}' >"$T/rows.jsonl"
refused /members/command/3 '.members.parameters = {file: $rows} | .members.command[3] = "{a}{a}{a}"' --arg rows "$T/rows.jsonl"
is "$(sqlite3 -readonly "$STATE/stretto.db" 'SELECT count(*) FROM ensemble')" 0 "nothing is stored"
ok "the copy of the file is removed" wait_for 30 '[ -z "$(find "$STATE/parameters" -type f)" ]'

spec '.members.command[3] = "{a}{a}"'
is "$(api_status POST /v1/ensembles "@$T/spec.json")" 201 "what a program can be given is accepted"
wait_ensemble 1 60
is "$(jq -c '[.state, .members.succeeded]' "$T/ensemble.json")" '["complete",2]' "and runs"
spec '.members.command[3] = $limit'
is "$(api_status POST /v1/ensembles "@$T/spec.json")" 201 "so is an argument as long as the kernel allows"
wait_ensemble 2 60
is "$(jq -c '[.state, .members.succeeded]' "$T/ensemble.json")" '["complete",2]' "and runs"

# one that is stored all the same, as daemons before this one did: it is paused while it is changed
spec .
api POST /v1/ensembles "@$T/spec.json" >/dev/null
wait_ensemble 3 60
mkfifo "$T/go"
jq -n --arg script "read x <>'$T/go'" '{name: "hold", members: {command: ["sh", "-c", $script], parameters: {grid: {i: [1, 2]}}}, width: 1}' \
	>"$T/hold.json"
is "$(api_status POST /v1/ensembles "@$T/hold.json")" 201 "one whose second member is still to come"
wait_for 30 '[ "$(api GET /v1/ensembles/4 | jq .members.running)" = 1 ]' || bail "nothing runs"
api POST /v1/ensembles/4/pause >/dev/null
spec '.members.parameters.grid = {a: ["b", $long]} | .members.command[3] = $million | .members.retries = 3' --rawfile million "$T/million"
stop_daemon
python3 - "$STATE/stretto.db" "$T/spec.json" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE ensemble SET spec = ? WHERE id = 4", (open(sys.argv[2]).read(),))
db.commit()
END
start_daemon --config "$T/config.json"
api POST /v1/ensembles/4/resume >/dev/null
echo >"$T/go"
wait_ensemble 4 60
is "$(jq -c '[.members.succeeded, .members.failed]' "$T/ensemble.json")" "[1,1]" "the member fails"
like "$(api GET /v1/ensembles/4/members/1 | jq -r .reason)" "can never be started: an argument has more than" "with the reason"
is "$(api GET /v1/ensembles/4/members/1 | jq '.attempts | length')" 1 "and is not tried again"
kill_daemon
start_daemon --config "$T/config.json"
is "$(api GET /v1/ensembles/4 | jq -c '[.members.succeeded, .members.failed]')" "[1,1]" "the daemon starts again"

# of a packed job only the member that is too large fails
packed='.members.parameters.grid.a = ["b", "b", $long, "b"]'
spec "$packed"' | .width = 1 | .pack = 1 | .members.command = ["sh", "-c", $script]' --arg script "read x <>'$T/go'"
is "$(api_status POST /v1/ensembles "@$T/spec.json")" 201 "one more"
wait_for 30 '[ "$(api GET /v1/ensembles/5 | jq .members.running)" = 1 ]' || bail "nothing runs"
api POST /v1/ensembles/5/pause >/dev/null
spec "$packed"' | .members.command[3] = "{a}{a}{a}" | .pack = 3 | .width = 4'
stop_daemon
python3 - "$STATE/stretto.db" "$T/spec.json" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE ensemble SET spec = ?, width = 4 WHERE id = 5", (open(sys.argv[2]).read(),))
db.commit()
END
start_daemon --config "$T/config.json"
api POST /v1/ensembles/5/resume >/dev/null
echo >"$T/go"
wait_ensemble 5 20
is "$(jq -c '[.members.succeeded, .members.failed]' "$T/ensemble.json")" "[3,1]" "of a packed job only the member that is too large fails"
is "$(api GET /v1/ensembles/5/members/2 | jq -r .state)" failed "that one"

done_testing
