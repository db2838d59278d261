#!/usr/bin/env bash
# A web browser gets in nowhere: pages of other sites, and names that came to mean this machine, on the Unix socket as
# over TCP; and a real browser, through a port that is forwarded to the Unix socket as `ssh -L` does it.
TEST_LIMIT=180
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"host_names": ["dash.example.org"]}' >config.json
start_daemon --config config.json --listen tcp:127.0.0.1:0
PORT=$(jq -r '.listeners[].url | select(startswith("http"))' "$STATE/listen.json" | sed 's/.*://')
token=$(stretto token create --role admin 2>/dev/null)
jq -n '{name: "held", members: {command: ["sleep", "10000"], parameters: {grid: {i: [0, 1]}}}, width: 2}' >spec.json
ID=$(submit spec.json)
books() { sqlite3 -readonly "$STATE/stretto.db" 'SELECT id, name, width, state FROM ensemble; SELECT count(*) FROM ensemble'; }

# begin ROLE [CURL ARGUMENT...]: a session; its place and its cookie in $PLACE and $COOKIE
begin() {
	local role=$1 login
	shift
	login=$(api POST /v1/logins "{\"role\": \"$role\"}" | jq -r .login)
	curl -s -m 100 -D "$T/head" -o "$T/body" --unix-socket "$SOCKET" -H 'Content-Type: application/json' -d "{\"login\": \"$login\"}" "$@" \
		http://localhost:8080/v1/sessions
	PLACE=$(jq -r .place "$T/body")
	COOKIE=$(tr -d '\r' <"$T/head" | sed -n 's/^set-cookie: \([^;]*\).*/\1/Ip')
}
begin operator
OPERATOR=$PLACE OPERATOR_COOKIE=$COOKIE
begin reader
READER=$PLACE READER_COOKIE=$COOKIE
before=$(books)

# ask LISTENER METHOD PATH [HEADER...]: status and code
ask() {
	local where=(--unix-socket "$SOCKET") method=$2 path=$3 header headers=()
	[ "$1" = unix ] || where=(--connect-to "::127.0.0.1:$PORT" -H "Authorization: Bearer $token")
	for header in "${@:4}"; do headers+=(-H "$header"); done
	[ "$method" != HEAD ] || headers+=(-I)
	curl -s -m 100 -o "$T/body" -w '%{http_code} ' -X "$method" "${where[@]}" "${headers[@]}" "http://localhost:8080$path"
	[ "$method" = HEAD ] || jq -r '.code // ""' "$T/body" 2>/dev/null || echo
}

# --- by the byte

