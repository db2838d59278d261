#!/usr/bin/env bash
# Every path of the document: OPTIONS and 405 name its methods, HEAD is GET without a body, 413 and 415 where a body is
# taken. And the rate and the estimated end of an ensemble.
. "${srcdir:-.}/tests/t/lib.sh"

echo '{"adapters": {"local": {"slots": 10}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
jq -n '{name: "m", members: {command: ["true"], parameters: {grid: {x: [1]}}},
	training: {streams: "optional", command: ["false"], fields: {f: {dtype: "float32", shape: [1]}}}}' >spec.json
submit spec.json >/dev/null
wait_ensemble 1 60
api POST /v1/tokens '{"role": "reader"}' >/dev/null

cat >check.py <<'X'
import http.client, json, re, socket, sys

class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(300)
        self.sock.connect(sys.argv[1])

def call(method, path, body=None, headers={}):
    connection = Connection("stretto")
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    data = reply.read()
    connection.close()
    return reply.status, {k.lower(): v for k, v in reply.getheaders()}, data

done = bad = 0
def tell(good, *what):
    global done, bad
    done += 1
    if not good:
        bad += 1
        print("wrong:", *what)

doc = json.loads(call("GET", "/openapi.json")[2])
ALL = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
for path, item in doc["paths"].items():
    at = path.replace("{id}", "1").replace("{index}", "0").replace("{folder}/{file}", "data/api.js").replace("{file}", "app.js")
    methods = [m.upper() for m in item if m != "parameters"]
    allowed = sorted(methods + ["OPTIONS"] + (["HEAD"] if "GET" in methods else []))
    status, headers, data = call("OPTIONS", at)
    tell(status == 204 and sorted(headers["allow"].split(", ")) == allowed and not data, "OPTIONS", at, status, headers)
    for method in ALL:
        if method not in allowed:
            status, headers, data = call(method, at, b"{}", {"Content-Type": "application/json"})
            tell(status == 405 and sorted(headers["allow"].split(", ")) == allowed, method, at, status, headers)
            tell(method == "HEAD" or json.loads(data)["code"] == "method_not_allowed", method, at, data)
    if "GET" in methods:
        get, head = call("GET", at), call("HEAD", at)
        same = [h for h in ("content-type", "content-length", "etag", "accept-ranges") if path != "/metrics" or h == "content-type"]
        tell(head[0] == get[0] and not head[2] and all(head[1].get(h) == get[1].get(h) for h in same), "HEAD", at, head, get[:2])
    for method in methods:
        if "requestBody" not in item[method.lower()]:
            continue
        status, _, data = call(method, at, b"<x/>", {"Content-Type": "application/xml"})
        tell(status == 415 and json.loads(data)["code"] == "body_not_json", method, at, status, data[:100])
        try:
            status, _, data = call(method, at, b'"' + b"x" * (17 << 20) + b'"', {"Content-Type": "application/json"})
            tell(status == 413 and json.loads(data)["code"] == "body_too_large", method, at, status, data[:100])
        except OSError:
            tell(True)  # closed in the middle of it: as good a refusal
print("checked", done, "wrong", bad)
X
is "$(python3 check.py "$SOCKET" | tee result | tail -n 1 | sed 's/checked [0-9]*/checked N/')" "checked N wrong 0" "every path"
diag "$(head -n 20 result)"
ok "which are many" test "$(sed -n 's/^checked \([0-9]*\) .*/\1/p' result)" -gt 150

# --- the rate: 40 members that succeeded, one every 15 s, before the daemon was started
jq -n '{name: "rate", width: 10, members: {command: ["sh", "-c", "while ! test -e $HOME/go; do sleep 0.1; done"],
	parameters: {method: "monte-carlo", count: 100, seed: 1, space: {x: [0, 1]}}}}' >rate.json
is "$(submit rate.json)" 2 "an ensemble"
is "$(api GET /v1/ensembles/2 | jq -c '[.rate == 0, .eta]')" '[true,null]' "no success yet: no estimate"
wait_for 20 '[ "$(api GET /v1/ensembles/2 | jq ".members | .submitted + .running")" = 10 ]'
api POST /v1/ensembles/2/pause >/dev/null
stop_daemon
counting=$(sqlite3 "$STATE/stretto.db" "SELECT sql FROM sqlite_schema WHERE name = 'member_first'") # which is the daemon's alone
sqlite3 "$STATE/stretto.db" "
	UPDATE ensemble SET created = created - 3600000, next_index = 50 WHERE id = 2;
	DROP TRIGGER member_first;
	WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 49)
		INSERT INTO member (ensemble, idx, state, attempts) SELECT 2, i, 'succeeded', 1 FROM n;
	UPDATE tally SET n = n + iif(state = 'pending', -40, 40) WHERE ensemble = 2 AND state IN ('pending', 'succeeded');
	$counting;
	WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 49)
		INSERT INTO attempt (ensemble, idx, number, job, outcome, submitted, started, ended) SELECT 2, i, 1,
			(SELECT min(id) FROM job WHERE ensemble = 2), 'succeeded', 1, 1,
			CAST(strftime('%s', 'now') AS INTEGER) * 1000 - (49 - i) * 15000 FROM n;"
start_daemon --config "$T/config.json"
is "$(api GET /v1/ensembles/2 | jq -c '[.members.succeeded, .eta]')" '[40,null]' "paused: no estimate"
api POST /v1/ensembles/2/resume >/dev/null
api GET /v1/ensembles/2 >rate.out
ok "the rate is that of the last successes, not of the last minute, nor of the hour" \
	jq -e '.rate > 0.04 and .rate < 0.08' rate.out
ok "the estimated end is when the rest would be done" jq -e --argjson now "$(date +%s)" \
	'(.eta | sub("\\.[0-9]+Z"; "Z") | fromdate) - $now | . > 60 / 0.08 - 60 and . < 60 / 0.04 + 60' rate.out
# members took 1000 s from submission to end; 50 minutes without another are three times that
shift_successes() { # SECONDS
	stop_daemon
	sqlite3 "$STATE/stretto.db" "UPDATE attempt SET submitted = ended - $1 * 1000 - 1000000, ended = ended - $1 * 1000
		WHERE ensemble = 2 AND outcome = 'succeeded'"
	start_daemon --config "$T/config.json"
}
shift_successes 1500
is "$(api GET /v1/ensembles/2 | jq -c '[.members.succeeded, .eta == null]')" '[40,false]' "none has succeeded for as long as one takes: there is an estimate"
shift_successes 1600
is "$(api GET /v1/ensembles/2 | jq -c '[.members.succeeded, .rate > 0, .eta]')" '[40,true,null]' "none has for three times as long: there is no estimate"
touch "$HOME/go"
wait_ensemble 2 60
is "$(jq -c '[.members.succeeded, .rate == 0, .eta]' ensemble.json)" '[100,true,null]' "over: none"

done_testing
