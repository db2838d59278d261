#!/usr/bin/env bash
# Ensembles that need a person are shown by the API and in the overview, however many ensembles came after them; a
# member that waits for its next attempt says until when.
TEST_LIMIT=240 MANY_RUNNERS=1
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/dashboard.sh
. "$srcdir/tests/t/dashboard.sh"
echo '{"adapters": {"local": {"slots": 60}}}' >config.json
start_daemon --config config.json
make() { # NAME COMMAND RETRIES
	jq -n --arg name "$1" --arg command "$2" --argjson retries "$3" '{name: $name, width: 2, max_same_failures: 0,
		members: {command: ["sh", "-c", $command], parameters: {grid: {i: [0, 1]}}, retries: $retries}}' >spec.json
	submit spec.json >>ids
}
for i in {1..8}; do make "half-$i" 'exit {i}' 0; done
make retried 'exit {i}' 20
for i in {10..64}; do make "fine-$i" true 0; done
for id in {1..8} {10..64}; do wait_ensemble "$id" 60 >/dev/null || bail "ensemble $id does not end"; done
for _ in {1..20}; do # the next attempt may begin just before the daemon is stopped
	wait_for 60 'api GET /v1/ensembles/9/members/1 | jq -e "(.attempts | length > 0) and .state == \"pending\"" >/dev/null' ||
		bail "no member waits for its next attempt"
	stop_daemon
	[ "$(sqlite3 "$STATE/stretto.db" "SELECT state FROM member WHERE ensemble = 9 AND idx = 1")" != pending ] || break
	start_daemon --config config.json
done
sqlite3 "$STATE/stretto.db" "UPDATE member SET not_before = not_before + 302400000 WHERE ensemble = 9 AND idx = 1;
	UPDATE ensemble SET ended = ended - 8 * 86400000 WHERE id = 1"
start_daemon --config config.json

ids() { api GET "/v1/ensembles?$1" | jq -c '[.ensembles[].id], .next' | xargs; }
is "$(ids trouble=1)" "[8,7,6,5,4,3,2] null" "those that need a person are listed, but not what ended more than a week ago"
is "$(ids "trouble=1&limit=4") $(ids "trouble=1&limit=4&cursor=5")" "[8,7,6,5] 5 [4,3,2] null" "in pages"
is "$(ids "trouble=1&state=failed") $(ids "trouble=1&name=HALF-7")" "[] null [7] null" "and of some alone"
is "$(api GET "/v1/ensembles?trouble=1" | jq -c '[.ensembles[].trouble] | unique') $(api GET /v1/ensembles/10 | jq .trouble)" \
	'["1 of 2 members has failed"] null' "each says why"
for wrong in trouble=0 trouble=yes "trouble=1&sort=name" "trouble=1&cursor=x" "trouble=1&limit=0"; do
	is "$(api_status GET "/v1/ensembles?$wrong") $(jq -r .code api.body)" "400 query_wrong_value" "$wrong is refused"
done

is "$(api GET /v1/ensembles/9/members | jq -c '[.members[].retry_at != null]')" "[false,true]" "a member that waits for its next attempt says until when"
is "$(api GET /v1/ensembles/9/members/1 | jq .retry_at)" "$(api GET /v1/ensembles/9/members | jq '.members[1].retry_at')" "the same by itself"
like "$(stretto members 9)" "1 +pending .*exit status 1; retry in 3 d" "so does stretto members"
like "$(stretto members 9.1)" $'\nretry      at 20[0-9-]+ [0-9]+:[0-9]+ \\(in 3 d\\)' "and of one member"
like "$(stretto status 9)" "the next attempt of a member that failed is made at 20[0-9-]+ [0-9]+:[0-9]+ \\(in 3 d\\)" "stretto status tells it, where nothing else goes on"

is "$(stretto status --sort name --reverse | awk 'NR < 4 { print $2 }' | xargs)" "name retried half-8" "stretto status --sort sorts, --reverse turns it round"
is "$(stretto status --sort created | awk 'NR > 1 { print $1 }' | xargs)" "$(seq 64 | xargs)" "the least is first"
is "$(stretto status --sort name --state running | awk 'NR > 1 { print $2 }' | xargs)" "retried" "of some states alone"
status_is 2 "--reverse needs --sort" stretto status --reverse
status_is 2 "--sort is for the list" stretto status 1 --sort name
status_is 3 "what cannot be sorted by is refused" stretto status --sort age
use_dashboard dashboard_needs.py "needs: no message"
api POST /v1/ensembles/9/cancel >/dev/null
done_testing
