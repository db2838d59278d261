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

# walk PATH KEY: every page's items, one a line, and the sizes of the pages in $T/sizes. No list here has more than 20 pages: a
# cursor that goes round is found by that.
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

# Members that all have a row, in pages smaller than that
id=$(api POST /v1/ensembles "$(jq -c '.members.parameters.grid.x = [range(20)] | .width = 20' <<<"$short")" | jq -r .id)
wait_ensemble "$id" 60
is "$(walk "/v1/ensembles/$id/members?limit=7" members | jq .index | tr '\n' ' ')" "$(seq -s ' ' 0 19) " "members with rows"
is "$(tr '\n' ' ' <"$T/sizes")" "7 7 6 " "in pages"
is "$(walk "/v1/ensembles/$id/members?limit=10&state=succeeded" members | wc -l) $(tr '\n' ' ' <"$T/sizes")" "20 10 10 " \
	"by state, too"

# Jobs, newest first: of a state, of an adapter
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
