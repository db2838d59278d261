#!/usr/bin/env bash
# Wrong requests: each is told what is wrong, in problem+json, and nothing changes.
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon

# raw ARGUMENT...: curl against the daemon; headers in $T/head, body in $T/body, status to stdout.
raw() { curl -s -m 300 --unix-socket "$SOCKET" -D "$T/head" -o "$T/body" -w '%{http_code}' "$@"; }
head_of() { tr -d '\r' <"$T/head" | sed -n "s/^$1: //Ip"; }
url=http://stretto

# refused STATUS CODE NAME ARGUMENT...
refused() {
	local status=$1 code=$2 name=$3 got
	shift 3
	got=$(raw "$@")
	got="$got $(head_of content-type) $(jq -r '"\(.code) \(.status) \(.title | length > 0) \(.detail | length > 0)"' "$T/body")"
	is "$got" "$status application/problem+json $code $status true true" "$name"
}
json=(-H 'Content-Type: application/json')

cat >"$T/spec.json" <<'X'
{"name": "t", "members": {"command": ["true"], "parameters": {"grid": {"x": [1, 2, 3]}}}, "width": 1}
X

refused 404 path_not_found "an unknown path" $url/nope
refused 404 path_not_found "a path with a slash too many" $url/v1/ensembles/
refused 404 path_not_found "an id that is no number" $url/v1/ensembles/abc
refused 404 path_not_found "a negative id" $url/v1/ensembles/-1
refused 404 path_not_found "an id beyond 64 bits" $url/v1/ensembles/99999999999999999999
refused 404 path_not_found "an id with a leading zero" $url/v1/ensembles/01
refused 404 path_not_found "a path of 3,000 bytes" "$url/$(printf 'x%.0s' {1..3000})"
refused 404 path_not_found "a path that is no UTF-8" "$url/%ff%fe"
refused 404 ensemble_not_found "an ensemble that is not there" $url/v1/ensembles/9223372036854775807
refused 404 ensemble_not_found "members of an ensemble that is not there" $url/v1/ensembles/7/members
refused 404 ensemble_not_found "a member of an ensemble that is not there" $url/v1/ensembles/7/members/1
refused 404 ensemble_not_found "output of an ensemble that is not there" $url/v1/ensembles/7/members/1/stdout
refused 404 ensemble_not_found "cancelling an ensemble that is not there" -X POST $url/v1/ensembles/7/cancel
refused 404 training_not_found "a training that is not there" $url/v1/trainings/1
refused 404 training_not_found "metrics of a training that is not there" $url/v1/trainings/1/metrics
refused 404 training_not_found "output of a training that is not there" $url/v1/trainings/1/stderr

refused 405 method_not_allowed "DELETE where there is none" -X DELETE $url/v1/ensembles
is "$(head_of allow)" "GET, HEAD, POST, OPTIONS" "405 says what is allowed"
refused 405 method_not_allowed "POST where there is only GET" "${json[@]}" -d '{}' $url/healthz
refused 405 method_not_allowed "an unheard-of method" -X BREW $url/healthz
is "$(raw -X OPTIONS $url/v1/ensembles/1/cancel) $(head_of allow)" "204 POST, OPTIONS" "OPTIONS says it, too"
is "$(raw -I -w ' %{http_code} %{size_download}' $url/healthz) $(head_of content-length)" " 200 0 16" "HEAD is GET without the body"

refused 400 query_unknown_parameter "an unknown query parameter" "$url/v1/ensembles?offset=3"
like "$(jq -r .detail "$T/body")" 'offset.*limit cursor' "it is named, with those that are known"
refused 400 query_unknown_parameter "thousands of them" "$url/v1/ensembles?$(printf 'a%d&' {1..3000})"
refused 400 query_wrong_value "a known one thousands of times" "$url/v1/ensembles?$(printf 'limit=1&%.0s' {1..2000})"
for value in 0 -1 1001 abc 1e3 1.5 99999999999999999999 '' '%31%00'; do
	refused 400 query_wrong_value "limit=$value" "$url/v1/ensembles?limit=$value"
