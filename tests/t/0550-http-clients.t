#!/usr/bin/env bash
# Many clients, rude clients, large bodies, other users: the daemon answers, and goes on.
TEST_LIMIT=180
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
json=(-H 'Content-Type: application/json')
url=http://stretto
raw() { curl -s -m 300 --unix-socket "$SOCKET" -o "$T/body" -w '%{http_code}' "$@"; }

is "$(stat -c %a "$SOCKET") $(stat -c %a "$STATE")" "600 700" "the socket is for its owner alone"

# A path of its own: too long, taken by a file, taken by another daemon, left by a dead one.
listen() { timeout $((20 * PATIENCE)) strettod --state-dir "$T/other" --listen "$1"; }
status_is 1 "a socket path that is too long is refused" listen "unix:$T/$(printf 'x%.0s' {1..100})"
like "$(cat "$T/err")" 'has 1 to 107 bytes' "with the reason"
echo precious >"$T/file"
status_is 1 "a path that is a file is refused" listen "unix:$T/file"
is "$(cat "$T/file")" precious "and the file is left alone"
status_is 1 "a path on which someone answers is refused" listen "unix:$SOCKET"
is "$(api_status GET /readyz)" 200 "and he still answers"
status_is 1 "what is neither a socket nor TCP is refused" listen udp:127.0.0.1:0
like "$(cat "$T/err")" 'unix:PATH or tcp:HOST:PORT' "with the reason"
kill_daemon
ok "a killed daemon leaves its socket" test -S "$SOCKET"
start_daemon
is "$(api_status GET /readyz)" 200 "which the next one replaces"

# Large bodies
head -c 17000000 /dev/zero | tr '\0' ' ' >"$T/17mb"
head -c 15000000 /dev/zero | tr '\0' ' ' >"$T/15mb"
is "$(raw "${json[@]}" --data-binary "@$T/17mb" $url/v1/ensembles) $(jq -r .code "$T/body")" "413 body_too_large" \
	"17 MB, asking first"
is "$(raw "${json[@]}" -H Expect: --data-binary "@$T/17mb" $url/v1/ensembles) $(jq -r .code "$T/body")" \
	"413 body_too_large" "17 MB, not asking"
is "$(raw "${json[@]}" -H 'Transfer-Encoding: chunked' -H Expect: --data-binary "@$T/17mb" $url/v1/ensembles) $(jq -r .code "$T/body")" \
	"413 body_too_large" "17 MB without a length"
is "$(raw "${json[@]}" -H Expect: --data-binary "@$T/15mb" $url/v1/ensembles) $(jq -r .code "$T/body")" \
	"400 json_malformed" "15 MB are read"
is "$(raw -H Expect: -X POST -H 'Content-Type: text/plain' --data-binary "@$T/15mb" $url/v1/ensembles)" 415 \
	"15 MB of the wrong type are told so"

cat >"$T/rude.py" <<'X'
import socket, sys
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(300)
    s.connect(sys.argv[1])
    return s
def answer(data):
    s = connect()
    got = b""
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
    except ConnectionError:
        pass  # it may have had enough before we are through
    while True:
        try:
            more = s.recv(65536)
        except ConnectionError:
            break
        if not more:
            break
        got += more
    return got.split(b"\r\n")[0]
