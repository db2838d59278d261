#!/usr/bin/env bash
# An open ensemble takes members while it runs, in the order of their priorities, tells how they ended in the order in
# which they did, and ends once it is closed.
# shellcheck disable=SC2016 # for wait_for
TEST_LIMIT=400
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
mkfifo "$T/go"
exec 9<>"$T/go"
cat >"$T/member.sh" <<'X'
echo "{\"step\": 1, \"loss\": $1}" >>"$STRETTO_METRICS"
case $2 in
fail) exit 3 ;;
hold) read -r _ <"$3" ;;
long) [ -n "${STRETTO_RESUME:-}" ] || { echo x >"$STRETTO_CHECKPOINT_DIR/1.ckpt" && read -r _ <"$3"; } ;;
esac
X
spec() { # [JQ]
	jq -n --arg member "$T/member.sh" --arg go "$T/go" '{name: "open", width: 1, members: {command: ["sh", $member, "{x}", "{kind}", $go],
		parameters: {open: ["x", "kind"]}, retries: 0}} | '"${1:-.}"
}
suggest() { api_status POST "/v1/ensembles/$ID/suggestions" "$(jq -cn "{suggestions: $1}")"; } # LIST in the words of jq
told() { jq -c '[.suggestions[] | [.index, .name, .new]]' "$T/api.body"; }
refusal() { jq -r '"\(.code) \(.pointer)"' "$T/api.body"; }
get() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
results() { api GET "/v1/ensembles/$ID/results?after=${2:-0}" | jq -c "$1"; }
members() { wait_for 60 '[ "$(get .members.'"$1"')" = '"$2"' ]'; }

# --- specs that cannot be
refused() { # JQ CODE POINTER NAME
	spec "$1" >"$T/bad.json"
	is "$(api_status POST /v1/ensembles "@$T/bad.json") $(refusal)" "422 $2 $3" "$4"
}
P=.members.parameters
refused "$P.open = []" spec_impossible_value /members/parameters/open "no parameter"
refused "$P.open = [7]" spec_wrong_type /members/parameters/open/0 "a parameter without a name"
refused "$P.open = [\"x\", \"kind\", \"x\"]" spec_impossible_value /members/parameters/open/2 "a parameter that is named twice"
refused "$P.open[0] = \"index\"" spec_impossible_value /members/parameters/open/0 "a name that means something else"
refused "$P.count = 3" spec_unknown_key /members/parameters/count "a number of members"
refused '.members.command = ["{y}"]' spec_unfilled_placeholder /members/command/0 "a placeholder without a parameter"
refused "$P.most = 0" spec_impossible_value /members/parameters/most "room for none"
refused '.members += {artefacts: ["x"], results: "results/{x}"}' spec_impossible_value /members/results "results of which two may have one name"

# --- nothing yet
spec >"$T/spec.json"
ID=$(submit "$T/spec.json")
is "$(get '[.state, .open, .count, .notice.code]')" '["running",true,0,"waits_for_suggestions"]' "it waits for suggestions"
is "$(api GET "/v1/ensembles/$ID/members" | jq -c .members) $(api GET "/v1/ensembles/$ID/states") $(results '[.next, .results]')" '[]  [0,[]]' "it has no members"
event=$(curl -s -D - -o "$T/out" --unix-socket "$SOCKET" "http://stretto/v1/ensembles/$ID/states" | tr -d '\r' | sed -n 's/^Last-Event-ID: //p')

