#!/usr/bin/env bash
# Members are found by states, indices, parameters, host and cause of failure, in lists, as states and by command; what
# is found is what a look at every member finds.
MANY_RUNNERS=1
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
cat >"$T/member" <<'X'
#!/bin/sh
[ "$1" != 3 ] || { echo "mesh $2 is broken" >&2; exit 3; }
[ "$1" != 4 ] || exit 4
X
chmod +x "$T/member"
# 240 points; the last named parameter varies fastest
jq -n --arg member "$T/member" '{name: "f", width: 8, max_same_failures: 0, members: {command: [$member, "{a}", "{n}"], retries: 0,
	parameters: {grid: {a: [1, 2, 3, 4], on: [true, false], s: ["x", "y z", "5"], n: [range(10)]}}}}' >spec.json
id=$(submit spec.json)
wait_ensemble "$id" 100
api GET "/v1/ensembles/$id/members?limit=1000" >all.json
# find QUERY...: the indices that the list answers, page by page, and "|" between pages
find() {
	local args=() cursor= word
	for word; do args+=(--data-urlencode "$word"); done
	while :; do
		curl -s -m 300 -G --unix-socket "$SOCKET" "http://stretto/v1/ensembles/$id/members" "${args[@]}" ${cursor:+-d cursor=$cursor} >page
		jq -r 'if .members then [.members[].index] | join(" ") else .code end' page
		cursor=$(jq -r '.next // ""' page)
		[ -n "$cursor" ] || return 0
	done | paste -s -d '|'
}
# same NAME JQ-CONDITION QUERY...: what is found is what a look at every member finds, in lists and among the states
same() {
	local name=$1 wanted
	wanted=$(jq -r "[.members[] | select($2) | .index] | join(\" \")" all.json)
	shift 2
	is "$(find "$@" limit=1000)" "$wanted" "$name (${wanted:0:24}…)"
}