post = b"POST /v1/ensembles HTTP/1.1\r\nHost: stretto\r\nContent-Type: application/json\r\n"
what = sys.argv[2]
if what == "hang":  # half a request, then nothing, until this process is ended
    kept = []
    for data in (b"", b"\0" * 10000, b"GET /v1/ens", post, post + b"Content-Length: 100\r\n\r\n{\"name\":", post + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"):
        s = connect()
        s.sendall(data)
        kept.append(s)
    print("hanging", flush=True)
    sys.stdin.read()
elif what == "noise":  # each gets an answer or its connection ended, within the time limit
    for data in (b"\xff\xfe\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
                 b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", post + b"Content-Length: -5\r\n\r\n", post + b"Content-Length: 1e9\r\n\r\n",
                 post + b"Content-Length: 99999999999999999999999\r\n\r\n", post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"):
        answer(data)
    print("done")
elif what == "large":  # sends all before it looks for an answer
    print(answer(post + b"Content-Length: 17000000\r\n\r\n" + b" " * 17000000).decode())
elif what == "pipeline":
    got = connect()
    got.sendall(b"GET /healthz HTTP/1.1\r\nHost: stretto\r\n\r\n" * 200)
    data = b""
    while data.count(b"HTTP/1.1 200 OK") < 200 or not data.endswith(b"}\n"):
        more = got.recv(65536)
        if not more:
            break
        data += more
    print(data.count(b'{"status":"ok"}'))
X
rude() { python3 "$T/rude.py" "$SOCKET" "$@"; }
is "$(rude noise) $(api_status GET /healthz)" "done 200" "noise is survived"
is "$(rude large)" "HTTP/1.1 413 Content Too Large" "17 MB, from a client that sends all before it listens"
is "$(rude pipeline)" 200 "200 requests at once on one connection"

mkfifo "$T/hold"
rude hang <"$T/hold" >"$T/hanging" &
hanging=$!
exec 9>"$T/hold"
wait_for 20 'grep -q hanging "$T/hanging"'
is "$(api_status GET /readyz)" 200 "half requests that hang keep nobody waiting"

# 200 at once: submissions, lists, wrong ones; each gets its answer.
spec='{"name": "p", "members": {"command": ["true"], "parameters": {"grid": {"x": [1]}}}, "width": 1}'
one() {
	case $(($1 % 4)) in
	0) curl -s -m 300 --unix-socket "$SOCKET" "${json[@]}" -o "$T/made.$1" -w '%{http_code}\n' -d "$spec" $url/v1/ensembles ;;
	1) curl -s -m 300 --unix-socket "$SOCKET" -o /dev/null -w '%{http_code}\n' "$url/v1/ensembles?limit=5" ;;
	2) curl -s -m 300 --unix-socket "$SOCKET" -o /dev/null -w '%{http_code}\n' $url/nope ;;
	3) curl -s -m 300 --unix-socket "$SOCKET" -o /dev/null -w '%{http_code}\n' $url/healthz ;;
	esac
}
pids=()
for i in $(seq 200); do one "$i" >"$T/answer.$i" & pids+=($!); done
wait "${pids[@]}"
is "$(cat "$T"/answer.* | sort | uniq -c | tr -s ' \n' ' ')" " 100 200 50 201 50 404 " "200 requests at once are answered"
is "$(cat "$T"/made.* | jq .id | sort -n | uniq | wc -l)" 50 "50 submissions make 50 ensembles"
for i in $(seq 50); do wait_ensemble "$i" 60; done
is "$(api GET /v1/ensembles | jq '[.ensembles[] | select(.state == "complete")] | length')" 50 "which all end"

# Other users are refused even where someone has opened up the way.
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
	chmod 755 "$T" "$STATE" && chmod 666 "$SOCKET"
	is "$(setpriv --reuid 65534 --regid 65534 --clear-groups curl -s -m 300 --unix-socket "$SOCKET" $url/v1/ensembles |
		jq -r .code)" peer_not_allowed "another user is refused"
	is "$(setpriv --reuid 65534 --regid 65534 --clear-groups curl -s -m 300 --unix-socket "$SOCKET" "${json[@]}" -d "$spec" \
		$url/v1/ensembles | jq -r .status)" 403 "and cannot submit"
	is "$(api GET /v1/ensembles | jq '.ensembles | length')" 50 "nothing was made"
else
	skip "only root can be another user"
fi

# It ends well with clients that hang on.
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends while clients hang"
ok "its socket is gone" test ! -e "$SOCKET"
exec 9>&-
wait $hanging

done_testing