# --- suggestions that cannot be
wrong() { # LIST CODE POINTER NAME
	is "$(suggest "$1") $(refusal)" "422 $2 $3" "$4"
}
wrong '[]' spec_impossible_value /suggestions "none at all"
wrong '[7]' spec_wrong_type /suggestions/0 "one that is a number"
wrong '[{parameters: {x: 1, kind: "a"}}, {parameters: {x: 1}}]' spec_missing_key /suggestions/1/parameters/kind "one without a parameter"
wrong '[{parameters: {x: 1, kind: "a", y: 2}}]' spec_unknown_key /suggestions/0/parameters/y "one with another parameter"
wrong '[{parameters: {x: null, kind: "a"}}]' spec_wrong_type /suggestions/0/parameters/x "null for a value"
wrong '[{parameters: {x: 1, kind: ("a" * 70000)}}]' spec_impossible_value /suggestions/0/parameters/kind "more than a program can be given"
wrong '[{parameters: {x: 1, kind: "a"}, priority: 1.5}]' spec_wrong_type /suggestions/0/priority "half a priority"
wrong '[{parameters: {x: 1, kind: "a"}, name: ("n" * 128)}]' spec_impossible_value /suggestions/0/name "a name without end"
wrong '[range(1001) | {parameters: {x: 1, kind: "a"}}]' spec_impossible_value /suggestions "more than a thousand"
is "$(get .count)" 0 "nothing was taken of them"

# --- order, and names
is "$(suggest '[{name: "first", parameters: {x: 1.5, kind: "hold"}}]') $(told)" '201 [[0,"first",true]]' "a suggestion is a member"
members running 1
is "$(suggest '[{parameters: {x: 2, kind: "a"}}, {name: "b", parameters: {x: 3, kind: "b"}, priority: 5}, {name: "low", parameters: {x: 4, kind: "fail"}, priority: -1},
	{name: "b", parameters: {kind: "b", x: 3}}, {parameters: {x: true, kind: "c"}, priority: 5}]') $(told)" \
	'201 [[1,null,true],[2,"b",true],[3,"low",true],[2,"b",false],[4,null,true]]' "a name stands for one member, also within a call"
is "$(suggest '[{name: "b", parameters: {x: 3.0, kind: "b"}}, {name: "first", parameters: {x: 1.5, kind: "hold"}}]') $(told)" \
	'200 [[2,"b",false],[0,"first",false]]' "and in later ones"
is "$(suggest '[{parameters: {x: 9, kind: "a"}}, {name: "b", parameters: {x: 3, kind: "a"}}]') $(refusal)" \
	"409 suggestion_conflict /suggestions/1/name" "but not with other parameters, and then nothing is taken"
key() { curl -s -H 'Idempotency-Key: k1' -H 'Content-Type: application/json' -d '{"suggestions": [{"parameters": {"x": 5, "kind": "d"}, "priority": -5}]}' \
	--unix-socket "$SOCKET" "http://stretto/v1/ensembles/$ID/suggestions"; }
is "$(key | jq -c '.suggestions[].index')$(key | jq -c '.suggestions[].index') $(get .count)" "55 6" "an Idempotency-Key makes it once, too"
kill_daemon
start_daemon --config "$T/config.json"
is "$(get '[.open, .count, .members.running, .members.pending]')" '[true,6,1,5]' "they outlive the daemon"
is "$(api GET "/v1/ensembles/$ID/states?since=$event" | jq -c '.members | keys')" '["0","1","2","3","4","5"]' "whoever follows the states sees them come"
is "$(api GET "/v1/ensembles/$ID/states" | wc -c)" 6 "and the grid has them"
is "$(api GET "/v1/ensembles/$ID/members/2" | jq -c '[.state, .name, .parameters.x, .parameters.kind]')" '["pending","b",3,"b"]' "each has its name and parameters"
echo >&9
members pending 0
wait_for 60 '[ "$(get "[.members.running, .members.submitted]")" = "[0,0]" ]'
is "$(results '[.results[] | .index]')" '[0,2,4,1,3,5]' "the highest priority goes first, then the first that came"
is "$(results '.results[0, 4] | [.number, .name, .parameters.x, .state, .outcome, .metrics.loss.last * 2, .attempts]')" \
	'[1,"first",1.5,"succeeded","succeeded",3,1]
[5,"low",4,"failed","failed",8,1]' "a result has parameters, outcome and metrics"
is "$(results '[.next, (.results | map(.number))]' 4) $(results '[.next, .results]' 6)" '[6,[5,6]] [6,[]]' "and is read on from a number"
is "$(get '[.state, .notice.code]')" '["running","waits_for_suggestions"]' "what has ended is not the end"

