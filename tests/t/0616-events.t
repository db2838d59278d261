#!/usr/bin/env bash
# stretto events: what has happened, and what happens, each event once, over deaths of the daemon.
# shellcheck disable=SC2016,SC2086 # for wait_for; JQ_SORTS
MANY_RUNNERS=1
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
# eight at a time, as they are let go
jq -n --arg go "$T/go" '{name: "many", members: {command: ["sh", "-c", "until test -e \($go)$(($0 / 8)); do sleep 0.05; done
	test $0 != 3 && exit 0; printf \"\\033[31mtorn \\342\\200\\256\\n\" >&2; exit 3", "{i}"], retries: 0,
	parameters: {grid: {i: [range(40)]}}}, width: 2}' >many.json
ID=$(submit many.json)
all() { # QUERY: the ids of all events, page by page
	local after=0 page
	while page=$(api GET "/v1/events?limit=1000&after=$after$1"); do
		jq '.events[].id' <<<"$page"
		after=$(jq -r '.next // empty' <<<"$page")
		[ -n "$after" ] || break
	done
}

# --- live, while the daemon dies again and again
stretto events --follow --json "$ID" >followed 2>followed.err &
follower=$!
stretto events --follow --json --after now "$ID" >from-now 2>/dev/null &
second=$!
admitted() { api GET /metrics | sed -n 's/^stretto_connections{state="admitted"} //p'; }
wait_for 60 '[ "$(admitted)" = 3 ]' || bail "two do not follow"
for n in 8 16 24; do
	: >go$((n / 8 - 1))
	ok "it follows" wait_for 60 "[ \$(grep -c attempt.ended followed) -ge $n ]"
	kill_daemon
	[ "$n" -gt 8 ] || ok "it says that the daemon is away" wait_for 60 'grep -q "trying until it is back" followed.err'
	start_daemon
done
: >go3
: >go4
ok "it ends" wait_ensemble "$ID" 60
ok "it follows to the end" wait_for 60 'grep -q "\"ensemble.complete\"" followed'
ok "from then on, too" wait_for 60 'grep -q "\"ensemble.complete\"" from-now'
OTHER=$(submit many.json)
wait_ensemble "$OTHER" 60
kill -INT $follower $second
wait $follower
is $? 130 "Ctrl-C ends it"
wait $second
is "$(jq .id followed | xargs)" "$(all "&ensemble=$ID" | xargs)" "each event once, in order"
is "$(jq .ensemble followed | sort -u)" "$ID" "of this ensemble alone"
is "$(jq .id from-now | xargs)" "$(jq .id followed | awk -v first="$(head -n 1 from-now | jq .id)" '$1 >= first' | xargs)" "from the first on, each once, too"

# --- what was
is "$(stretto events --json | jq .id | xargs)" "$(all '' | xargs)" "all events, as the API has them"
is "$(stretto events --json "$OTHER" | jq $JQ_SORTS -c . | head -n 3)" "$(api GET "/v1/events?ensemble=$OTHER&limit=3" | jq $JQ_SORTS -c '.events[]')" "each is the object of the API"
is "$(stretto events --kind attempt.ended "$OTHER" | wc -l)" 40 "of one kind"
is "$(stretto events --json --after "$(jq .id followed | tail -n 2 | head -n 1)" "$ID" | jq -r .kind)" "ensemble.complete" "after an event"
is "$(stretto events --after now | wc -l)" 0 "after all"
like "$(stretto events "$ID" | head -n 1)" "^[0-9]+  20[0-9TZ:.-]+  $ID +ensemble.submitted " "a line tells who, when and what"
like "$(stretto events --kind attempt.ended "$ID")" " $ID\.3 +attempt.ended .*torn" "and why"
is "$(stretto events "$ID" | grep -c $'\e\|\u202e')" 0 "in a way that does nothing to a terminal"
status_is 3 "not of an ensemble that is not there" stretto events 4711
status_is 2 "no such number" stretto events --after x
done_testing