# Sorted by what attempts took and used: in order, in pages of any size, each once
# in_order SORT ORDER JQ-VALUE QUERY...: the values go one way, those without one come last, and all members are there
in_order() {
	local name=$1 order=$2 value=$3 wanted
	shift 3
	wanted=$(curl -s -m 300 -G --unix-socket "$SOCKET" "http://stretto/v1/ensembles/$id/members" -d limit=1000 "$@" | jq -r '[.members[].index] | join(" ")')
	curl -s -m 300 -G --unix-socket "$SOCKET" "http://stretto/v1/ensembles/$id/members" -d limit=1000 -d sort="$name" -d order="$order" "$@" >sorted.json
	ok "sorted by $name, $order" jq -e "[.members[] | $value] | . == ((map(values) | sort $([ "$order" = asc ] || echo '| reverse')) + map(select(. == null)))" sorted.json
	is "$(jq -r '[.members[].index] | sort | join(" ")' sorted.json)" "$wanted" "and all of them are there"
	is "$(find limit=7 sort="$name" order="$order" "${@/#-d/limit=7}" | tr '|' ' ')" "$(jq -r '[.members[].index] | join(" ")' sorted.json)" "the same in small pages"
}
in_order memory desc .last_attempt.memory_peak
in_order cpu asc .last_attempt.cpu_seconds
in_order attempts desc .attempts
ok "sorted by what they took" jq -e '[.members[].last_attempt | (.ended | sub("\\.(?<ms>[0-9]+)Z"; "Z") | fromdate) - (.started | sub("\\.(?<ms>[0-9]+)Z"; "Z") | fromdate)] | .[0] >= .[-1]' \
	<<<"$(api GET "/v1/ensembles/$id/members?sort=took&order=desc&limit=240")"
is "$(find sort=memory state=failed limit=1000 | tr ' ' '\n' | sort -n | xargs)" "$(jq -r '[.members[] | select(.state == "failed") | .index] | join(" ")' all.json)" "of those that a filter finds"
for wrong in sort=size sort=index order=asc "sort=cpu order=up" "sort=cpu cursor=x" "sort=cpu cursor=1:" "sort=cpu cursor=1:nan" "sort=cpu cursor=-1"; do
	# shellcheck disable=SC2086 # words
	is "$(find $wrong)" query_wrong_value "not $wrong"
done
# states QUERY...: the indices of the members that are told
states() {
	local args=() word
	for word; do args+=(--data-urlencode "$word"); done
	curl -s -m 300 -G --unix-socket "$SOCKET" "http://stretto/v1/ensembles/$id/states" "${args[@]}" | fold -w 1 | awk '$1 != "-" { print NR - 1 }' | xargs
}

same "two states" '.state == "failed" or .state == "running"' state=failed,running
same "a range of indices" '.index >= 30 and .index <= 33' from=30 to=33
same "an open one" '.index >= 230' from=230
same "one beyond the last member" 'false' from=240
is "$(find state=failed,running cursor=5000)" "" "a page beyond the last member"
same "a range of a parameter" '.parameters.n >= 2 and .parameters.n <= 3.5' 'where={"n": [2, 3.5]}'
same "of which an end is missing" '.parameters.n <= 1' 'where={"n": [null, 1]}'
same "a number" '.parameters.a == 2' 'where={"a": 2.0}'
same "a text" '.parameters.s == "y z"' 'where={"s": "y z"}'
same "a text that looks like a number" '.parameters.s == "5"' 'where={"s": "5"}'
same "which is no number" 'false' 'where={"s": 5}'
same "a boolean" '.parameters.on == false' 'where={"on": false}'
same "several parameters" '.parameters.on and .parameters.s == "x" and .parameters.n > 7.5' 'where={"on": true, "s": "x", "n": [7.5, null]}'
same "a state and parameters" '.state == "failed" and .parameters.n == 0' state=failed 'where={"n": 0}'
same "a cause" '.parameters.a == 3' 'cause=exit status 3: mesh # is broken'
same "the other, with a parameter and a range" '.parameters.a == 4 and .parameters.n == 1 and .index > 200' 'cause=exit status 4' 'where={"n": 1}' from=201
same "a cause that none had" 'false' cause=none
same "a host" 'true' "host=$(jq -r '.members[0].last_attempt.host' all.json)"
same "no host" 'false' host=nowhere
for failure in 0 1; do
	cause=$(api GET "/v1/ensembles/$id/failures" | jq -r ".failures[$failure].cause")
	is "$(find "cause=$cause" limit=1000 | wc -w)" "$(api GET "/v1/ensembles/$id/failures" | jq -r ".failures[$failure].members")" "as many as are told of: $cause"
done
is "$(states 'where={"n": 9}')" "$(find 'where={"n": 9}')" "the states of those only"
is "$(states cause='exit status 4')" "$(find cause='exit status 4' limit=1000)" "and by cause"
is "$(states 'where={"n": 9}' host=nowhere)" "" "of none"
is "$(find 'where={"n": 4}' limit=5 | tr '|' ' ' | wc -w) $(find 'where={"n": 4}' limit=5 | tr '|' '\n' | wc -l)" "24 5" "in pages"
is "$(find 'where={"n": 4}' limit=5 | tr '|' ' ')" "$(find 'where={"n": 4}')" "that go on where the one before ended"
is "$(find index=7,3,239)" "7 3 239" "just these"
for query in state=lazy state=failed, state=, from=-1 'where=[1]' 'where={"q": 1}' 'where={"n": [1]}' 'where={"n": ["a", 2]}' 'where={"n": {}}' 'where={"n": 1' index=240 index=1, index=x; do
	is "$(find "$query")" query_wrong_value "refused: $query"
done
is "$(find from=3 to=2)" query_wrong_value "refused: an end before the beginning"
is "$(api_status GET "/v1/ensembles/$id/states?since=0&host=x") $(jq -r .code "$T/api.body")" "400 query_wrong_value" "changes are of all members"

# --- by command
listed() { stretto members "$@" "$id" | awk 'NR > 1 { print $1 }' | xargs; }
is "$(listed --state failed,cancelled --where n=2..3 --where s=x)" "$(find state=failed 'where={"n": [2, 3], "s": "x"}')" "the command has them, too"
is "$(listed -w n=..0 -w 's="5"' -w on=false)" "$(find 'where={"n": [null, 0], "s": "5", "on": false}')" "ends that are missing, texts and booleans"
is "$(listed -w 's=y z' --from 100 --to 130)" "$(find from=100 to=130 'where={"s": "y z"}')" "blanks and indices"
is "$(listed --cause 'exit status 4' --host nowhere)" "" "cause and host"
status_is 2 "a condition without a value" stretto members --where n "$id"
status_is 2 "a parameter twice" stretto members --where n=1 --where n=2 "$id"
status_is 2 "one member needs none" stretto members --where n=1 "$id.3"

# --- others: an ensemble under way, drawn parameters, a file of rows, a follow-up
of() { id=$1; api GET "/v1/ensembles/$id/members?limit=1000" >all.json; }
spec() { jq -n --argjson parameters "$1" '{name: "o", width: 2, members: {command: ["sh", "-c", "exec sleep 600"], parameters: $parameters}}' >spec.json; submit spec.json; }
of "$(spec '{"method": "halton", "count": 900, "seed": 3, "space": {"u": [0, 1], "v": [-5, 5]}}')"
wait_for 60 '[ "$(api GET /v1/ensembles/'"$id"' | jq .members.running)" = 2 ]'
of "$id"
same "drawn ones, of an ensemble under way" '.parameters.u < 0.25 and .parameters.v > 2' 'where={"u": [0, 0.25], "v": [2, 5]}'
same "those under way" '.state == "running"' state=running,submitted from=0
api POST "/v1/ensembles/$id/cancel" >"$T/out"
for n in {0..59}; do echo "{\"k\": $((n % 7)), \"w\": \"t$((n % 2))\"}"; done >"$T/rows.jsonl"
of "$(spec "{\"file\": \"$T/rows.jsonl\"}")"
same "of a file" '.parameters.k == 3 and .parameters.w == "t1"' 'where={"k": 3, "w": "t1"}'
api POST "/v1/ensembles/$id/cancel" >"$T/out"
wait_ensemble "$id" 60
follow=$(api POST "/v1/ensembles/1/follow-up" '{"states": ["failed"]}' | jq -r .id)
wait_ensemble "$follow" 100
of "$follow"
same "of a follow-up" '.parameters.n == 5 and .parameters.s == "x"' 'where={"n": 5, "s": "x"}'
is "$(states 'where={"n": 5, "s": "x"}')" "$(find 'where={"n": 5, "s": "x"}')" "whose states are as well"

# --- lists and objects: as JSON for programs, found by value and by what is inside
jq -n '{name: "structures", members: {command: ["printf", "%s\n", "{net}", "{opt.name}", "{opt.betas.1}", "{net.0}"], parameters: {grid: {
	net: [[64, 64], [128], [64, "x"]], opt: [{name: "adam", betas: [0.9, 0.999]}, {name: "sgd", betas: [0, 0.5]}]}}}}' >spec.json
