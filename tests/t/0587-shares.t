#!/usr/bin/env bash
# Long replies are shared out: one token does not take them all, nor do all clients on TCP; the owner on the Unix socket
# gets one.
# shellcheck disable=SC2016 # for wait_for
TEST_LIMIT=120
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
start_daemon --listen tcp:127.0.0.1:0
URL=$(jq -r '.listeners[].url | select(startswith("http"))' "$STATE/listen.json")
tokens=()
for _ in 1 2 3 4; do tokens+=("$(stretto token create --role reader 2>/dev/null)"); done
jq -n --arg t "$T" '{name: "f", members: {command: ["sh", "-c", ("echo first; until [ -e " + $t + "/go ]; do sleep 0.1; done")],
	parameters: {grid: {x: [0]}}, retries: 0}, width: 1}' >spec.json
ID=$(submit spec.json)
wait_for 20 'stretto logs $ID.0 | grep -q first' || bail "the member does not run"

cat >hold.py <<'EOF'
# hold.py PORT PATH COUNT TOKEN...: opens replies with each of the tokens in turn, up to COUNT each, and holds them
# until its input ends. One line a token: how many it got, and what the next was told.
import json, socket, sys
port, path, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
kept = []
for token in sys.argv[4:]:
    for got in range(count + 1):
        s = socket.create_connection(("127.0.0.1", port))
        s.settimeout(300)
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        f = s.makefile("rb")
        status = int(f.readline().split()[1])
        if status != 200:
            while f.readline() != b"\r\n":
                pass
            print(got, status, json.loads(f.readline())["code"], flush=True)
            break
        kept.append((s, f))
    else:
        print(count + 1, "and more", flush=True)
print("held", flush=True)
sys.stdin.read()
EOF
mkfifo hold

# shares PATH QUARTER NAME: three tokens get a quarter each, the fourth nothing more
shares() {
	rm -f held # of the call before, which would be taken for this one's
	"$T/bin/python3" hold.py "${URL##*:}" "$1" "$2" "${tokens[@]}" <hold >held 2>held.err &
	holder=$!
	exec 9>hold
	wait_for 90 'grep -q held held 2>/dev/null || ! kill -0 $holder'
	is "$(cat held held.err)" "$2 429 token_busy
$2 429 token_busy
$2 429 token_busy
0 503 tcp_busy
held" "$3: a token gets a quarter of them, and TCP three quarters"
}

shares "/v1/ensembles/$ID/members/0/stdout?follow=1" 16 "followed outputs"
stretto logs -f "$ID.0" >followed 2>followed.err 9>&- &
follow=$!
ok "the owner follows on the Unix socket" wait_for 30 'grep -q first followed'
STRETTO_URL=$URL STRETTO_TOKEN=${tokens[0]} status_is 3 "stretto logs --follow with a token that has its share" stretto logs --follow "$ID.0"
like "$(cat err)" '^stretto: token 1 has 16 followed outputs open already, as many as one token may have; close some \(token_busy\)$' "says whose limit it is"
STRETTO_URL=$URL STRETTO_TOKEN=${tokens[3]} status_is 3 "and with one that has none" stretto logs --follow "$ID.0"
like "$(cat err)" '^stretto: 48 followed outputs are open over TCP already.*\(tcp_busy\)$' "says so, too"
exec 9>&-
wait $holder
# the daemon notices at its next look that they have gone
ok "what is given back can be had again" wait_for 30 '[ "$(curl -s -m 5 -o /dev/null -w "%{http_code}" -H "Authorization: Bearer ${tokens[3]}" "$URL/v1/ensembles/$ID/members/0/stdout?follow=1")" = 200 ]'

shares /v1/events 512 "event streams"
curl -s -N -m 300 --unix-socket "$SOCKET" -H 'Accept: text/event-stream' -H 'Last-Event-ID: 0' http://stretto/v1/events >events 9>&- &
stream=$!
ok "the owner has a stream on the Unix socket" wait_for 30 'grep -q ensemble.accepted events || grep -q "^event:" events'
kill $stream
exec 9>&-
wait $holder
touch go
wait $follow
is "$? $(cat followed)" "0 first" "what the owner followed came to its end"
wait_ensemble "$ID" 30
done_testing
