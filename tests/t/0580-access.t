#!/usr/bin/env bash
# Access over TCP: every role at every route; tokens that are wrong, expired or revoked; names that are not ours; TLS.
TEST_LIMIT=180
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

start_daemon --listen tcp:127.0.0.1:0
began=$SECONDS

url_of() { jq -r '.listeners[].url | select(startswith("http"))' "$STATE/listen.json"; }
URL=$(url_of)
PORT=${URL##*:}
like "$URL" '^http://127\.0\.0\.1:[1-9][0-9]*$' "listen.json has the real port"
is "$(jq -r '.listeners[].listen' "$STATE/listen.json" | sort)" "tcp:127.0.0.1:$PORT
unix:$SOCKET" "and the socket, which is there besides"
is "$(stat -c %a "$STATE/listen.json")" 600 "and is not for others"
ok "the log has the real port" grep -q "listening on tcp:127.0.0.1:$PORT\$" "$DAEMON_LOG"

# tcp METHOD PATH TOKEN [CURL ARGUMENT...]: the status to stdout; head and body in $T.
tcp() {
	local method=$1 path=$2 token=$3
	shift 3
	[ -z "$token" ] || set -- -H "Authorization: Bearer $token" "$@"
	curl -s -m 100 -X "$method" -D "$T/head" -o "$T/body" -w '%{http_code}' "$@" "$URL$path"
}
code() { jq -r .code "$T/body"; }
head_of() { tr -d '\r' <"$T/head" | sed -n "s/^$1: //Ip"; }

# --- making tokens

admin=$(stretto token create --role admin --label 'the first' 2>"$T/err")
operator=$(stretto token create --role operator 2>"$T/err")
reader=$(stretto token create --role reader --expires 30d 2>"$T/err")
like "$reader" '^stretto_3_[A-Za-z0-9_-]{43}$' "a token, alone on standard output"
like "$(cat "$T/err")" 'token 3, reader' "what it is, on standard error"
is "$(api GET /v1/tokens | jq -c '[.tokens[] | [.id, .role, .label, .expires != null, .revoked, .last_used, .token]]')" \
	'[[3,"reader",null,true,null,null,null],[2,"operator",null,false,null,null,null],[1,"admin","the first",false,null,null,null]]' \
	"the list has all but the tokens"
like "$(stretto token list)" 'the first' "stretto token list"
is "$(api POST /v1/tokens '{"role": "king"}' | jq -r '.code + .pointer')" spec_impossible_value/role "no such role"
is "$(api POST /v1/tokens '{"role": "reader", "expires": "soon"}' | jq -r .pointer)" /expires "no such time"
is "$(api POST /v1/tokens '{"role": "reader", "secret": "x"}' | jq -r .code)" spec_unknown_key "no such key"
is "$(api DELETE /v1/tokens/77 | jq -r .code)" token_not_found "no such token"
status_is 2 "create wants a role" stretto token create
status_is 2 "revoke wants an id" stretto token revoke
status_is 3 "a wrong role is the daemon's to refuse" stretto token create --role king

# --- every role at every route

allowed() { # METHOD PATH ROLE
	case $1:$2:$3 in
	POST:/v1/logins:* | POST:/v1/sessions:* | DELETE:/v1/sessions/current:*) echo yes && return ;; # no more than the caller has
	esac
	case $2:$3 in
	/v1/sessions/current:*) echo yes ;;
	/v1/sessions*:admin) echo yes ;;
	/v1/sessions*) echo no ;;
	/v1/tokens*:admin | /v1/backup*:admin) echo yes ;;
	/v1/tokens* | /v1/backup*) echo no ;;
	*:admin | *:operator) echo yes ;;
	*) if [ "$1" = GET ] || [ "$1" = HEAD ]; then echo yes; else echo no; fi ;;
	esac
}
wrong=0 routes=0
while read -r method pattern; do
	path=${pattern//'{id}'/999}
	path=${path//'{index}'/0}
	routes=$((routes + 1))
	limit=()
	[ "$path" != /v1/events ] || limit=(-m 1)
	for role in admin operator reader; do
		status=$(tcp "$method" "$path" "${!role}" "${limit[@]}")
		got=yes
		[ "$status" != 403 ] || got=no
		[ "$got:$(code 2>/dev/null)" != no:role_insufficient ] || got=no
		if [ "$status" = 401 ] || [ "$got" != "$(allowed "$method" "$path" "$role")" ]; then
			wrong=$((wrong + 1))
			diag "$role $method $path: $status"
		fi
	done
	case "$method $path" in
	"POST /v1/sessions") continue ;; # it looks itself for what is as good as a token
	"GET /web/"*) continue ;;        # the same for everybody
	esac
	[ "$(tcp "$method" "$path" '')" = 401 ] || { wrong=$((wrong + 1)); diag "without a token: $method $path"; }