of "$(submit spec.json)"
wait_ensemble "$id" 60
of "$id"
same "a list of two numbers" '.parameters.net == [64, 64]' 'where={"net": [64, 64.0]}'
same "another list" '.parameters.net == [128]' 'where={"net": [128]}'
same "an object" '.parameters.opt.name == "sgd"' 'where={"opt": {"betas": [0, 0.5], "name": "sgd"}}'
same "what is inside of it" '.parameters.opt.name == "adam" and .parameters.net[0] == 64' 'where={"opt.name": "adam", "net.0": 64}'
same "a range of that" '.parameters.opt.betas[1] > 0.9' 'where={"opt.betas.1": [0.9, null]}'
is "$(listed -w 'net=[64,"x"]') $(listed -w opt.name=sgd -w net.0=100..)" "4 5 3" "by command"
is "$(api GET "/v1/ensembles/$id/members/0/stdout" | paste -s)" "$(printf '[64,64]\tadam\t0.999\t64')" "programs get JSON, or what is inside"
is "$(api GET "/v1/ensembles/$id/members/1" | jq -c .parameters)" '{"net":[64,64],"opt":{"betas":[0,0.5],"name":"sgd"}}' "and the API has them"
like "$(stretto members "$id")" 'net=\[64,64\] opt=\{"betas":\[0\.9,0\.999\],"name":"adam"\}' "lists have them, too"
printf '{"net": [1, 2]}\n{"net": {"1": "x"}}\n{"net": [1]}\n' >"$T/nets.jsonl"
jq --arg file "$T/nets.jsonl" '.members.parameters = {file: $file} | .members.command = ["echo", "{net.1}"]' spec.json >rows.json
of "$(submit rows.json)"
wait_ensemble "$id" 60
is "$(api GET "/v1/ensembles/$id/members" | jq -r '[.members[].state] | join(" ")')" "succeeded succeeded failed" "a row without what is reached for"
like "$(api GET "/v1/ensembles/$id/members/2" | jq -r '"\(.reason) \(.attempts | length)"')" 'nothing fills \{net\.1\} in an argument 1$' "fails once, with the reason"

