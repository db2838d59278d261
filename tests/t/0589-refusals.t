#!/usr/bin/env bash
# What cannot be done is refused, and at once: codings that are not known, and preconditions that cannot hold.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
start_daemon
jq -n '{name: "t", adapter: "local", members: {command: ["sleep", "10000"], parameters: {grid: {i: [0, 1]}}}, width: 2}' >spec.json
ID=$(submit spec.json)

cat >ask.py <<'EOF'
# ask.py SOCKET: the first line and the code of each answer; the connection stays open for more, as a client that waits
# keeps it.
import http.client, json, socket, sys
for method, coding in (("GET", "gzip"), ("POST", "gzip, chunked"), ("POST", "identity"), ("GET", "")):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(100)
        s.connect(sys.argv[1])
        s.sendall(f"{method} /v1/ensembles HTTP/1.1\r\nHost: stretto\r\nContent-Type: application/json\r\nTransfer-Encoding: {coding}\r\n\r\n".encode())
        try:
            reply = http.client.HTTPResponse(s)
            reply.begin()
            print(reply.status, json.loads(reply.read())["code"])
        except (http.client.HTTPException, OSError) as e:
            print("no answer:", type(e).__name__)
EOF
is "$("$T/bin/python3" ask.py "$SOCKET" | sort | uniq -c | xargs)" "4 400 request_ambiguous" "an unknown Transfer-Encoding is refused, and not waited for"

# changed_if HEADER: status and code of a change
changed_if() {
	curl -s -m 100 --unix-socket "$SOCKET" -X PATCH -H 'Content-Type: application/json' -H "$1" -d '{"width": 1}' -o body -w '%{http_code} ' \
		"http://stretto/v1/ensembles/$ID"
	jq -r '.code // .width' body
}
tag=$(curl -s -m 100 --unix-socket "$SOCKET" -D - -o body "http://stretto/v1/ensembles/$ID" | tr -d '\r' | sed -n 's/^ETag: //Ip')
like "$tag" '^W/"[0-9a-f]+"$' "tags are weak"
is "$(changed_if "If-Match: \"other\"")" "412 precondition_failed" "a change under a tag that is another's is not made"
is "$(changed_if "If-Match: $tag")" "412 precondition_failed" "nor under a weak one"
is "$(api GET "/v1/ensembles/$ID" | jq .width)" 2 "nothing has changed"
is "$(changed_if "If-Match: *")" "200 1" "any version will do"
stretto cancel "$ID" >/dev/null
wait_ensemble "$ID" 30
done_testing