done < <(sed -n 's/^ROUTE(\([A-Z]*\), "\([^"]*\)".*/\1 \2/p' "$srcdir/api/tbl/routes.h")
is "$wrong" 0 "$routes routes answer each role as they should, and nobody without a token"
[ "$routes" -gt 15 ] || fail "the table of routes could not be read"
is "$(tcp HEAD /v1/ensembles "$reader" -I)" 200 "HEAD is for readers"
is "$(tcp GET /nope '')" 401 "what is not there is not told either"
is "$(tcp GET /v1/tokens "$operator") $(code)" "403 role_insufficient" "tokens are not for operators"

# --- wrong tokens

is "$(tcp GET /readyz '') $(code) $(head_of www-authenticate)" '401 token_missing Bearer realm="stretto"' "no token"
refused='401 token_invalid Bearer realm="stretto", error="invalid_token"'
other=${admin%?}A
[ "$other" != "$admin" ] || other=${admin%?}E
for token in "$other" "${admin%?}" "${admin}A" "stretto_99_${admin##stretto_1_}" "stretto_3_${admin##stretto_1_}" "stretto_1_" \
	"stretto_-1_${admin##stretto_1_}" "stretto_99999999999999999999_${admin##stretto_1_}" x "$admin $admin"; do
	is "$(tcp GET /readyz "$token") $(code) $(head_of www-authenticate)" "$refused" "a wrong token of ${#token} bytes"
done
is "$(tcp GET /readyz '' -u "stretto:$admin")" 401 "the right one, as a password"
is "$(tcp GET "/readyz?token=$admin" '')" 401 "the right one, in the URL"
is "$(tcp GET /readyz '' -H "authorization: bearer $admin")" 200 "the right one, with the scheme in small letters"
is "$(tcp GET /readyz "$admin" -H "X-Long: $(printf 'x%.0s' {1..40000})")" 431 "headers that are too long"

api POST /v1/tokens '{"role": "admin", "expires": "2s"}' >"$T/short.json"
short=$(jq -r .token "$T/short.json")
is "$(tcp GET /readyz "$reader")" 200 "a token before its end"
# shellcheck disable=SC2016 # for wait_for
ok "another after it" wait_for 10 '[ "$(tcp GET /readyz "$short")" = 401 ]'
like "$(jq -r .detail "$T/body")" expired "says that it has expired"

is "$(tcp DELETE /v1/tokens/2 "$operator")" 403 "an operator revokes nothing"
is "$(tcp GET /readyz "$operator")" 200 "so it is still good"
curl -s -N -m 300 -H "Authorization: Bearer $operator" -H 'Accept: text/event-stream' "$URL/v1/events" >"$T/stream" &
stream=$!
# shellcheck disable=SC2016 # for wait_for
ok "it has an event stream" wait_for 20 'test -s "$T/stream"'
is "$(stretto token revoke 2)" "token 2: revoked" "stretto token revoke"
# shellcheck disable=SC2016 # for wait_for
ok "the event stream of a revoked token ends" wait_for 20 '! kill -0 $stream'
kill $stream 2>/dev/null
wait $stream
is "$(tcp GET /readyz "$operator") $(code)" "401 token_invalid" "from the next request on"
when=$(api GET /v1/tokens | jq -r '.tokens[] | select(.id == 2).revoked')
is "$(api DELETE /v1/tokens/2 | jq -r .revoked)" "$when" "revoking twice changes nothing"
status_is 3 "revoking what is not there" stretto token revoke 77

