#!/usr/bin/env bash
# A web browser gets in nowhere: pages of other sites, and names that came to mean this machine, on the Unix socket as over TCP; and
# a real browser, through a port that is forwarded to the Unix socket as `ssh -L` does it.
TEST_LIMIT=120
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"host_names": ["dash.example.org"]}' >config.json
start_daemon --config config.json --listen tcp:127.0.0.1:0
PORT=$(jq -r '.listeners[].url | select(startswith("http"))' "$STATE/listen.json" | sed 's/.*://')
token=$(stretto token create --role admin 2>/dev/null)
jq -n '{name: "held", members: {command: ["sleep", "10000"], parameters: {grid: {i: [0, 1]}}}, width: 2}' >spec.json
ID=$(submit spec.json)
books() { sqlite3 -readonly "$STATE/stretto.db" 'SELECT id, name, width, state FROM ensemble; SELECT count(*) FROM ensemble'; }
before=$(books)

# ask LISTENER METHOD PATH [HEADER...]: status and code
ask() {
	local where=(--unix-socket "$SOCKET") method=$2 path=$3 header headers=()
	[ "$1" = unix ] || where=(--connect-to "::127.0.0.1:$PORT" -H "Authorization: Bearer $token")
	for header in "${@:4}"; do headers+=(-H "$header"); done
	curl -s -m 100 -o "$T/body" -w '%{http_code} ' -X "$method" "${where[@]}" "${headers[@]}" "http://localhost:8080$path"
	jq -r '.code // ""' "$T/body" 2>/dev/null || echo
}

# --- by the byte

cases() {
	cat <<-END
		GET 200 |
		GET 200 | Sec-Fetch-Site: none | Sec-Fetch-Mode: navigate
		GET 200 | Sec-Fetch-Site: same-origin | Referer: http://localhost:8080/dashboard
		HEAD 200 | Sec-Fetch-Site: same-origin
		GET 200 | Host: [::1]:8080 | Origin: http://[::1]:8080
		GET 200 | Host: dash.example.org | Origin: https://dash.example.org:443
		GET 200 | Host: 127.0.0.1:80 | Referer: http://127.0.0.1/x?y=http://evil.example
		GET 403 origin_not_allowed | Sec-Fetch-Site: cross-site
		GET 403 origin_not_allowed | Sec-Fetch-Site: same-site
		GET 403 origin_not_allowed | Sec-Fetch-Site: same-origin | Origin: http://evil.example
		GET 403 origin_not_allowed | Origin: null
		GET 403 origin_not_allowed | Origin: http://localhost:8081
		GET 403 origin_not_allowed | Origin: http://localhost
		GET 403 origin_not_allowed | Origin: localhost:8080
		GET 403 origin_not_allowed | Origin: http://localhost:8080.evil.example
		GET 403 origin_not_allowed | Referer: https://evil.example/localhost:8080
		GET 403 origin_not_allowed | Referer: http://localhost:8080@evil.example/
		GET 403 origin_not_allowed | Origin: http://localhost:8080 | Origin: http://evil.example
		GET 403 host_not_allowed | Host: evil.example:8080
		GET 403 host_not_allowed | Host: evil.example:8080 | Origin: http://evil.example:8080 | Sec-Fetch-Site: same-origin
		GET 403 host_not_allowed | Host: localhost.evil.example
		POST 403 session_missing | Origin: http://localhost:8080
		POST 403 session_missing | Sec-Fetch-Site: same-origin
		POST 403 session_missing | sec-fetch-dest: empty
		POST 403 session_missing | Referer: http://localhost:8080/
		POST 403 origin_not_allowed | Origin: http://evil.example
		POST 403 origin_not_allowed | Origin: null | Sec-Fetch-Site: same-origin
		POST 403 host_not_allowed | Host: evil.example
		OPTIONS 403 origin_not_allowed | Origin: http://evil.example | Access-Control-Request-Method: PATCH
		PATCH 403 session_missing | Origin: http://localhost:8080
		DELETE 403 session_missing | Origin: http://localhost:8080
	END
}
wrong=0 tried=0
while IFS='|' read -r wanted headers; do
	read -r method status code <<<"$wanted"
	IFS='|' read -r -a list <<<"$headers"
	for i in "${!list[@]}"; do list[i]=$(sed 's/^ *//; s/ *$//' <<<"${list[i]}"); done
	path=/v1/ensembles/$ID
	[ "$method" != POST ] || path=$path/cancel
	[ "$method" != DELETE ] || path=/v1/tokens/1
	option=$method
	for listener in unix tcp; do
		got=$([ "$option" = HEAD ] && set -- -I; ask $listener "$method" "$path" "${list[@]}")
		[ "$method" != HEAD ] || got=$(curl -s -I -m 100 -o "$T/body" -w '%{http_code}' --unix-socket "$SOCKET" -H "${list[0]}" "http://localhost:8080$path")
		tried=$((tried + 1))
		[ "$(xargs <<<"$got")" = "$(xargs <<<"$status $code")" ] || { wrong=$((wrong + 1)); diag "$listener $wanted|$headers: $got"; }
	done
done < <(cases)
is "$wrong" 0 "$tried requests as browsers and others send them, on the Unix socket and over TCP"
[ "$tried" = 62 ] || fail "the cases could not be read"
is "$(ask unix GET /readyz "Host: stretto")$(ask tcp GET /readyz "Host: stretto")" "200 403 host_not_allowed" "the Unix socket is called stretto, too"
is "$(printf 'GET /readyz HTTP/1.0\r\n\r\n' | timeout 60 curl -s --unix-socket "$SOCKET" --http1.0 -H 'Host;' -o /dev/null -w '%{http_code}' http://stretto/readyz)" 403 \
	"an empty name is none"
is "$(curl -s --unix-socket "$SOCKET" --http1.0 -H 'Host:' -o /dev/null -w '%{http_code}' http://stretto/readyz)" 200 "HTTP/1.0 needs none there"
is "$(books)" "$before" "nothing has changed"
ok "what was refused is logged" grep -q 'refused a client of the Unix socket: .*(origin_not_allowed)' "$DAEMON_LOG"

# --- a real browser

chromium=$(command -v chromium || true)
if [ -z "$chromium" ]; then
	skip "there is no chromium here"
	done_testing
fi
"$T/bin/python3" "$srcdir/tests/t/browser.py" "$SOCKET" "$(jq '.name = "evil"' spec.json)" "$ID" "$chromium" "$T" >tries 2>tries.err
is $? 0 "the browser has tried all" || { diag "$(cat tries tries.err)"; diag "$(tail -n 5 chromium.log)"; }
sed 's/^/# /' tries
is "$(grep -c '^another name: ' tries) $(grep '^another name: ' tries | grep -vc ': 403 host_not_allowed$')" "7 0" \
	"a page whose name came to mean this machine (DNS rebinding) reads nothing and changes nothing"
is "$(grep -c '^another site: ' tries) $(grep '^another site: ' tries | grep -vc -e ': failed$' -e ': unreadable$')" "7 0" "a page of another site reads nothing"
is "$(grep '^own origin: ' tries | sed 's/^own origin: //')" "read: 200 undefined
read without referrer: 200 undefined
cancel: 403 session_missing
cancel without cors: 403 session_missing
submit: 403 session_missing
submit as text: 403 session_missing
resize: 403 session_missing" "a page of the daemon's own origin reads, and changes nothing without a session"
is "$(books)" "$before" "and none has changed anything"
stretto cancel "$ID" >/dev/null
wait_ensemble "$ID" 30
done_testing
