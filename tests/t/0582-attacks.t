#!/usr/bin/env bash
# Attempts by those who should not get in, or not that far: another user of the machine, requests that are none,
# requests that are two, paths that lead elsewhere, bodies that are bombs, tokens that are no longer good. They change
# nothing, and are logged without flooding the log.
TEST_LIMIT=400
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

echo '{"heartbeat": "1s"}' >"$T/config.json"
start_daemon --config "$T/config.json" --listen tcp:127.0.0.1:0
began=$SECONDS
URL=$(jq -r '.listeners[].url | select(startswith("http"))' "$STATE/listen.json")
PORT=${URL##*:}
admin=$(stretto token create --role admin 2>/dev/null)
operator=$(stretto token create --role operator 2>/dev/null)
reader=$(stretto token create --role reader 2>/dev/null)
echo '{"name": "x", "members": {"command": ["sh", "-c", "echo secret output"], "parameters": {"grid": {"i": [0]}}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
ok "there is an ensemble" wait_ensemble "$ID" 60
# shellcheck disable=SC2016 # for wait_for
ok "of which nothing is under way" wait_for 60 '[ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM job WHERE state <> '"'ended'"'")" = 0 ]'

tcp() { # METHOD PATH TOKEN [CURL ARGUMENT...]: the status; the body in $T/body
	local method=$1 path=$2 token=$3
	shift 3
	[ -z "$token" ] || set -- -H "Authorization: Bearer $token" "$@"
	curl -s -m 100 --path-as-is -X "$method" -o "$T/body" -w '%{http_code}' "$@" "$URL$path"
}
code() { jq -r .code "$T/body"; }

# The books, less what asking changes by itself: when a token was last used, and how many changes there were.
books() { sqlite3 -readonly "$STATE/stretto.db" .dump | grep -v -E 'INTO (token|commits)'; sqlite3 -readonly "$STATE/stretto.db" 'SELECT id, hash, role, revoked FROM token'; }
books >"$T/before"
unchanged() { books | diff "$T/before" - >"$T/diff"; is "$(cut -c 1-200 "$T/diff" | head -n 10)" "" "$1"; }

# --- another user of this machine

if [ "$(id -u)" != 0 ]; then
	skip "another user can be played only by root"
else
	cat >"$T/other.sh" <<EOF
out=\$(curl -s -m 300 --unix-socket '$SOCKET' http://stretto/readyz -o /dev/null -w '%{http_code}' 2>&1); echo "socket \$out"
for f in '$STATE' '$STATE/run' '$STATE/stretto.db' '$STATE/listen.json' '$STATE/run/e$ID' '$STATE/run/e$ID/members/0/0/a1/stdout'; do
	ls "\$f" >/dev/null 2>&1 && echo "list \$f"
	cat "\$f" >/dev/null 2>&1 && echo "read \$f"
done
cat /proc/$DAEMON_PID/environ >/dev/null 2>&1 && echo environ
ls /proc/$DAEMON_PID/fd >/dev/null 2>&1 && echo fd
kill -0 $DAEMON_PID 2>/dev/null && echo kill
echo done
EOF
	chmod 755 "$T" "$T/other.sh" # what the test itself closes proves nothing
	like "$(stat -c %a "$T")" '^755$' "the way to the state directory is open"
	is "$(setpriv --reuid 54321 --regid 54321 --clear-groups bash "$T/other.sh")" "socket 000
done" "another user reaches no socket, reads no file, and signals nobody"
	chmod 711 "$STATE" # even where the directory was opened up afterwards
	sed -i '/ls "\$f"/d' "$T/other.sh"
	is "$(setpriv --reuid 54321 --regid 54321 --clear-groups bash "$T/other.sh")" "socket 000
done" "not even where the directory is open: each file is closed"
	chmod 777 "$SOCKET"
	is "$(setpriv --reuid 54321 --regid 54321 --clear-groups curl -s -m 300 --unix-socket "$SOCKET" http://stretto/v1/ensembles -w ' %{http_code}' |
		jq -r .code 2>/dev/null | head -n 1)" peer_not_allowed "nor the socket: the peer's uid is the check"
	is "$(setpriv --reuid 54321 --regid 54321 --clear-groups curl -s -m 300 -o /dev/null -w '%{http_code}' "$URL/v1/ensembles")" 401 \
		"and TCP wants a token"
	chmod 600 "$SOCKET"
	chmod 700 "$STATE"
fi
unchanged "nothing has changed"

# --- requests, byte for byte

cat >"$T/raw.py" <<'EOF'
# raw.py PORT TOKEN ENSEMBLE: one line a case, the statuses of all replies, and whether the connection was closed.
import re, socket, sys
port, token = int(sys.argv[1]), sys.argv[2]
auth = f"Host: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n".encode()
small = b'{"name": "evil", "members": {"command": ["true"], "parameters": {"grid": {"i": [1]}}}}'

def send(name, data, patience=3):
    s = socket.create_connection(("127.0.0.1", port), timeout=patience)
    got = b""
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        while True:
            piece = s.recv(65536)
            if not piece:
                break
            got += piece
        end = "closed"
    except TimeoutError:
        end = "open"
    except OSError:  # the other end has closed already
        end = "closed"
    print(name + ":", *(m.decode() for m in re.findall(rb"^HTTP/1\.[01] (\d{3})", got, re.M)), end, flush=True)

post = b"POST /v1/ensembles HTTP/1.1\r\n" + auth
health = b"GET /v1/tokens/999 HTTP/1.1\r\n" + auth + b"\r\n"
chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(small), small)
send("two lengths", post + b"Content-Length: 4\r\nContent-Length: %d\r\n\r\n" % len(small) + small)
send("length and chunks", post + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
send("chunks and length", post + b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" % len(chunk) + chunk + health)
send("chunks twice", post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunk)
send("chunks in another coding", post + b"Transfer-Encoding: xchunked\r\n\r\n" + chunk)
send("a length with a sign", post + b"Content-Length: +%d\r\n\r\n" % len(small) + small)
send("a negative length", post + b"Content-Length: -1\r\n\r\n" + small)
send("a length beyond 64 bits", post + b"Content-Length: 99999999999999999999999\r\n\r\n" + small)
send("a list of lengths", post + b"Content-Length: 5, 5\r\n\r\n" + small)
send("a length and a blank before the colon", post + b"Content-Length : %d\r\n\r\n" % len(small) + small)
send("a chunk of negative size", post + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + small + b"\r\n0\r\n\r\n")
send("a chunk beyond 64 bits", post + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n" + small)
send("a chunk that lies", post + b"Transfer-Encoding: chunked\r\n\r\n3\r\n" + small + b"\r\n0\r\n\r\n")
send("a chunk with 100 kB of extension", post + b"Transfer-Encoding: chunked\r\n\r\n4;" + b"x" * 100000 + b"\r\n{}  \r\n0\r\n\r\n")
send("half a body", post + b"Content-Length: 500\r\n\r\n" + small)
send("a folded header", b"GET /v1/tokens HTTP/1.1\r\n" + auth + b"X-A: b\r\n c: d\r\n\r\n")
send("a header without a colon", b"GET /v1/tokens/999 HTTP/1.1\r\n" + auth + b"rubbish\r\n\r\n")
send("a NUL in a header", b"GET /v1/tokens/999 HTTP/1.1\r\n" + auth + b"X: a\0b\r\n\r\n")
send("a NUL in the path", b"GET /v1/tok\0ens HTTP/1.1\r\n" + auth + b"\r\n")
send("a NUL in the token", b"GET /v1/tokens/999 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " + token.encode() + b"\0x\r\n\r\n")
cancel = b"POST /v1/ensembles/" + sys.argv[3].encode() + b"/cancel"
line = b" HTTP/1.1\r\n"
# what is in front of the NUL would do something: each must have status 400
send("NUL: in the path of a cancel", cancel + b"\0/x" + line + auth + b"\r\n", 300)
send("NUL: at its end", cancel + b"\0" + line + auth + b"\r\n", 300)
send("NUL: two of them", cancel + b"\0\0" + line + auth + b"\r\n", 300)
send("NUL: and a version", cancel + b"\0HTTP/1.1" + line + auth + b"\r\n", 300)
send("NUL: in a query", cancel + b"?x=\0&y" + line + auth + b"\r\n", 300)
send("NUL: lines that end with LF", (cancel + b"\0/x" + line + auth + b"\r\n").replace(b"\r", b""), 300)
head = cancel + line + auth
send("NUL: in a header", head + b"X: a\0b\r\n\r\n", 300)
send("NUL: at a header's end", head + b"X: a\0\r\nY: b\r\n\r\n", 300)
send("NUL: at the last header's end", head + b"X: a\0\r\n\r\n", 300)
send("NUL: at a header's beginning", head + b"X:\0a\r\n\r\n", 300)
send("NUL: in a header before others", cancel + line + b"X: a\0b\r\n" + auth + b"\r\n", 300)
send("NUL: behind the token", cancel + line + b"Host: localhost\r\nConnection: close\r\nAuthorization: Bearer " + token.encode() + b"\0x\r\n\r\n", 300)
send("NUL: in a header of 20 kB", head + b"X: " + b"a" * 20000 + b"\0b\r\n\r\n", 300)
send("two tokens, the first wrong", b"GET /v1/tokens/999 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer x\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n")
send("two hosts", b"GET /v1/tokens/999 HTTP/1.1\r\nHost: evil.example\r\n" + auth + b"\r\n")
send("an absolute target", b"GET http://evil.example/v1/tokens HTTP/1.1\r\n" + auth + b"\r\n")
send("CONNECT", b"CONNECT localhost:22 HTTP/1.1\r\n" + auth + b"\r\n")
send("TRACE", b"TRACE / HTTP/1.1\r\n" + auth + b"\r\n")
send("a method of 4 kB", b"G" * 4096 + b" / HTTP/1.1\r\n" + auth + b"\r\n")
send("a path of 100 kB", b"GET /v1/" + b"a" * 100000 + b" HTTP/1.1\r\n" + auth + b"\r\n")
send("a query of 20 kB", b"GET /v1/ensembles?cursor=" + b"1" * 20000 + b" HTTP/1.1\r\n" + auth + b"\r\n")
send("a header of 100 kB", b"GET /v1/ensembles HTTP/1.1\r\n" + auth + b"X: " + b"a" * 100000 + b"\r\n\r\n")
send("10,000 headers", b"GET /v1/ensembles HTTP/1.1\r\n" + auth + b"X: a\r\n" * 10000 + b"\r\n")
send("HTTP/9.9", b"GET /v1/ensembles HTTP/9.9\r\n" + auth + b"\r\n")
send("no version", b"GET /v1/ensembles\r\n\r\n")
send("TLS", bytes.fromhex("16030100c8010000c40303") + bytes(200))
send("rubbish", bytes(range(256)) * 8 + b"\r\n\r\n")
send("only newlines", b"\r\n" * 5000)
EOF
python3 "$T/raw.py" "$PORT" "$admin" "$ID" >"$T/raw" 2>"$T/err" || diag "$(cat "$T/err")"
# Nothing of it is let in: no reply but a refusal, and no second reply where one request was sent.
is "$(grep -v -E ': ((4[0-9][0-9]|501|505) )*(open|closed)$' "$T/raw")" "" "all $(wc -l <"$T/raw") are refused"
is "$(grep '^NUL' "$T/raw" | grep -v -E ': 400 (open|closed)$')" "" "those with a NUL with status 400"
is "$(wc -l <"$T/raw")" 48 "none is left out"
is "$(api_status GET /readyz)" 200 "the daemon goes on"
unchanged "and nothing has changed"

# --- paths

bad=0
while read -r path; do
	for token in "$admin" ""; do
		status=$(tcp GET "$path" "$token")
		case $token:$status in ?*:40[04] | :401) ;; *) bad=$((bad + 1)); diag "$path: $status" ;; esac
	done
	! grep -q -e 'secret output' -e root: "$T/body" || { bad=$((bad + 1)); diag "$path gave something away"; }
done <<EOF
/../../../../etc/passwd
/v1/../../../../../etc/passwd
/%2e%2e/%2e%2e/etc/passwd
/%252e%252e/%252e%252e/etc/passwd
/..%2f..%2f..%2fetc%2fpasswd
/..%5c..%5cetc%5cpasswd
/v1/ensembles/$ID/members/0/../0/stdout
/v1/ensembles/$ID/members/0/./stdout
/v1/ensembles/$ID/members/%2e%2e%2f%2e%2e/stdout
/v1/ensembles/$ID/members/0%00/stdout
/v1/ensembles/$ID/members/0/stdout%00.txt
/v1/ensembles/$ID/members/0/stdout/
/v1/ensembles/$ID//members/0/stdout
/v1/ensembles/0$ID/members/0/stdout
/v1/ensembles/+$ID/members/0/stdout
/v1/ensembles/-1/members/0/stdout
/v1/ensembles/0x1/members/0/stdout
/v1/ensembles/$ID/members/0/stdin
/v1/ensembles/$ID/members/1/stdout
/v1/ensembles/$ID/members/9223372036854775808/stdout
/v1/ensembles/$ID/members/99999999999999999999999999999999/stdout
/v1/ensembles/$ID/members/0/stdout?attempt=../../..
/v1/ensembles/$ID/members/0/stdout?attempt=99
/v1/ensembles/$ID/members/0/stdout?attempt=-1
/v1/ensembles/$ID/members/0/stdout?attempt=1&attempt=2
/v1/ensembles/$ID/members/0/stdout?file=/etc/passwd
/v1/trainings/../../etc/stdout
/v1/trainings/1/stdout?rank=../../0
/v1/ensembles?cursor=%27%20OR%201=1
/v1/ensembles?limit=1;DROP%20TABLE%20ensemble
/openapi.json/../v1/tokens
EOF
is "$bad" 0 "no path leads elsewhere"
is "$(tcp GET "/v1/ensembles/$ID/members/0/stdout" "$reader") $(cat "$T/body")" "200 secret output" "and the right one is there"
ln -s /etc/passwd "$T/link"
mv "$STATE/run/e$ID/members/0/0/a1/stdout" "$T/kept"
ln -s /etc/passwd "$STATE/run/e$ID/members/0/0/a1/stdout"
status=$(tcp GET "/v1/ensembles/$ID/members/0/stdout" "$reader")
if [ "$status" = 200 ] || grep -q root: "$T/body"; then fail "a member that replaces its output by a link shows nothing: $status"; else
	pass "a member that replaces its output by a link shows nothing"
fi
rm "$STATE/run/e$ID/members/0/0/a1/stdout"
mv "$T/kept" "$STATE/run/e$ID/members/0/0/a1/stdout"

# A user who replaces a directory above its output is shown nothing either, in any way in which output is shown.
echo '{"name": "l", "members": {"command": ["sh", "-c", "echo its output; echo its error >&2; exit 1"], "retries": 0, "parameters": {"grid": {"i": [0]}}}}' >"$T/spec.json"
L=$(submit "$T/spec.json")
ok "there is another ensemble" wait_ensemble "$L" 60
shown() { # all that a reader is shown of its output
	tcp GET "/v1/ensembles/$L/members/0/stdout" "$reader" >/dev/null && cat "$T/body"
	tcp GET "/v1/ensembles/$L/members/0/stderr?follow=1" "$reader" >/dev/null && cat "$T/body"
	tcp GET "/v1/ensembles/$L/failures" "$reader" >/dev/null && jq -r '.failures[].example.stderr' "$T/body"
}
is "$(shown | xargs)" "its output its error its error" "the output of a member is shown in three places"
for above in "e$L/members/0/0/a1" "e$L/members/0/0" "e$L/members/0" "e$L/members" "e$L"; do
	mv "$STATE/run/$above" "$T/own"
	cp -a "$T/own" "$T/elsewhere"
	find "$T/elsewhere" -type f -name 'std*' -exec sh -c 'echo root: >"$1"' sh {} \;
	ln -s "$T/elsewhere" "$STATE/run/$above"
	is "$(shown | grep -c root:)" 0 "a link in the place of $above shows nothing"
	rm -r "$STATE/run/$above" "$T/elsewhere"
	mv "$T/own" "$STATE/run/$above"
done
is "$(shown | xargs)" "its output its error its error" "and everything is shown again without it"
books >"$T/before" # which have this ensemble now

# --- header injection: what comes back of what was sent

bad=0
for what in "/v1/ensembles/x%0d%0aSet-Cookie:%20a=b" "/v1/ensembles?x%0d%0aSet-Cookie:%20a=b" "/v1/events?kind=a%0d%0a%0d%0aHTTP/1.1%20200%20OK"; do
	curl -s -m 300 -D "$T/head" -o "$T/body" -H "Authorization: Bearer $admin" "$URL$what"
	grep -q -i -e '^Set-Cookie' "$T/head" && bad=$((bad + 1))
	[ "$(grep -c '^HTTP/' "$T/head")" = 1 ] || bad=$((bad + 1))
done
is "$bad" 0 "no header comes from a path or query"
is "$(tcp POST /v1/ensembles "$admin" -H 'Content-Type: application/json' -H $'Idempotency-Key: a\tb' -d '{}') $(code)" \
	"400 idempotency_key_invalid" "a key with a blank"
is "$(tcp POST /v1/ensembles "$admin" -H 'Content-Type: application/json' -H "Idempotency-Key: $(printf 'k%.0s' {1..201})" -d '{}') $(code)" \
	"400 idempotency_key_invalid" "a key that is too long"
like "$(grep -c -P '[\x00-\x08\x0b-\x1f\x7f]' "$DAEMON_LOG")" '^0$' "no control character is in the log"

# --- bombs

python3 - "$T" <<'EOF'
import sys
t = sys.argv[1]
spec = '{"name": "x", "members": {"command": ["true"], "parameters": {"grid": {"i": [%s]}}}}'
cases = {
    "deep": "[" * 1000000, "deep-objects": '{"a":' * 500000, "duplicate": spec % "1" [:0] or '{"name": "x", "name": "y"}',
    "huge-number": spec % ("9" * 1000000), "huge-exponent": spec % "1e999999999", "long-string": spec % ('"' + "x" * 10000000 + '"'),
    "long-name": '{"name": "' + "n" * 10000000 + '"}', "nul": '{"name": "a\\u0000b"}', "bad-utf8": None,
    "surrogate": '{"name": "\\ud800"}', "many-keys": "{" + ",".join(f'"k{i}": 1' for i in range(300000)) + "}",
    "wide": "[" + "1," * 2000000 + "1]", "nan": '{"width": NaN}', "grid": spec % ",".join(str(i) for i in range(2500000)),
    "product": '{"name": "x", "members": {"command": ["true"], "parameters": {"grid": {%s}}}}'
               % ", ".join(f'"p{i}": [%s]' % ",".join(map(str, range(1000))) for i in range(60)),
}
for name, text in cases.items():
    with open(f"{t}/bomb.{name}", "wb") as out:
        out.write(b'{"name": "\xff\xfe"}' if text is None else text.encode())
EOF
bad=0 bombs=0
for file in "$T"/bomb.*; do
	bombs=$((bombs + 1))
	status=$(tcp POST /v1/ensembles "$operator" -H 'Content-Type: application/json' --data-binary "@$file")
	case $status in 400 | 413 | 422) ;; *) bad=$((bad + 1)); diag "${file##*.}: $status $(head -c 200 "$T/body")" ;; esac
	[ "$(wc -c <"$T/body")" -lt 2000 ] || { bad=$((bad + 1)); diag "${file##*.}: a reply of $(wc -c <"$T/body") bytes"; }
