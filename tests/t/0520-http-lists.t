#!/usr/bin/env bash
# Lists go by cursor: ensembles newest first, members by index, also those to which nothing has happened.
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
# Two members under way, 2,498 without a row: the first ends, the second keeps the place.
spec='{"name": "wide", "members": {"command": ["sh", "-c", "[ {i} = 0 ] || exec sleep 600"],
       "parameters": {"grid": {"i": []}}, "retries": 0}, "width": 1}'
id=$(api POST /v1/ensembles "$(jq -c '.members.parameters.grid.i = [range(2500)]' <<<"$spec")" | jq -r .id)
wait_for 30 '[ "$(api GET /v1/ensembles/'"$id"' | jq .members.succeeded,.members.running | tr "\n" " ")" = "1 1 " ]'
is "$(sqlite3 -readonly "$STATE/stretto.db" 'SELECT count(*) < 10 FROM member')" 1 "few members have a row"

# walk PATH KEY: every page's items, one a line, and the sizes of the pages in $T/sizes. No list here has more than 20
# pages: a cursor that goes round is found by that.
walk() {
	local path=$1 key=$2 cursor=
	: >"$T/sizes"
	for _ in {1..20}; do
		api GET "$path${cursor:+&cursor=$cursor}" >"$T/page" || return
		jq -c ".${key}[]" "$T/page"
		jq ".$key | length" "$T/page" >>"$T/sizes"
		cursor=$(jq -r '.next // ""' "$T/page")
		[ -n "$cursor" ] || return 0
	done
	echo "after 20 pages, $path still goes on at $cursor"
	return 1
}

is "$(walk "/v1/ensembles/$id/members?limit=400" members | jq .index | md5sum)" "$(seq 0 2499 | md5sum)" \
	"2,500 members, each once, in order"
is "$(tr '\n' ' ' <"$T/sizes")" "400 400 400 400 400 400 100 " "in pages of what was asked for"
is "$(api GET "/v1/ensembles/$id/members" | jq '.members | length')" 100 "100 by default"
for limit in 1 2 3; do # a page may end among those with a row, behind them, or behind the first without one
	is "$(api GET "/v1/ensembles/$id/members?limit=$limit" | jq -c '[[.members[].index], .next]')" \
		"[$(jq -n -c "[range($limit)]"),\"$limit\"]" "a page of $limit ends where the next begins"
done
is "$(walk "/v1/ensembles/$id/members?limit=1000&state=pending" members | jq .index | md5sum)" \
	"$(seq 2 2499 | md5sum)" "the pending ones"
is "$(walk "/v1/ensembles/$id/members?limit=1000&state=succeeded" members | jq -c '[.index, .attempts, .parameters.i]')" \
	"[0,1,0]" "the one that succeeded"
is "$(walk "/v1/ensembles/$id/members?limit=1&state=running" members | jq .index)" 1 "the one that runs"
is "$(cat "$T/sizes")" 1 "a page that is just full is the last"
is "$(api GET "/v1/ensembles/$id/members?state=failed")" '{"members":[],"next":null}' "none failed"
is "$(api GET "/v1/ensembles/$id/members?cursor=2499" | jq -c '[.members[].index], .next')" $'[2499]\nnull' "the last one"
is "$(api GET "/v1/ensembles/$id/members?cursor=2500" | jq -c '.members, .next')" $'[]\nnull' "beyond the last one"
is "$(api_status GET "/v1/ensembles/$id/members?state=lazy") $(jq -r .code "$T/api.body")" "400 query_wrong_value" \
	"an unknown state"
is "$(api GET "/v1/ensembles/$id/members/2499" | jq -c '[.state, .parameters.i, .attempts, (.seed | type)]')" \
	'["pending",2499,[],"string"]' "a member without a row"
is "$(api_status GET "/v1/ensembles/$id/members/2500") $(jq -r .code "$T/api.body")" "404 member_not_found" "one too many"
is "$(api_status GET "/v1/ensembles/$id/members/2499/stdout") $(jq -r .code "$T/api.body")" "404 output_not_found" \
	"output of a member that has not started"

# Cancelled: those without a row, too.
is "$(api_status POST "/v1/ensembles/$id/cancel")" 202 "cancelling is accepted"
is "$(api_status POST "/v1/ensembles/$id/cancel" '{}')" 202 "twice, too"
ok "it ends" wait_ensemble "$id" 60
wait_for 30 '[ "$(api GET /v1/ensembles/'"$id"' | jq .members.cancelled)" = 2499 ]'
is "$(jq -c '[.state, .members.pending, .members.succeeded]' <(api GET "/v1/ensembles/$id"))" '["cancelled",0,1]' "cancelled"
is "$(walk "/v1/ensembles/$id/members?limit=1000&state=cancelled" members | jq .index | md5sum)" \
	"$(seq 1 2499 | md5sum)" "the cancelled members"
is "$(walk "/v1/ensembles/$id/members?limit=1000&state=pending" members)" "" "none is pending"
wait_for 30 '[ "$(api GET /v1/ensembles/'"$id"'/members/1 | jq -r ".attempts[0].state")" = ended ]'