# --- last use, at most once a minute

used() { sqlite3 -readonly "$STATE/stretto.db" "SELECT last_used FROM token WHERE id = 1"; }
# shellcheck disable=SC2016 # for wait_for
ok "the last use is noted" wait_for 5 '[ -n "$(used)" ]'
for _ in 1 2 3 4 5; do
	tcp GET /readyz "$admin" >/dev/null
	used
done | sort -u >"$T/uses"
ok "but not five times in a moment" test "$(wc -l <"$T/uses")" -le 2 # the minute may be over in between

# --- names

for host in localhost LOCALHOST:1 127.0.0.1 127.0.0.1:99 127.1.2.3 '[::1]:7'; do
	is "$(tcp GET /readyz "$admin" -H "Host: $host")" 200 "Host: $host"
done
for host in evil.example localhost.evil.example '[::2]' 10.0.0.1 'localhost:x' '127.0.0.1.evil.example:80'; do
	is "$(tcp GET /readyz "$admin" -H "Host: $host")" 403 "Host: $host"
done
is "$(tcp GET /readyz "$admin" -H 'Host;')" 403 "no host at all"
is "$(tcp GET /readyz "$admin" -H 'Host: evil.example') $(code)" "403 host_not_allowed" "a name that is not ours, with a good token"

# --- the command

export STRETTO_URL=$URL
status_is 3 "stretto without a token" stretto status
STRETTO_TOKEN=$reader status_is 0 "with STRETTO_TOKEN" stretto status
printf '%s\n' "$reader" >"$T/token"
for mode in 640 620 604 602; do
	chmod $mode "$T/token"
	STRETTO_TOKEN_FILE=$T/token status_is 2 "a token file of mode $mode" stretto status
	like "$(cat "$T/err")" 'chmod 600' "is refused with what to do"
done
chmod 600 "$T/token"
STRETTO_TOKEN_FILE=$T/token status_is 0 "with STRETTO_TOKEN_FILE" stretto status
STRETTO_TOKEN_FILE=$T/none status_is 2 "a token file that is not there" stretto status
STRETTO_TOKEN=$'x\r\nX-Evil: 1' status_is 2 "a token that would be two headers" stretto status
STRETTO_TOKEN=$reader http_proxy=http://127.0.0.1:9 status_is 0 "a proxy does not see the token" stretto status
STRETTO_TOKEN=$reader STRETTO_URL="http://localhost:1@127.0.0.1:$PORT" status_is 2 "a URL that is another than it seems" stretto status
STRETTO_TOKEN=$reader STRETTO_URL=http://192.0.2.1:1 status_is 2 "no token in the clear over the network" stretto status
export STRETTO_URL=unix:$SOCKET

# --- flooding