# --- cancelled, and again
is "$(suggest '[{name: "c", parameters: {x: 6, kind: "hold"}}, {name: "d", parameters: {x: 7, kind: "a"}}]')" 201 "two more"
members running 1
is "$(api_status POST "/v1/ensembles/$ID/members/7/cancel")$(api_status POST "/v1/ensembles/$ID/members/6/cancel")" 202202 "one that waits and one that runs are cancelled"
wait_for 60 '[ "$(get .members.cancelled)" = 2 ]'
is "$(results '[.results[] | [.name, .state]]' 6)" '[["d","cancelled"],["c","cancelled"]]' "these are results, too"
is "$(api_status POST "/v1/ensembles/$ID/members/3/resubmit")" 202 "one that failed goes again"
wait_for 60 '[ "$(get .members.failed)" = 1 ] && [ "$(get .members.running)" = 0 ] && [ "$(get .members.pending)" = 0 ]'
wait_for 60 '[ "$(results "[.results[] | [.number, .name, .attempts]]" 8)" = "[[9,\"low\",2]]" ]'
is "$(results '[.results[] | .number]')" '[1,2,3,4,6,7,8,9]' "and its result has a new number, in place of the old one"

# --- the end
is "$(api_status POST "/v1/ensembles/$ID/close") $(jq -c '[.open, .state]' "$T/api.body")" '200 [false,"complete"]' "closed, it is complete"
is "$(api_status POST "/v1/ensembles/$ID/close") $(api GET "/v1/events?ensemble=$ID&kind=ensemble.closed" | jq '.events | length')" "200 1" "once"
is "$(suggest '[{parameters: {x: 1, kind: "a"}}]') $(refusal | cut -d ' ' -f 1)" "409 ensemble_over" "it takes no more"
is "$(sqlite3 -readonly "$STATE/stretto.db" 'SELECT members, final, share FROM progress')" "8|8|1.0" "its progress is that of all members"

# --- unfinished, and on in a follow-up
spec '.width = 2 | .members += {checkpoint: {glob: "*.ckpt", attempts: 100}, resources: {walltime: "4s"}}' >"$T/long.json"
ID=$(submit "$T/long.json") ROOT=$ID
suggest '[{name: "long", parameters: {x: 1, kind: "long"}}, {name: "short", parameters: {x: 2, kind: "a"}}]' >/dev/null
wait_for 60 '[ "$(get "[.members.unfinished, .members.succeeded]")" = "[1,1]" ]'
is "$(api_status POST "/v1/ensembles/$ID/follow-up" '{}') $(jq -r .code "$T/api.body")" "409 ensemble_not_over" "no follow-up before it is closed"
api POST "/v1/ensembles/$ID/close" >/dev/null
is "$(suggest '[{name: "short", parameters: {x: 2, kind: "a"}}]')" 409 "what is over takes nothing, not even again"
is "$(api_status POST "/v1/ensembles/$ID/follow-up" '{"resources": {"walltime": "5m"}}')" 201 "then there is one"
ID=$(jq .id "$T/api.body")
wait_ensemble "$ID" 60
is "$(jq -c '[.state, .count, .open]' "$T/ensemble.json")" '["complete",1,false]' "which ends"
is "$(ID=$ROOT results '[.results[] | [.ensemble, .name, .state, .parameters.x]]')" "[[$ROOT,\"short\",\"succeeded\",2],[$ID,\"long\",\"succeeded\",1]]" \
	"the result of the whole family is that of the follow-up"

