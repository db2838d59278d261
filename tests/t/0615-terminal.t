#!/usr/bin/env bash
# The output at a terminal: ages, colours unless NO_COLOR is set, tables no wider than it is, families as one. And the
# output through a pipe: the same without escapes, and JSON as the API has it.
. "${srcdir:-.}/tests/t/lib.sh"
export LC_ALL=C.UTF-8 TERM=xterm

# on COLUMNS COMMAND...: what it prints on a terminal of that width; how it ended in $T/ended
on() { "$T/bin/python3" "$srcdir/tests/t/pty_session.py" "$1" 30 "${@:2}" </dev/null 2>"$T/ended" | tr -d '\r'; }
plain() { sed $'s/\e\\[[0-9;]*m//g'; }

start_daemon
RTL=$'\u202e'
jq -n --arg name "mesh $RTL of a study with a name that is far too long for any terminal, really" '{name: $name, members: {command:
	["sh", "-c", "test $0 != 1 || exit 3", "{i}"], retries: 0, parameters: {grid: {i: [0, 1]}}}}' >one.json
ID=$(submit one.json)
ok "it has ended" wait_ensemble "$ID" 60

# --- ages
like "$(stretto status)" ' (now|[0-9]+ (s|min) ago)' "the list tells ages"
is "$(stretto status | grep -c -E 'T[0-9]{2}:[0-9]{2}')" 0 "and no times of UTC"
like "$(stretto status "$ID")" $'\nsubmitted +(now|[0-9]+ (s|min) ago)\n' "so does one ensemble"
is "$(stretto status "$ID" --json | jq -r .created)" "$(jq -r .created ensemble.json)" "JSON has the time itself"
sqlite3 "$STATE/stretto.db" 'SELECT 1' >/dev/null
stop_daemon
sqlite3 "$STATE/stretto.db" "UPDATE ensemble SET created = (unixepoch() - 3 * 3600 - 60) * 1000"
start_daemon
like "$(stretto status "$ID")" $'\nsubmitted +3 h ago\n' "three hours are told as such"

# --- names
is "$(stretto status | grep -c "$RTL")" 0 "a name turns no text around"

# --- what members printed, which a terminal would obey
jq -n '{name: "orders", members: {command: ["printf", "{text}"], parameters: {grid: {text:
	["a\\033[31mred\\033]0;title\\007 \\342\\200\\256turned\\tb\\n", "\\033[31mred\\033[0m\\n"]}}}}' >orders.json
ORDERS=$(submit orders.json)
ok "members print escapes" wait_ensemble "$ORDERS" 60
is "$(on 80 stretto logs "$ORDERS.0" | plain)" $'a^[[31mred^[]0;title^G <U+202E>turned\tb' "on a terminal they are shown"
is "$(on 80 stretto logs -f "$ORDERS.0" | plain)" $'a^[[31mred^[]0;title^G <U+202E>turned\tb' "also where it is followed"
is "$(on 80 stretto logs --raw "$ORDERS.1")" $'\e[31mred\e[0m' "unless they are wanted"
is "$(stretto logs "$ORDERS.0")" $'a\e[31mred\e]0;title\a \u202eturned\tb' "and in a pipe nothing is changed"

# --- colours
like "$(on 200 stretto status "$ID")" $'\e\[31mfailed' "failed members are red"
is "$(NO_COLOR=1 on 200 stretto status "$ID" | grep -c $'\e')" 0 "not with NO_COLOR"
is "$(TERM=dumb on 200 stretto status "$ID" | grep -c $'\e')" 0 "nor on a terminal that has none"
is "$(stretto status "$ID" | grep -c $'\e')" 0 "nor in a pipe"
is "$(on 200 stretto status "$ID" | plain)" "$(stretto status "$ID")" "and the text is the same"
is "$(cut -d ' ' -f 1-2 ended)" "exit 0" "which is all that was asked for"

# --- tables
for columns in 40 80 100; do
	like "$(on $columns stretto status | plain)" "complete" "the list on $columns columns"
	like "$(cat ended)" "exit 0 wrapped 0 " "has no line that is too long"
done
like "$(on 80 stretto status | plain)" $'mesh +of a.*… +complete' "what is cut says so, and the rest is there"
like "$(stretto status)" 'far too long for any terminal, really +complete' "in a pipe nothing is cut"
ok "members of one that failed" on 60 stretto members "$ID"
like "$(cat ended)" "exit 0 wrapped 0 " "fit, too"

# --- families
jq -n '{name: "family", members: {command: ["sh", "-c", "test $0 = 0", "{i}"], retries: 0, parameters: {grid: {i: [0, 1, 2]}}}}' >family.json
FIRST=$(submit family.json)
ok "an ensemble ends" wait_ensemble "$FIRST" 60
stretto follow-up --state failed "$FIRST" >/dev/null
LAST=$(api GET "/v1/ensembles/$FIRST" | jq .family.newest)
ok "its follow-up, too" wait_ensemble "$LAST" 60
is "$(stretto status | grep -c family)" 1 "they are one row"
like "$(stretto status | grep family)" "^ *$FIRST\.\.$LAST +family +failed +3/3 +0 +2 " "with the members of both, and the numbers of the first and the last"
is "$(stretto status | awk 'NR > 1 { print $1 }' | xargs)" "$FIRST..$LAST $ORDERS $ID" "the newest first, each once"
is "$(stretto status --all | grep -c family)" 2 "or two, if asked for"
is "$(stretto status --json | jq -c '[.ensembles[].id]')" "[$LAST,$FIRST,$ORDERS,$ID]" "JSON has all"
like "$(stretto status "$LAST")" "family     1 follow-up, the last $LAST, failed: 1 succeeded, 2 failed" "the follow-up tells of its family, too"
done_testing