# Ensembles
short='{"name": "s", "members": {"command": ["true"], "parameters": {"grid": {"x": [1]}}}, "width": 1}'
for _ in 1 2 3 4 5 6; do api POST /v1/ensembles "$short" >"$T/out"; done
is "$(walk '/v1/ensembles?limit=3' ensembles | jq .id | tr '\n' ' ')" "7 6 5 4 3 2 1 " "ensembles, newest first"
is "$(tr '\n' ' ' <"$T/sizes")" "3 3 1 " "in pages"
is "$(walk '/v1/ensembles?limit=7' ensembles | wc -l) $(cat "$T/sizes")" "7 7" "a page that is just full is the last"
for i in 2 3 4 5 6 7; do wait_ensemble "$i" 60; done

# Ensembles by state: 1 is cancelled, 2 to 7 are complete, 8 has failed, 9 and 10 are paused, 11 runs
api POST /v1/ensembles "$(jq -c '.members.command = ["false"]' <<<"$short")" >"$T/out"
wait_ensemble 8 60
for _ in 9 10 11; do api POST /v1/ensembles "$(jq -c '.members.command = ["sleep", "600"]' <<<"$short")" >"$T/out"; done
for i in 9 10; do api POST "/v1/ensembles/$i/pause" '{}' >"$T/out"; done
of_state() { walk "/v1/ensembles?limit=${2:-100}&state=$1${3:-}" ensembles | jq .id | xargs; }
is "$(of_state failed)" "8" "ensembles in a state"
is "$(of_state running,paused)" "11 10 9" "in one of two"
is "$(of_state running,paused,complete 4) in $(xargs <"$T/sizes")" "11 10 9 7 6 5 4 3 2 in 4 4 1" "in one of three, in pages"
is "$(of_state failed,cancelled,complete,paused,running 6)" "$(walk /v1/ensembles?limit=1000 ensembles | jq .id | xargs)" "in any"
is "$(of_state cancelled,cancelled 1) in $(xargs <"$T/sizes")" "1 in 1" "said twice"
is "$(of_state paused 100 '&family=9')|$(of_state running,failed 100 '&family=9')" "9|" "of a family"
for wrong in lazy running, ,paused running,pending Running run "running%20,paused"; do
	is "$(api_status GET "/v1/ensembles?state=$wrong") $(jq -r .code "$T/api.body")" "400 query_wrong_value" "not state=$wrong"
done
like "$(jq -r .detail "$T/api.body")" '^query parameter "state" must be running, paused, complete, cancelled or failed, or some of them with commas, not "running ,paused"$' \
	"the reason names the parameter, and what it may be"
for i in 9 10 11; do api POST "/v1/ensembles/$i/cancel" '{}' >"$T/out" && wait_ensemble "$i" 60; done
is "$(of_state running,paused)|$(of_state cancelled)" "|11 10 9 1" "what ends is in the list of its new state"

# Members that all have a row, in pages smaller than that
id=$(api POST /v1/ensembles "$(jq -c '.members.parameters.grid.x = [range(20)] | .width = 20' <<<"$short")" | jq -r .id)
wait_ensemble "$id" 60
is "$(walk "/v1/ensembles/$id/members?limit=7" members | jq .index | tr '\n' ' ')" "$(seq -s ' ' 0 19) " "members with rows"
is "$(tr '\n' ' ' <"$T/sizes")" "7 7 6 " "in pages"
is "$(walk "/v1/ensembles/$id/members?limit=10&state=succeeded" members | wc -l) $(tr '\n' ' ' <"$T/sizes")" "20 10 10 " \
	"by state, too"

# Jobs, newest first: of a state, of an adapter
wait_for 120 '[ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM job WHERE state != '"'ended'"'")" = 0 ]' || bail "a job does not end"
jobs=$(sqlite3 -readonly "$STATE/stretto.db" "SELECT id FROM job WHERE state = 'ended' ORDER BY id DESC")
n=$(wc -l <<<"$jobs")
ok "there are 20 jobs and more ($n)" test "$n" -gt 20
is "$(walk '/v1/jobs?limit=5&state=ended' jobs | jq .id)" "$jobs" "all jobs that have ended, each once, newest first"
is "$(walk '/v1/jobs?limit=5' jobs | jq .id)" "$jobs" "all jobs"
is "$(walk "/v1/jobs?limit=3&ensemble=$id&state=ended" jobs | jq .id)" "$(head -n 20 <<<"$jobs")" "those of an ensemble"
is "$(walk '/v1/jobs?limit=5&state=ended&adapter=local' jobs | jq .id)" "$jobs" "those of the adapter that ran them"
is "$(walk '/v1/jobs?limit=5&state=ended&adapter=slurm' jobs)" "" "none of another"
is "$(walk '/v1/jobs?limit=5&state=running' jobs)" "" "none runs"
is "$(api_status GET '/v1/jobs?adapter=nope') $(jq -r .code "$T/api.body")" "400 query_wrong_value" "an unknown adapter"

done_testing