done
is "$bad" 0 "$bombs bodies are refused, in few words"
head -c 17000000 /dev/zero | tr '\0' ' ' >"$T/large"
is "$(tcp POST /v1/ensembles "$operator" -H 'Content-Type: application/json' --data-binary "@$T/large") $(code)" "413 body_too_large" \
	"a body beyond 16 MiB"
is "$(tcp POST /v1/ensembles "$operator" -H 'Content-Type: application/json' -H 'Transfer-Encoding: chunked' --data-binary "@$T/large") $(code)" \
	"413 body_too_large" "also where its length is not told"
is "$(api_status GET /readyz)" 200 "the daemon goes on"
unchanged "and nothing has changed"

# --- more than one may

is "$(tcp POST "/v1/ensembles/$ID/cancel" "$reader") $(code)" "403 role_insufficient" "a reader cancels nothing"
is "$(tcp POST /v1/tokens "$operator" -H 'Content-Type: application/json' -d '{"role": "admin"}') $(code)" "403 role_insufficient" \
	"an operator makes no token"
is "$(tcp DELETE /v1/tokens/1 "$operator" -H 'X-HTTP-Method-Override: GET') $(code)" "403 role_insufficient" "and revokes none"
is "$(tcp GET /v1/tokens/1 "$reader" -H 'X-HTTP-Method-Override: DELETE')" 405 "a method is what it is"
unchanged "nothing has changed"
refusals=$(grep -c ' refused ' "$DAEMON_LOG")
minutes=$(((SECONDS - began) / 60 + 1))
ok "the log tells of it, and is not flooded ($refusals lines in $minutes minutes)" test "$refusals" -ge 3 -a "$refusals" -le $((10 * minutes))
ok "with the address" grep -q 'refused 127.0.0.1: ' "$DAEMON_LOG"
is "$(grep -c -F -e "${admin#stretto_*_}" -e "${operator#stretto_*_}" -e "${reader#stretto_*_}" "$DAEMON_LOG")" 0 "and without a token"

# --- a token is made once, and shown once

make() { tcp POST /v1/tokens "$admin" -H 'Content-Type: application/json' -H 'Idempotency-Key: once' -d "$1"; }
is "$(make '{"role": "reader"}')" 201 "a token with an Idempotency-Key"
token=$(jq -r .token "$T/body") id=$(jq -r .id "$T/body")
is "$(tcp GET /readyz "$token")" 200 "is good"
is "$(make '{"role": "reader"}') $(code)" "409 token_shown" "made again, it is not shown again"
like "$(jq -r .detail "$T/body")" "token $id " "but named"
is "$(make '{"role": "admin"}') $(code)" "409 idempotency_conflict" "the key is for that call alone"
is "$(api GET /v1/tokens | jq '[.tokens[].id] | max')" "$id" "there is one"
is "$(grep -l -F -a -e "${token#stretto_*_}" "$STATE"/stretto.db* "$DAEMON_LOG")" "" "and it is kept nowhere"

# --- streams end with their token

echo '{"name": "f", "members": {"command": ["sh", "-c", "echo begun; sleep 100"], "parameters": {"grid": {"i": [0]}}}}' >"$T/spec.json"
F=$(submit "$T/spec.json")
stream() { # NAME TOKEN PATH...
	local name=$1 token=$2
	shift 2
	curl -s -N -m 1000 -H "Authorization: Bearer $token" -H 'Accept: text/event-stream' "$URL$1" >"$T/$name" 2>/dev/null
	echo $? >"$T/$name.end"
}
api POST /v1/tokens '{"role": "reader", "expires": "4s"}' >"$T/short.json"
stream kept "$reader" /v1/events &
stream events "$token" /v1/events &
stream follow "$token" "/v1/ensembles/$F/members/0/stdout?follow=1" &
stream short "$(jq -r .token "$T/short.json")" /v1/events &
ok "four replies are under way" wait_for 20 'test -s "$T/kept" -a -s "$T/events" -a -s "$T/follow" -a -s "$T/short"'
is "$(api DELETE "/v1/tokens/$id" | jq -r '.revoked != null')" true "one token is revoked"
ok "its event stream ends" wait_for 10 'test -s "$T/events.end"'
ok "and its followed output" wait_for 10 'test -s "$T/follow.end"'
is "$(cat "$T/events.end")" 0 "the one as streams do"
ok "the other so that nobody takes it for whole" test "$(cat "$T/follow.end")" != 0
ok "the stream of a token that expires ends, too" wait_for 15 'test -s "$T/short.end"'
ok "the others' goes on" test ! -e "$T/kept.end"
api POST "/v1/ensembles/$F/cancel" >/dev/null
ok "the ensemble ends" wait_ensemble "$F" 30
ok "and is told" wait_for 10 'grep -q "\"ensemble\":$F" "$T/kept"'
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
wait
done_testing
