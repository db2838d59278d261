#!/usr/bin/env bash
# Failures by cause: how many members and attempts each had, and one of them with the end of what it wrote.
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
cat >"$T/member" <<'X'
#!/bin/sh
case $(($1 % 4)) in
0) exit 0 ;;
1) for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "line $n of $1" >&2; done; echo "mesh $1 is broken" >&2; exit 3 ;;
2) echo "cannot read /data/run-$1/mesh: no such file" >&2; exit 3 ;;
3) [ -e "$HOME/mended" ] || exit 4 ;;
esac
X
chmod +x "$T/member"
spec() { jq -nc --arg member "$T/member" --argjson n "$1" --argjson retries "$2" '{name: "f", width: 2, max_same_failures: 0, members: {command: [$member, "{i}"],
	retries: $retries, parameters: {grid: {i: [range($n)]}}}}'; }
id=$(api POST /v1/ensembles "$(spec 14 0)" | jq -r .id)
wait_ensemble "$id" 60
failures() { api GET "/v1/ensembles/$1/failures${2:-}"; }
is "$(failures "$id" | jq -c '.total, (.failures[] | [.outcome, .members, .attempts])' | tr '\n' ' ')" '3 ["failed",4,4] ["failed",3,3] ["failed",3,3] ' \
	"equal causes fall together, the most frequent first"
is "$(failures "$id" | jq -r '[.failures[].cause] | sort | .[]')" "exit status 3: cannot read /…: no such file
exit status 3: mesh # is broken
exit status 4" "whatever numbers and paths are in them; exit statuses stay"
broken='.failures[] | select(.cause | test("mesh #")).example'
n=$(failures "$id" | jq "$broken.member")
is "$((n % 4)) $(failures "$id" | jq -r "$broken | .attempt, .reason")" "1 1
exit status 3: mesh $n is broken" "with an example"
is "$(failures "$id" | jq -r "$broken.stderr")" "$(printf "line %s of $n\n" 4 5 6 7 8 9 10 11 12)
mesh $n is broken" "and its last lines"
is "$(failures "$id" "?limit=1" | jq -c '[.total, (.failures | length)]')" '[3,1]' "fewer, if wanted"
is "$(api_status GET "/v1/ensembles/$id/failures?limit=0") $(api_status GET "/v1/ensembles/9/failures")" "400 404" "bad requests"
stretto status "$id" >"$T/out"
like "$(cat "$T/out")" "attempt 1 of $id\.[0-9]+ failed: exit status 3.*in this way: 4 attempts of 4 members" "status says so"
like "$(cat "$T/out")" "    mesh $n is broken" "with the last lines"

# tried again: the same member counts once, its attempts each; those that were mended remain as they were
api POST "/v1/ensembles/$id/resubmit" '{"states": ["failed"]}' >"$T/out"
wait_ensemble "$id" 60
is "$(failures "$id" | jq -c '.failures[] | [.members, .attempts]' | tr '\n' ' ')" '[4,8] [3,6] [3,6] ' "attempts are counted, and members once"
touch "$HOME/mended"
api POST "/v1/ensembles/$id/resubmit" '{"states": ["failed"]}' >"$T/out"
wait_ensemble "$id" 60
is "$(failures "$id" | jq -c '.failures[] | [.members, .attempts]' | sort | tr '\n' ' ')" '[3,6] [3,9] [4,12] ' "what has gone well since is no failure"

# what was let go, or was never written
rm -r "${STATE:?}/run/e$id"
is "$(failures "$id" | jq -c '[.failures[].example.stderr] | unique')" '[null]' "output that is not there is null"
id=$(api POST /v1/ensembles "$(spec 1 0)" | jq -r .id)
wait_ensemble "$id" 60
is "$(failures "$id" | jq -c '[.total, .failures]')" '[0,[]]' "none failed"
stretto status "$id" >"$T/out"
is "$(grep -c "failed:" "$T/out")" 0 "status of that says nothing of failures"

# more causes than are told apart
id=$(api POST /v1/ensembles "$(spec 3 0 | jq -c '.members.command[1] = "1"')" | jq -r .id)
wait_ensemble "$id" 60
is "$(failures "$id" | jq -c '[.total, .failures[0].members]')" '[1,3]' "one cause of three members"
stop_daemon
sqlite3 "$STATE/stretto.db" "DELETE FROM cause WHERE ensemble = $id;
	WITH RECURSIVE s (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM s WHERE i < 500)
	INSERT INTO cause SELECT $id, 'failed', 'cause ' || hex(i), 1, 1, 0, 1 FROM s"
start_daemon
api POST "/v1/ensembles/$id/resubmit" '{"states": ["failed"]}' >"$T/out"
wait_ensemble "$id" 60
is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*), sum(attempts) FROM cause WHERE ensemble = $id")" '501|503' "of very many causes the rest are counted together"
is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT attempts FROM cause WHERE ensemble = $id AND text = '(other causes)'")" 3 "and called so"

done_testing