done
refused 400 query_wrong_value "limit twice" "$url/v1/ensembles?limit=1&limit=2"
refused 400 query_wrong_value "a parameter without a value" "$url/v1/ensembles?limit"
refused 400 query_wrong_value "a wrong cursor" "$url/v1/ensembles?cursor=zzz"

refused 415 body_not_json "curl's default content type" -d "@$T/spec.json" $url/v1/ensembles
like "$(jq -r .detail "$T/body")" "-H 'Content-Type: application/json'" "it says what to write"
refused 415 body_not_json "JSON in another character set" -H 'Content-Type: application/json; charset=latin1' \
	-d "@$T/spec.json" $url/v1/ensembles
refused 400 json_malformed "no body" -X POST $url/v1/ensembles
printf '{"name": "x",\n  "members": }' >"$T/bad.json"
refused 400 json_malformed "broken JSON" "${json[@]}" --data-binary "@$T/bad.json" $url/v1/ensembles
is "$(jq -r '"\(.line):\(.column)"' "$T/body")" "2:14" "it says where"
refused 400 json_malformed "a key given twice" "${json[@]}" -d '{"name": "a", "name": "b"}' $url/v1/ensembles
refused 400 json_malformed "an integer beyond 64 bits" "${json[@]}" -d '{"width": 123456789012345678901234567890}' $url/v1/ensembles
refused 400 json_malformed "a real beyond a double" "${json[@]}" -d '{"width": 1e999}' $url/v1/ensembles
refused 400 json_malformed "NaN" "${json[@]}" -d '{"width": NaN}' $url/v1/ensembles
refused 400 json_malformed "a NUL in a string" "${json[@]}" -d '{"name": "a\u0000b"}' $url/v1/ensembles
printf '{"name": "\xff\xfe", "members": {}}' >"$T/bad.json"
refused 400 json_malformed "bytes that are no UTF-8" "${json[@]}" --data-binary "@$T/bad.json" $url/v1/ensembles
printf '{"a\xffb": 1' >"$T/bad.json"
refused 400 json_malformed "a key that is no UTF-8" "${json[@]}" --data-binary "@$T/bad.json" $url/v1/ensembles
printf 'x\0y' >"$T/bad.json"
refused 400 json_malformed "a NUL in the body" "${json[@]}" --data-binary "@$T/bad.json" $url/v1/ensembles
python3 -c 'print("[" * 10000 + "]" * 10000)' >"$T/bad.json"
refused 400 json_malformed "arrays nested 10,000 deep" "${json[@]}" --data-binary "@$T/bad.json" $url/v1/ensembles
python3 -c 'print("{\"a\":" * 10000 + "1" + "}" * 10000)' >"$T/bad.json"
refused 400 json_malformed "objects nested 10,000 deep" "${json[@]}" --data-binary "@$T/bad.json" $url/v1/ensembles
refused 422 spec_wrong_type "an array" "${json[@]}" -d '[1, 2]' $url/v1/ensembles
refused 422 spec_unknown_key "a body where none is taken" "${json[@]}" -d '{"now": true}' -X POST $url/v1/ensembles/1/cancel
refused 400 idempotency_key_invalid "an Idempotency-Key with a blank" "${json[@]}" -H 'Idempotency-Key: a b' \
	-d "@$T/spec.json" $url/v1/ensembles
refused 400 idempotency_key_invalid "an Idempotency-Key of 201 bytes" "${json[@]}" \
	-H "Idempotency-Key: $(printf 'k%.0s' {1..201})" -d "@$T/spec.json" $url/v1/ensembles

# Nothing of all this has left a trace.
is "$(api GET /v1/ensembles)" '{"ensembles":[],"next":null}' "there is no ensemble"
is "$(for table in ensemble tally member job attempt training event idempotency; do
	sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM $table"
done | sort -u)" 0 "nothing is in the database"
is "$(raw $url/)" 200 "the daemon still answers"

done_testing