# --- more than one turn of the loop looks at: found at the far end, and nobody waits for that
of "$(spec '{"method": "monte-carlo", "count": 60000, "seed": 1, "space": {"u": [0, 1]}}')"
u=$(api GET "/v1/ensembles/$id/members/59999" | jq .parameters.u)
is "$(find "where={\"u\": $u}")" 59999 "the last of 60,000"
is "$(states "where={\"u\": $u}")" 59999 "whose state is told alone"
api POST "/v1/ensembles/$id/cancel" >"$T/out"
of "$(spec '{"method": "monte-carlo", "count": 1000000000, "seed": 1, "space": {"u": [0, 1]}}')"
curl -s -m 600 -G --unix-socket "$SOCKET" "http://stretto/v1/ensembles/$id/members" --data-urlencode 'where={"u": 2}' >"$T/never" &
searching=$!
for _ in {1..20}; do api GET "/v1/ensembles/$id/members/5" | jq -r .index; done | sort | uniq -c | xargs >asked
is "$(cat asked)" "20 5" "others are answered while a billion are looked at"
ok "which goes on" kill -0 $searching
kill $searching
wait $searching 2>/dev/null
api POST "/v1/ensembles/$id/cancel" >"$T/out"
wait_ensemble "$id" 60

# Members without a value come after those with one, and none is left out, also where most were never tried
jq -n '{name: "untried", width: 2, members: {command: ["sh", "-c", "test {i} -lt 3 || exec sleep 10000"], retries: 0, parameters: {grid: {i: [range(3000)]}}}}' >spec.json
id=$(submit spec.json)
wait_for 60 '[ "$(api GET /v1/ensembles/'"$id"' | jq -c "[.members.succeeded, .members.running]")" = "[3,2]" ]' || bail "nothing runs"
for order in asc desc; do
	find limit=1000 sort=memory order=$order | tr '| ' '\n\n' >found
	is "$(head -n 3 found | sort -n | xargs)|$(tail -n +4 found | md5sum)" "0 1 2|$(seq 3 2999 | md5sum)" "3,000 members by memory, $order: first the three that have used some"
done
is "$(find limit=1000 sort=attempts order=desc | tr '| ' '\n\n' | md5sum)" "$(seq 0 2999 | md5sum)" "by attempts: first the five that had one"
api POST "/v1/ensembles/$id/cancel" >/dev/null
wait_ensemble "$id" 60
done_testing