# Columns: as whom (no session, a reader's, an operator's), method, status and code, and headers.
cases() {
	cat <<-END
		- GET 200 |
		- GET 403 session_missing | Sec-Fetch-Site: none | Sec-Fetch-Mode: navigate
		- GET 403 session_missing | Sec-Fetch-Site: same-origin | Referer: http://localhost:8080/dashboard
		- HEAD 403 | Sec-Fetch-Site: same-origin
		- GET 403 session_missing | Host: [::1]:8080 | Origin: http://[::1]:8080
		- GET 403 session_missing | Cookie: $READER_COOKIE | Sec-Fetch-Site: same-origin
		- GET 403 origin_not_allowed | Sec-Fetch-Site: cross-site
		- GET 403 host_not_allowed | Host: evil.example:8080
		- POST 403 session_missing | Origin: http://localhost:8080
		- POST 403 session_missing | Sec-Fetch-Site: same-origin
		- POST 403 session_missing | sec-fetch-dest: empty
		- POST 403 session_missing | Referer: http://localhost:8080/
		- POST 403 origin_not_allowed | Origin: http://evil.example
		- POST 403 origin_not_allowed | Origin: null | Sec-Fetch-Site: same-origin
		- POST 403 host_not_allowed | Host: evil.example
		- OPTIONS 403 origin_not_allowed | Origin: http://evil.example | Access-Control-Request-Method: PATCH
		- PATCH 403 session_missing | Origin: http://localhost:8080
		- DELETE 403 session_missing | Origin: http://localhost:8080
		reader GET 200 |
		reader GET 200 | Sec-Fetch-Site: none | Sec-Fetch-Mode: navigate
		reader GET 200 | Sec-Fetch-Site: same-origin | Referer: http://localhost:8080/dashboard
		reader HEAD 200 | Sec-Fetch-Site: same-origin
		reader GET 200 | Host: [::1]:8080 | Origin: http://[::1]:8080
		reader GET 200 | Host: dash.example.org | Origin: https://dash.example.org:443
		reader GET 200 | Host: 127.0.0.1:80 | Referer: http://127.0.0.1/x?y=http://evil.example
		reader GET 403 origin_not_allowed | Sec-Fetch-Site: cross-site
		reader GET 403 origin_not_allowed | Sec-Fetch-Site: cross-site | Sec-Fetch-Dest: document | Sec-Fetch-Mode: navigate
		reader GET 403 origin_not_allowed | Sec-Fetch-Site: same-site
		reader GET 403 origin_not_allowed | Sec-Fetch-Site: same-origin | Origin: http://evil.example
		reader GET 403 origin_not_allowed | Origin: null
		reader GET 403 origin_not_allowed | Origin: http://localhost:8081
		reader GET 403 origin_not_allowed | Origin: http://localhost
		reader GET 403 origin_not_allowed | Origin: localhost:8080
		reader GET 403 origin_not_allowed | Origin: http://localhost:8080.evil.example
		reader GET 403 origin_not_allowed | Referer: https://evil.example/localhost:8080
		reader GET 403 origin_not_allowed | Referer: http://localhost:8080@evil.example/
		reader GET 403 origin_not_allowed | Origin: http://localhost:8080 | Origin: http://evil.example
		reader GET 403 origin_not_allowed | Origin: http://evil.example | Origin: http://localhost:8080
		reader GET 403 host_not_allowed | Host: evil.example:8080
		reader GET 403 host_not_allowed | Host: evil.example:8080 | Origin: http://evil.example:8080 | Sec-Fetch-Site: same-origin
		reader GET 403 host_not_allowed | Host: localhost.evil.example
		reader POST 403 role_insufficient | Origin: http://localhost:8080
		reader PATCH 403 role_insufficient | Origin: http://localhost:8080
		reader DELETE 403 role_insufficient | Origin: http://localhost:8080
		operator GET 200 | Sec-Fetch-Site: same-origin
		operator POST 415 body_not_json | Origin: http://localhost:8080 | Content-Type: text/plain
		operator POST 403 origin_not_allowed |
		operator POST 403 origin_not_allowed | Sec-Fetch-Site: none
		operator POST 403 origin_not_allowed | sec-fetch-dest: empty
		operator POST 403 origin_not_allowed | Origin: http://evil.example
		operator POST 403 origin_not_allowed | Origin: null | Sec-Fetch-Site: same-origin
		operator POST 403 origin_not_allowed | Origin: http://localhost:8081
		operator POST 403 host_not_allowed | Host: evil.example | Origin: http://evil.example
		operator PATCH 403 origin_not_allowed | Sec-Fetch-Site: cross-site
		operator DELETE 403 role_insufficient | Origin: http://localhost:8080
	END
}
wrong=0 tried=0
while IFS='|' read -r wanted headers; do
	read -r who method status code <<<"$wanted"
	IFS='|' read -r -a list <<<"$headers"
	for i in "${!list[@]}"; do list[i]=$(sed 's/^ *//; s/ *$//' <<<"${list[i]}"); done
	path=/v1/ensembles/$ID
	case $method in PUT | POST) path=/v1/ensembles ;; DELETE) path=/v1/tokens/1 ;; esac
	case $who in
	reader) path=/$READER${path#/} list+=("Cookie: other=1; $READER_COOKIE") ;;
	operator) path=/$OPERATOR${path#/} list+=("Cookie: $OPERATOR_COOKIE; other=1") ;;
	esac
	for listener in unix tcp; do
		got=$(ask $listener "$method" "$path" "${list[@]}")
		tried=$((tried + 1))
		[ "$(xargs <<<"$got")" = "$(xargs <<<"$status $code")" ] || { wrong=$((wrong + 1)); diag "$listener $wanted|$headers: $got"; }
	done
done < <(cases)
is "$wrong" 0 "$tried requests as browsers and others send them, on the Unix socket and over TCP"
[ "$tried" = 110 ] || fail "the cases could not be read: $tried"
is "$(ask unix GET /readyz "Host: stretto")$(ask tcp GET /readyz "Host: stretto")" "200 403 host_not_allowed" "the Unix socket is called stretto, too"
is "$(printf 'GET /readyz HTTP/1.0\r\n\r\n' | timeout $((20 * PATIENCE)) curl -s --unix-socket "$SOCKET" --http1.0 -H 'Host;' -o /dev/null -w '%{http_code}' http://stretto/readyz)" 403 \
	"an empty name is none"
is "$(curl -s --unix-socket "$SOCKET" --http1.0 -H 'Host:' -o /dev/null -w '%{http_code}' http://stretto/readyz)" 200 "HTTP/1.0 needs none there"
is "$(books)" "$before" "nothing has changed"
ok "what was refused is logged" grep -q 'refused a client of the Unix socket: .*(session_missing)' "$DAEMON_LOG"

# --- a real browser

chromium=$(command -v chromium || true)
if [ -z "$chromium" ]; then
	skip "there is no chromium here"
	done_testing
fi
stop_daemon # refused tries are counted by minutes, which begin anew with a daemon
start_daemon --config config.json
is "$(ask unix GET "/${READER}v1/ensembles" "Cookie: $READER_COOKIE")" "200 " "a session survives the daemon"
reader=$(stretto --json dashboard | jq -r .login)
operator=$(stretto --json dashboard --operator | jq -r .login)
"$T/bin/python3" "$srcdir/tests/t/browser.py" "$SOCKET" "$(jq '.name = "evil"' spec.json)" "$ID" "$chromium" "$T" "$reader" "$operator" \
	>tries 2>tries.err
is $? 0 "the browser has tried all" || { diag "$(cat tries tries.err)"; diag "$(tail -n 5 chromium.log)"; }
sed 's/^/# /' tries
# refused WHERE NUMBER PATTERN NAME: all tries of these places, so many, ended as the pattern says
refused() {
	is "$(grep -c "^$1: " tries) $(grep "^$1: " tries | grep -v -e "$3")" "$2 " "$4"
}
refused 'another name\( in a session\)\?' 22 ': \(403 host_not_allowed\|unreadable\|failed\)$' \
	"a page whose name came to mean this machine (DNS rebinding) reads nothing and changes nothing, also in a session"
is "$(grep -c '^another name.*: 403 host_not_allowed$' tries)" 18 "since its name is not the daemon's"
refused 'another site\( in a session\)\?' 22 ': \(failed\|unreadable\)$' "a page of another site reads nothing, by script, by image or by fetch, also in a session"
refused 'another port in a session' 11 ': \(failed\|unreadable\)$' "nor does one of another port of the same host"
is "$(grep '^own origin: ' tries | grep -v -c -e ': 403 session_missing$' -e ': failed$')" 0 "a page of the daemon's own origin does nothing without a session"
is "$(grep '^reader: ' tries | sed 's/^reader: //')" "log in: 201
log in twice: 403 login_invalid
read: 200
read without referrer: 200
events: open
resize: 403 role_insufficient
tokens: 403 role_insufficient
another login: 403 role_insufficient
cookie: not for scripts" "in a reader's session it reads, and changes nothing"
is "$(grep '^operator: ' tries | sed 's/^operator: //')" "log in: 201
log in twice: 403 login_invalid
read: 200
read without referrer: 200
events: open
resize: 200
tokens: 403 role_insufficient
another login: 403 role_insufficient
cookie: not for scripts" "in an operator's it changes something, too"
is "$(jq -c .other seen)" '["/ None","/v1/ensembles None","/s/ None","/s/x/v1/ensembles None"]' "the cookie is not sent to another server on the same host"
jq -r '.foreign[]' seen | sed '$d' >foreign # without the link
for kind in 'image GET' 'script GET' 'iframe GET' 'iframe POST' 'empty GET' 'empty POST'; do
	ok "of another site, $kind is tried" grep -q "^$kind " foreign
done
is "$(grep -v ' 403$' foreign)" "" "and whatever another site sends is refused"
is "$(jq -r '.frames[]' seen | sort | uniq -c | xargs)" "1 200 7 403" "pages of other sites have the daemon in no frame"
is "$(jq -r '.files[]' seen | grep -c '^/old/ \(200\|304\)$') $(jq -r '.files[]' seen | grep -c '^/old/web')" "4 0" \
	"nor is the dashboard shown in one, in a browser that does not say what it asks for"
is "$(jq -r '.files[]' seen | grep '/web/app.js')" "/web/app.js 200" "but a link leads there, and only then it is loaded"
is "$(grep '^logout: ' tries | sed 's/^logout: //')" "read: 200
log out: 200
read again: 403 session_missing" "a page logs out"
is "$(ask unix GET "/$(jq -r .place seen)v1/ensembles" "Cookie: $(jq -r .cookie seen)")" "403 session_missing" "and a stolen cookie is of no use then"
like "$(jq -r .cookie seen)" '^stretto=.{43}$' "(which was stolen well)"
is "$(books)" "$before" "and none has changed anything"
stretto cancel "$ID" >/dev/null
wait_ensemble "$ID" 30
done_testing