# --- on the command line
spec '.width = 3' >"$T/spec.json"
ID=$(submit "$T/spec.json")
status_is 0 "stretto suggest" stretto suggest "$ID" x=0.25 kind=7th --name one --priority -3
is "$(cat "$T/out")" "$ID.0 one" "tells the member"
printf '%s\n' '{"x": 1, "kind": "a"}' '' '{"name": "two", "parameters": {"x": true, "kind": "fail"}}' '{"name": "one", "parameters": {"x": 0.25, "kind": "7th"}}' >"$T/lines"
status_is 0 "from lines of a file" stretto suggest "$ID" --file "$T/lines"
is "$(xargs <"$T/out")" "$ID.1 $ID.2 two $ID.0 one (suggested before)" "with names and without"
status_is 2 "an integer that would lose digits is refused" stretto suggest "$ID" x=0.25 kind=18446744073709551615
status_is 3 "a wrong parameter is refused" stretto suggest "$ID" x=1
like "$(cat "$T/err")" "spec_missing_key at /suggestions/0/parameters/kind" "with its place"
echo '{"x": 1' >"$T/lines"
status_is 2 "a line that is no JSON" stretto suggest "$ID" -f "$T/lines"
status_is 2 "and nothing to suggest" stretto suggest "$ID"
status_is 0 "stretto close" stretto close "$ID"
like "$(cat "$T/out")" "closed, with 3 members" "tells how many there are"
status_is 0 "stretto results --follow ends with the ensemble" stretto results "$ID" --follow
is "$(tail -n +2 "$T/out" | wc -l) $(grep -c "$ID.0 *one *succeeded *x=0.25 kind=7th *loss=0.25" "$T/out")" "3 1" "and tells each member once"
is "$(stretto --json results "$ID" --after 1 | jq -s -c 'map(.number)')" '[2,3]' "--after, as JSON"
status_is 1 "stretto wait tells that a member failed" stretto wait "$ID"

# --- without a member, and of another kind
ID=$(submit "$T/spec.json")
stretto close "$ID" >"$T/out"
status_is 0 "one that is closed without a member is complete" stretto wait "$ID"
jq '.members.parameters = {grid: {x: [1], kind: ["a"]}}' "$T/spec.json" >"$T/grid.json"
ID=$(submit "$T/grid.json")
is "$(suggest '[{parameters: {x: 1, kind: "a"}}]') $(jq -r .code "$T/api.body")" "409 ensemble_not_open" "one whose spec has all members takes none"
is "$(api_status POST "/v1/ensembles/$ID/close")$(api_status GET "/v1/ensembles/$ID/results")" 409409 "is not closed, and has no results"
wait_ensemble "$ID" 60

# --- as many as the spec lets it have
spec '.members.parameters.most = 2' >"$T/spec.json"
ID=$(submit "$T/spec.json")
is "$(suggest '[range(3) | {parameters: {x: 1, kind: "a"}}]') $(refusal | cut -d ' ' -f 1)$(get .count)" "409 ensemble_closed0" "more than most are none"
is "$(suggest '[range(2) | {parameters: {x: 1, kind: "a"}}]')" 201 "as many are taken"
is "$(suggest '[{parameters: {x: 1, kind: "a"}}]') $(jq -r .code "$T/api.body")" "409 ensemble_closed" "and then no more"
stretto close "$ID" >"$T/out"
ok "it ends" wait_ensemble "$ID" 60

# --- resources by parameters
spec '.members.parameters.open = ["x", "kind", "workers"] | .members.resources = {tasks: "{workers}"}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
wrong '[{parameters: {x: 1, kind: "a", workers: 2}}, {parameters: {x: 1, kind: "a", workers: 5}}]' resources_impossible /suggestions/1/parameters "more than there is"
wrong '[{parameters: {x: 1, kind: "a", workers: "many"}}]' spec_impossible_value /suggestions/0/parameters "no number"
is "$(suggest '[{parameters: {x: 1, kind: "hold", workers: 4}}, {parameters: {x: 1, kind: "a", workers: 1}}]')" 201 "what can run is taken"
members running 1
is "$(api_status POST "/v1/ensembles/$ID/cancel")" 202 "and cancelled while it is open"
wait_for 60 '[ "$(get "[.state, .open, .members.cancelled]")" = "[\"cancelled\",false,2]" ]'
is "$(results '.results | map(.state) | unique')" '["cancelled"]' "of which the results tell"

done_testing
