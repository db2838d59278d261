#!/usr/bin/env bash
# Sessions of web browsers: how they begin, by links and by tokens, what they are known by, how many there are, and how
# they end.
TEST_LIMIT=120
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
unset SSH_CONNECTION

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
	-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$T/key.pem" -out "$T/cert.pem" 2>"$T/err" || bail "openssl: $(cat "$T/err")"
chmod 600 "$T/key.pem"
start_daemon --listen tcp:127.0.0.1:0
url_of() { jq -r '.listeners[].url | select(startswith("http"))' "$STATE/listen.json"; }
URL=$(url_of)
sql() { sqlite3 -cmd '.timeout 60000' "$STATE/stretto.db" "$@"; }
code() { jq -r .code "$T/body"; }
cookie_of() { tr -d '\r' <"$T/head" | sed -n 's/^set-cookie: //Ip'; }

ORIGIN='Origin: http://localhost:8787'

# post BODY [CURL ARGUMENT...]: POST /v1/sessions as the page does; the status to stdout, the reply in $T/body and
# $T/head
post() {
	local body=$1
	shift
	curl -s -m 100 -D "$T/head" -o "$T/body" -w '%{http_code}' --unix-socket "$SOCKET" -H "$ORIGIN" \
		-H 'Content-Type: application/json' -d "$body" "$@" http://localhost:8787/v1/sessions
}
# begin LOGIN: a session; its place and cookie in $PLACE and $COOKIE
begin() {
	[ "$(post "{\"login\": \"$1\"}")" = 201 ] || diag "$(cat "$T/body")"
	PLACE=$(jq -r .place "$T/body")
	COOKIE=$(cookie_of | sed 's/;.*//')
}
login() { api POST /v1/logins "{\"role\": \"${1:-reader}\"}" | jq -r .login; }
# in_session METHOD PATH [CURL ARGUMENT...]: status and code
in_session() {
	local method=$1 path=$2
	shift 2
	curl -s -m 100 -D "$T/head" -o "$T/body" -w '%{http_code} ' -X "$method" --unix-socket "$SOCKET" -H "$ORIGIN" \
		-H "Cookie: $COOKIE" "$@" "http://localhost:8787/$PLACE${path#/}"
	jq -r '.code // ""' "$T/body"
}

# --- a link

status_is 0 "stretto dashboard" stretto dashboard
like "$(cat out)" "ssh -L 8787:$SOCKET [^ ]*@$(hostname)"$'\n' "names the way to the socket"
like "$(cat out)" "\($(hostname) is what this machine calls itself\. If your machine cannot reach it, replace it" "and what to do where it is another name outside"
like "$(cat out)" 'http://localhost:8787/#login=[A-Za-z0-9_-]{43}'$'\n' "and the link"
like "$(cat out)" "$URL/#login=[A-Za-z0-9_-]{43}"$'\n' "and where the daemon listens besides"
is "$(sed -n 's/.*#login=//p' out | sort -u | wc -l)" 1 "which is the same link"
like "$(cat out)" "The page may look, until (20[0-9-]+ )?[0-9]+:[0-9]+ \\(in [0-9]+ (h|min)\\)" "and what it may"
first=$(sed -n 's/.*#login=//p' out | head -n 1)
like "$(stretto dashboard --operator --port 9000 --expires 30d)" 'ssh -L 9000:.*http://localhost:9000/#login=.*look and change things' "with its options"
mkdir "$T/a b"
ln -s "$STATE" "$T/a b/state"
like "$(STRETTO_URL="unix:$T/a b/state/stretto.sock" stretto dashboard)" "ssh -L '8787:$T/a b/state/stretto.sock' " "a path with a blank is quoted"
odd="$T/it's \"\$(x)\" \`y\`"
mkdir "$odd"
ln -s "$STATE" "$odd/state"
eval "set -- $(STRETTO_URL="unix:$odd/state/stretto.sock" stretto dashboard | sed -n "s/^ *ssh -L //p")"
is "$1" "8787:$odd/state/stretto.sock" "one with quotes and what a shell expands is the same word again in a shell"
status_is 2 "no such port" stretto dashboard --port 65536
status_is 2 "--list makes no link" stretto dashboard --list --operator
status_is 3 "it lasts 30 days at most" stretto dashboard --expires 31d
is "$(sql 'SELECT count(*), sum(role = '"'operator'"') FROM login')" "4|1" "a reader's, unless an operator's is asked for"
like "$(SSH_CONNECTION='198.51.100.9 50000 192.0.2.7 22' stretto dashboard)" "ssh -L 8787:$SOCKET [^ ]*@192\.0\.2\.7"$'\n' "over ssh it is the address to which that came"
like "$(SSH_CONNECTION='2001:db8::9 50000 2001:db8::7 22' stretto dashboard)" "@2001:db8::7"$'\n' "of IPv6, too"
for address in 127.0.0.1 ::1 '$(id)' 'fe80::1%eth0'; do
	like "$(SSH_CONNECTION="198.51.100.9 50000 $address 22" stretto dashboard)" "@$(hostname)"$'\n' "not \"$address\""
done

begin "$first"
is "$(jq -c '[.role, .token, .last_used, (.place | test("^s/[A-Za-z0-9_-]{22}/$"))]' "$T/body")" '["reader",null,null,true]' "it begins a session"
like "$(cookie_of)" "^stretto=[A-Za-z0-9_-]{43}; Path=/${PLACE%/}; Max-Age=4[23][0-9]{3}; HttpOnly; SameSite=Strict$" \
	"whose cookie scripts do not see, other sites do not send, and that is for its place alone"
is "$(in_session GET /v1/sessions/current) $(jq -r .id "$T/body")" "200  1" "the session answers"
is "$(in_session POST /v1/logins)" "403 role_insufficient" "and begins no other one"
is "$(post "{\"login\": \"$first\"}") $(code)" "403 login_invalid" "the link is good for nothing more"
is "$(sql 'SELECT count(*) FROM session')" 1 "and has begun one session"
sql "UPDATE login SET expires = 1 WHERE rowid = (SELECT max(rowid) FROM login)" # the daemon looks at each itself
old=$(login)
sql "UPDATE login SET expires = CAST(strftime('%s', 'now') AS INTEGER) * 1000 - 1 WHERE rowid = (SELECT max(rowid) FROM login)"
is "$(post "{\"login\": \"$old\"}") $(code)" "403 login_invalid" "a link that has expired is refused"
is "$(sql 'SELECT count(*) FROM session')" 1 "and begins none"
good=$(login)
for wrong in "${good%?}" "${good}A" x 'stretto_1_x'; do
	is "$(post "{\"login\": \"$wrong\"}") $(code)" "403 login_invalid" "one that never was, of ${#wrong} bytes"
done
for body in '{}' '[]' '{"login": ""}' '{"login": 7}' "{\"login\": \"$good\", \"role\": \"operator\"}" "{\"login\": \"$good\", \"path\": \"x\"}" \
	"{\"login\": \"$good\", \"path\": \"/x\"}" "{\"login\": \"$good\", \"path\": \"/; Domain=evil.example/\"}" \
	"{\"login\": \"$good\", \"path\": \"/\\r\\nX: 1/\"}" "{\"login\": \"$good\", \"path\": \"/$(printf 'x%.0s' {1..200})/\"}"; do
	is "$(post "$body")" 422 "what is no login: ${body:0:40}"
done
is "$(post "{\"login\": \"$(printf 'x%.0s' {1..5000})\"}") $(code)" "413 body_too_large" "nor is a large body"
is "$(ORIGIN='Origin: https://localhost:8787' post "{\"login\": \"$good\", \"path\": \"/user/a@b/proxy/\"}")" 201 "a page behind a proxy begins one"
like "$(cookie_of)" '; Path=/user/a@b/proxy/s/[^/]*; .*SameSite=Strict; Secure$' "whose cookie has the proxy's path, and its encryption"

# --- what it is known by

place=$PLACE cookie=$COOKIE
begin "$(login operator)"
is "$(in_session GET /v1/ensembles)" "200 " "another session"
COOKIE=$cookie
is "$(in_session GET /v1/ensembles)" "403 session_missing" "the place of one and the cookie of another are none"
PLACE=$place COOKIE=
is "$(in_session GET /v1/ensembles)" "403 session_missing" "nor is a place without a cookie"
PLACE='' COOKIE=$cookie
is "$(in_session GET /v1/ensembles)" "403 session_missing" "nor a cookie without a place"
PLACE=$place COOKIE="${cookie%?}"
is "$(in_session GET /v1/ensembles)" "403 session_missing" "nor half a cookie"
COOKIE=$cookie
is "$(ORIGIN=X: in_session GET /v1/ensembles)" "200 " "who has both is asked for no more"
is "$(in_session GET /v1/nothing)" "404 path_not_found" "paths are looked up behind the place"
is "$(in_session OPTIONS /v1/ensembles) $(tr -d '\r' <"$T/head" | sed -n 's/^allow: //Ip')" "204  GET, HEAD, POST, OPTIONS" "and methods"
for secret in "${place#s/}" "${cookie#stretto=}" "$good" "$first"; do
	is "$(grep -l -F -e "${secret%/}" "$DAEMON_LOG" "$STATE"/stretto.db* "$STATE"/*.json)" "" "no log and no file has a secret of it"
done

# --- a restart, and a crash

kill_daemon
start_daemon --listen tcp:127.0.0.1:0
URL=$(url_of)
is "$(in_session GET /v1/sessions/current) $(jq -r .id "$T/body")" "200  1" "a session survives a crash of the daemon"
is "$(post "{\"login\": \"$first\"}") $(code)" "403 login_invalid" "and a used link stays used"

# --- how it ends

curl -s -N -m 300 --unix-socket "$SOCKET" -H "Cookie: $COOKIE" -H 'Accept: text/event-stream' "http://localhost:8787/${PLACE}v1/events" >"$T/stream" &
stream=$!
# shellcheck disable=SC2016 # for wait_for
ok "it has an event stream" wait_for 20 'test -s "$T/stream"'
is "$(ORIGIN=X: in_session DELETE /v1/sessions/current)" "403 origin_not_allowed" "no other page logs out"
is "$(in_session DELETE /v1/sessions/current)" "200 " "its own page does, also a reader's"
is "$(cookie_of)" "stretto=; Path=/${PLACE%/}; Max-Age=0; HttpOnly; SameSite=Strict" "the browser forgets the cookie"
is "$(in_session GET /v1/ensembles)" "403 session_missing" "who has kept it has nothing"
# shellcheck disable=SC2016 # for wait_for
ok "and the event stream ends" wait_for 20 '! kill -0 $stream'
kill $stream 2>/dev/null
wait $stream
is "$(api GET /v1/sessions/current | jq -r .code)" session_not_found "who is no browser has no session"

begin "$(login)"
like "$(stretto dashboard --list)" $'^id +role +token +created.*\n *[0-9]+ +reader ' "stretto dashboard --list"
is "$(stretto --json dashboard --list | jq -c '.sessions[0] | keys')" '["created","expires","id","last_used","role","token"]' "tells no secret"
id=$(stretto --json dashboard --list | jq '.sessions[0].id')
is "$(stretto dashboard --revoke "$id")" "session $id: revoked" "--revoke"
is "$(in_session GET /v1/ensembles)" "403 session_missing" "ends it"
status_is 3 "once" stretto dashboard --revoke "$id"
begin "$(login)"
left=$(login)
like "$(stretto dashboard --revoke all)" '^[0-9]+ sessions: revoked$' "--revoke all"
is "$(in_session GET /v1/ensembles)" "403 session_missing" "ends them all"
is "$(post "{\"login\": \"$left\"}") $(code)" "403 login_invalid" "and the links"
is "$(stretto --json dashboard --list | jq -c .sessions)" "[]" "none is left"

begin "$(login)"
sql "UPDATE session SET expires = CAST(strftime('%s', 'now') AS INTEGER) * 1000 - 1"
is "$(in_session GET /v1/ensembles)" "403 session_missing" "a session that has expired is over"
is "$(stretto --json dashboard --list | jq -c .sessions)" "[]" "and out of the list"

# --- by a token, over TCP

reader=$(stretto token create --role reader 2>/dev/null)
operator=$(stretto token create --role operator 2>/dev/null)
brief=$(stretto token create --role admin --expires 1h 2>/dev/null)
# paste TOKEN BODY [CURL ARGUMENT...]
paste() {
	local token=$1 body=$2
	shift 2
	curl -s -m 100 -D "$T/head" -o "$T/body" -w '%{http_code}' -H "Authorization: Bearer $token" -H "Origin: $URL" -H 'Sec-Fetch-Site: same-origin' \
		-H 'Content-Type: application/json' -d "$body" "$@" "$URL/v1/sessions"
	PLACE=$(jq -r '.place // ""' "$T/body")
	COOKIE=$(cookie_of | sed 's/;.*//')
}
over_tcp() { curl -s -m 100 -o "$T/body" -w '%{http_code}' -X "$1" -H "Origin: $URL" -H "Cookie: $COOKIE" "$URL/$PLACE${2#/}"; }
paste "$reader" '{"role": "operator"}' >"$T/status"
is "$(cat "$T/status") $(code)" "403 role_insufficient" "a reader's token gives no operator's session"
paste "$operator" '{"role": "admin"}' >"$T/status"
is "$(cat "$T/status") $(jq -r .pointer "$T/body")" "422 /role" "and none an admin's"
paste "${reader%?}" '{}' >"$T/status"
is "$(cat "$T/status") $(code) $(tr -d '\r' <"$T/head" | sed -n 's/^www-authenticate: //Ip')" '401 token_invalid Bearer realm="stretto", error="invalid_token"' \
	"a wrong token gives none"
paste "$operator" '{}' -H 'Origin: http://evil.example' >"$T/status"
is "$(cat "$T/status") $(code)" "403 origin_not_allowed" "nor does the right one, on a page of another site"
is "$(curl -s -X POST -H 'Content-Type: application/json' -d '{"role": "reader"}' "$URL/v1/sessions" | jq -r .code)" spec_missing_key "without one there is none"
paste "$brief" '{"expires": "10d"}' >"$T/status"
is "$(cat "$T/status") $(jq -c --arg token "$brief" '[.role, .token, (((.expires | sub("\\.[0-9]+Z"; "Z") | fromdate) - now) < 3601)]' "$T/body")" \
	'201 ["reader",3,true]' "one ends with its token, and is a reader's unless it is asked for"
paste "$operator" '{"role": "operator"}' >"$T/status"
is "$(cat "$T/status") $(over_tcp GET /v1/ensembles)" "201 200" "in the session the token need not be sent"
is "$(over_tcp GET /v1/tokens) $(code)" "403 role_insufficient" "tokens are not for it"
is "$(over_tcp POST /v1/ensembles/9/pause) $(code)" "404 ensemble_not_found" "but it may change ensembles"
is "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $operator" -H 'Sec-Fetch-Site: none' "$URL/v1/ensembles")" 403 \
	"a browser needs the session, whatever token it sends"
link=$(STRETTO_URL=$URL STRETTO_TOKEN=$operator stretto dashboard)
like "$link" "^Open this, once, within five minutes:"$'\n\n'"    $URL/#login=" "stretto dashboard over TCP"
like "$(STRETTO_URL=$URL STRETTO_TOKEN=$operator stretto dashboard --port 9000)" "ssh -L 9000:127.0.0.1:${URL##*:} " "and from another machine"
STRETTO_URL=$URL STRETTO_TOKEN=$reader status_is 3 "a reader gets no operator's link" stretto dashboard --operator
STRETTO_URL=$URL STRETTO_TOKEN=$operator status_is 3 "sessions are listed for admins" stretto dashboard --list
mine=$PLACE my_cookie=$COOKIE
begin "$(login)"
theirs=$PLACE their_cookie=$COOKIE
PLACE=$mine COOKIE=$my_cookie
rm "$T/stream" # of the one before
curl -s -N -m 300 -H "Cookie: $COOKIE" -H 'Accept: text/event-stream' "$URL/${PLACE}v1/events" >"$T/stream" &
stream=$!
# shellcheck disable=SC2016 # for wait_for
ok "an event stream" wait_for 20 'test -s "$T/stream"'
stretto token revoke 2 >"$T/out"
is "$(over_tcp GET /v1/ensembles) $(code)" "403 session_missing" "a session ends with the token that began it"
# shellcheck disable=SC2016 # for wait_for
ok "and its event stream" wait_for 20 '! kill -0 $stream'
kill $stream 2>/dev/null
wait $stream
is "$(post "{\"login\": \"$(sed -n 's/.*#login=//p' <<<"$link")\"}") $(code)" "403 login_invalid" "and the links that were asked for by it"
PLACE=$theirs COOKIE=$their_cookie
is "$(in_session GET /v1/ensembles)" "200 " "others go on"

# --- how many

oldest=$(login)
for _ in {1..32}; do login; done >"$T/logins"
is "$(post "{\"login\": \"$oldest\"}") $(code)" "403 login_invalid" "the 33rd link takes the place of the first"
while read -r one; do post "{\"login\": \"$one\"}"; done <"$T/logins" >"$T/out"
is "$(sql 'SELECT count(*) FROM session WHERE token IS NULL')" 32 "and so does the 33rd session"
is "$(in_session GET /v1/ensembles)" "403 session_missing" "the first is over"
is "$(sql 'SELECT count(*) FROM session WHERE token = 3')" 1 "those of tokens are counted by themselves"

# --- TLS

stop_daemon
jq -n --arg t "$T" '{tls_certificate: ($t + "/cert.pem"), tls_key: ($t + "/key.pem")}' >"$T/tls.json"
start_daemon --config "$T/tls.json" --listen tcp:127.0.0.1:0
URL=$(url_of)
paste "$reader" '{}' --cacert "$T/cert.pem" >"$T/status"
like "$(cat "$T/status") $(cookie_of)" '^201 stretto=.*; SameSite=Strict; Secure$' "over TLS the cookie is never sent in the clear"
done_testing