lines() { grep -c ' refused 127.0.0.1: ' "$DAEMON_LOG"; }
minutes=$(((SECONDS - began) / 60 + 1))
ok "of all these failed tries, three a minute are in the log" test "$(lines)" -ge 3 -a "$(lines)" -le $((3 * minutes))
# They are counted by minutes, which begin with the first one: with a new daemon all that follows is in one, unless the
# machine stood still.
flood() {
	stop_daemon
	start_daemon --listen tcp:127.0.0.1:0
	URL=$(url_of)
	PORT=${URL##*:}
	before=$(lines) since=$SECONDS
	allowed="$(tcp GET '/readyz?[1-120]' wrong | tail -c 3) $(code)"
	one_more="$(tcp GET /readyz wrong) $(code) $(head_of retry-after)"
	of_a_role="$(tcp POST /v1/tokens "$reader" -H 'Content-Type: application/json' -d '{}') $(code) $(head_of retry-after)"
	good=$(tcp GET /readyz "$admin")
	told=$(($(lines) - before))
	[ $((SECONDS - since)) -lt 59 ]
}
until flood; do :; done
is "$allowed" "401 token_invalid" "as many failed tries as there may be"
is "$one_more" "429 too_many_tries 60" "one too many"
is "$of_a_role" "429 too_many_tries 60" "also those of a token whose role does not do"
is "$good" 200 "keep nobody out who has a token"
is "$told" 3 "and do not fill the log"

# --- what was told to whom

for token in "$admin" "$operator" "$reader" "$short"; do
	secret=${token#stretto_*_}
	is "$(grep -l -F -e "$secret" "$DAEMON_LOG" "$STATE"/stretto.db* "$STATE"/*.json)" "" "a token is in no log and no file"
done
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
ok "listen.json is gone" test ! -e "$STATE/listen.json"

# --- TLS

refuses_to_start() { # NAME PATTERN OPTION...
	local name=$1 pattern=$2
	shift 2
	status_is 1 "$name" timeout $((20 * PATIENCE)) strettod --state-dir "$STATE" "$@"
	like "$(tail -n 1 "$T/err")" "$pattern" "it says why"
}
refuses_to_start "any address without TLS" 'listen_needs_tls' --listen tcp:0.0.0.0:0
refuses_to_start "any IPv6 address without TLS" 'listen_needs_tls' --listen 'tcp:[::]:0'
refuses_to_start "a private address without TLS" 'tls_certificate.*listen_needs_tls' --listen tcp:10.1.2.3:0
for text in tcp:8080 tcp:127.0.0.1 tcp:127.0.0.1:http tcp:::1:0 tcp::0 tcp:127.0.0.1:99999 udp:127.0.0.1:1; do
	refuses_to_start "$text" 'listen_unsupported' --listen "$text"
done

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
	-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$T/key.pem" -out "$T/cert.pem" 2>"$T/err" ||
	bail "openssl: $(cat "$T/err")"
jq -n --arg t "$T" '{tls_certificate: ($t + "/cert.pem"), tls_key: ($t + "/key.pem"), host_names: ["login1.example.org"]}' \
	>"$T/tls.json"
chmod 640 "$T/key.pem"
refuses_to_start "a key that others can read" 'chmod 600.*tls_unusable' --config "$T/tls.json" --listen tcp:0.0.0.0:0
chmod 600 "$T/key.pem"
jq 'del(.tls_key)' "$T/tls.json" >"$T/half.json"
refuses_to_start "a certificate without its key" 'tls_key is missing' --config "$T/half.json" --listen tcp:0.0.0.0:0
echo rubbish >"$T/rubbish.pem"
jq --arg f "$T/rubbish.pem" '.tls_certificate = $f' "$T/tls.json" >"$T/bad.json"
refuses_to_start "a certificate that is none" 'tls_unusable' --config "$T/bad.json" --listen tcp:0.0.0.0:0
mkdir "$T/open"
cp "$T/cert.pem" "$T/open"
chmod 777 "$T/open"
jq --arg f "$T/open/cert.pem" '.tls_certificate = $f' "$T/tls.json" >"$T/bad.json"
refuses_to_start "a certificate that others can replace" 'tls_certificate: .*tls_unusable' --config "$T/bad.json" --listen tcp:0.0.0.0:0

openssl ecparam -name prime256v1 -genkey -noout -out "$T/other-key.pem" 2>"$T/err"
chmod 600 "$T/other-key.pem"
jq --arg f "$T/other-key.pem" '.tls_key = $f' "$T/tls.json" >"$T/bad.json"
refuses_to_start "a key of something else" 'is not the key of the first certificate.*tls_unusable' --config "$T/bad.json" --listen tcp:0.0.0.0:0

start_daemon --config "$T/tls.json" --listen tcp:0.0.0.0:0
URL=$(url_of)
like "$URL" '^https://0\.0\.0\.0:' "listen.json says https"
PORT=${URL##*:}
URL=https://localhost:$PORT
is "$(tcp GET /readyz "$admin" --cacert "$T/cert.pem") $(jq -c . "$T/body")" '200 {"status":"ready"}' "a token of before, over TLS"
is "$(tcp GET /readyz '' --cacert "$T/cert.pem")" 401 "no token over TLS"
is "$(tcp GET /v1/ensembles "$admin" --cacert "$T/cert.pem" -H 'Host: login1.example.org:4') $(
	tcp GET /v1/ensembles "$admin" --cacert "$T/cert.pem" -H 'Host: login2.example.org')" "200 403" "a name from host_names"
is "$(tcp GET /readyz "$admin" --cacert "$T/cert.pem" --tls-max 1.1)" 000 "no TLS of yesterday"
is "$(tcp GET /readyz "$admin")" 000 "a client that does not know the certificate goes no further"
URL=http://localhost:$PORT
is "$(tcp GET /readyz "$admin")" 000 "what is in the clear is not answered"
export STRETTO_URL=https://localhost:$PORT
STRETTO_TOKEN=$admin STRETTO_CA_FILE=$T/cert.pem status_is 0 "stretto over TLS" stretto status
STRETTO_TOKEN=$admin status_is 4 "stretto does not trust everybody" stretto status
# 3 MB over TLS and back, with the body in many pieces
jq -n '{name: "x", pad: ("y" * 3000000)}' >"$T/large.json"
URL=https://localhost:$PORT
is "$(tcp POST /v1/ensembles "$admin" --cacert "$T/cert.pem" -H 'Content-Type: application/json' --data-binary "@$T/large.json")" \
	422 "a large body over TLS"
is "$(is_ready && echo yes)" yes "and the daemon goes on"

# --- a renewed certificate

serial() { openssl s_client -connect "localhost:$PORT" -servername localhost </dev/null 2>/dev/null | openssl x509 -noout -serial; }
hup() { # PATTERN: send SIGHUP, and wait for a line of the log
	local before
	before=$(wc -l <"$DAEMON_LOG")
	kill -HUP "$DAEMON_PID"
	wait_for 10 "tail -n +$((before + 1)) '$DAEMON_LOG' | grep -q '$1'"
}
make_cert() { # KEY CERT
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$1" -out "$2" 2>"$T/err"
	chmod 600 "$1"
}
was=$(serial)
like "$was" '^serial=' "the certificate has a serial number"
curl -s -N --cacert "$T/cert.pem" -H "Authorization: Bearer $admin" -H 'Accept: text/event-stream' \
	"https://localhost:$PORT/v1/events" >"$T/renewed-stream" 2>/dev/null &
stream=$!
ok "a stream is open" wait_for 60 'test -s "$T/renewed-stream"'
cp "$T/cert.pem" "$T/cert.old"
echo rubbish >"$T/cert.pem"
ok "a broken certificate is told of" hup 'not read again.*tls_unusable'
is "$(serial)" "$was" "and changes nothing"
make_cert "$T/key.new" "$T/cert.pem"
ok "so is one whose key is another" hup 'not read again.*is not the key'
is "$(serial)" "$was" "which changes nothing either"
mv "$T/key.new" "$T/key.pem"
ok "the pair is read again on SIGHUP" hup 'was read again'
like "$(serial)" '^serial=' "clients are answered"
isnt=$(serial)
[ "$isnt" != "$was" ] && pass "with the new certificate" || fail "with the new certificate"
is "$(tcp GET /readyz "$admin" --cacert "$T/cert.pem")" 200 "which clients can check"
is "$(tcp GET /readyz "$admin" --cacert "$T/cert.old")" 000 "the former one is good for nothing more"
ok "the stream goes on" kill -0 $stream
kill $stream
wait $stream 2>/dev/null

done_testing
