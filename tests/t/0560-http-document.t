#!/usr/bin/env bash
# The API is as api/openapi.yaml describes it: every described path has its route, every reply fits its schema.
. "${srcdir:-.}/tests/t/lib.sh"

checker=
for python in python3 /usr/bin/python3; do
	"$python" -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null && { checker=$python; break; }
done
[ -n "$checker" ] || skip_all "no Python here has jsonschema"

echo '{"adapters": {"local": {"slots": 8}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
cat >"$T/spec.json" <<'X'
{"name": "d", "members": {"command": ["sh", "-c", "echo {x}; [ {x} != 2 ] || exit 3"],
 "parameters": {"grid": {"x": [1, 2, 3]}}, "retries": 0}, "width": 3,
 "training": {"streams": "optional", "command": ["sh", "-c", "echo hello; exit 1"], "fields": {"f": {"dtype": "float32", "shape": [2]}}}}
X
id=$(submit "$T/spec.json")
wait_for 60 '[ "$(api GET /v1/ensembles/'"$id"'/members/2 | jq -r .state)" != pending ]'
api GET "/v1/ensembles/$id" >"$T/out"
api POST "/v1/ensembles/$id/cancel" >"$T/out"
ok "it ends" wait_ensemble "$id" 60
training=$(jq -r .training.id "$T/ensemble.json")
# one of which members can go on
jq 'del(.training)' "$T/spec.json" >"$T/over.json"
over=$(submit "$T/over.json")
wait_ensemble "$over" 60 || bail "it does not end"
# and one that is not over, for the calls that change such a one
jq 'del(.training) | .members.command = ["sleep", "10000"]' "$T/spec.json" >"$T/open.json"
open=$(submit "$T/open.json")
jq '.training |= (.command = ["sleep", "10000"] | .checkpoint = {every: "1h"})' "$T/spec.json" >"$T/trains.json"
# and one that takes suggestions
jq '.members.parameters = {open: ["x"]} | del(.training) | .early_stopping = {rule: "asha", metric: "loss", rungs: {max: 9}}' "$T/spec.json" >"$T/asks.json"
asks=$(submit "$T/asks.json")
trains=$(api GET "/v1/ensembles/$(submit "$T/trains.json")" | jq .training.id)

cat >"$T/check.py" <<'X'
# Calls every path of the document, with ids that exist and with ids that do not, and checks each reply against what the
# document says of its status and content type.
import json, re, subprocess, sys
import jsonschema
socket, ensemble, spec, training, open_ensemble, over, open_training, asks = sys.argv[1:9]

def call(method, path, body=None, head=[]):
    if body is not None:
        head = [*head, "-H", "Content-Type: application/json", "--data-binary", body]
    out = subprocess.run(["curl", "-s", "-m", "300", "-i", "--unix-socket", socket, "-X", method, *head, "http://stretto" + path],
                         stdout=subprocess.PIPE, check=True).stdout
    header, _, data = out.partition(b"\r\n\r\n")
    lines = header.decode().split("\r\n")
    kinds = [l.split(":", 1)[1].strip() for l in lines if l.lower().startswith("content-type:")]
    return int(lines[0].split()[1]), kinds[0].split(";")[0] if kinds else "", data

# A login is good for one session, and a call for the current session belongs to one.
def login():
    return json.dumps({"login": json.loads(call("POST", "/v1/logins", "{}")[2])["login"]})

def session():
    out = subprocess.run(["curl", "-s", "-i", "--unix-socket", socket, "-H", "Content-Type: application/json", "-d", login(),
                          "http://stretto/v1/sessions"], stdout=subprocess.PIPE, check=True).stdout.decode()
    begun = json.loads(out.split("\r\n\r\n")[1])
    return begun["id"], begun["place"], re.search("(?i)set-cookie: ([^;]*)", out)[1]

def prepared(method, path, body):
    if (method, path) == ("POST", "/v1/sessions"):
        return method, path, login()
    if path == "/v1/sessions/1":
        return method, f"/v1/sessions/{session()[0]}", body
    if path == "/v1/sessions/current":
        _, place, cookie = session()
        return method, f"/{place}v1/sessions/current", body, ["-H", "Cookie: " + cookie, "-H", "Origin: http://stretto"]
    return method, path, body

doc = json.loads(call("GET", "/openapi.json")[2])
jsonschema.Draft202012Validator.check_schema({"$defs": doc["components"]["schemas"]})
text = json.dumps(doc).replace("#/components/schemas/", "#/$defs/")
doc = json.loads(text)
defs = doc["components"]["schemas"]
done, bad = 0, 0

def tell(good, what):
    global done, bad
    done += 1
    if not good:
        bad += 1
        print("wrong:", what)

def check(operation, where, status, kind, data):
    reply = operation["responses"].get(str(status)) or operation["responses"].get("default")
    if "$ref" in reply:
        reply = doc["components"]["responses"][reply["$ref"].rsplit("/", 1)[1]]
    if kind not in reply["content"]:
        return tell(False, f"{where}: {status} of type {kind}, which is not described")
    if kind.endswith("json"):
        schema = dict(reply["content"][kind]["schema"], **{"$defs": defs})
        errors = [e.message for e in jsonschema.Draft202012Validator(schema).iter_errors(json.loads(data))]
        tell(not errors, f"{where}: {errors[:3]}")
        if kind == "application/problem+json":
            problem = json.loads(data)
            tell(status == problem["status"] == defs["Problem"]["x-status"][problem["code"]], f"{where}: {problem}")

for path, item in doc["paths"].items():
    for method, operation in item.items():
        if method == "parameters":
            continue
        method = method.upper()
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        body = None if content is None else json.dumps(content["example"]) if "example" in content else open(spec).read()
        again = path == "/v1/trainings/{id}/resubmit" # of one that is over, and of which the first call is not the last
        changes = not again and (method == "PATCH" or path.rsplit("/", 1)[1] in ("pause", "resume", "resubmit"))
        there = path.replace("{folder}/{file}", "data/api.js").replace("{file}", "app.js").replace("{id}", (open_training if changes else training)
                             if "/trainings/" in path else open_ensemble if changes else over if path.endswith("/follow-up") else
                             asks if path.rsplit("/", 1)[1] in ("suggestions", "results", "close", "rungs", "arrivals") else ensemble)
        for index in ("0", "1", "2"):
            at = there.replace("{index}", index)
            status, kind, data = call(*prepared(method, at, body))
            tell(status < 300 or (status == 404 and b'"output_not_found"' in data) or (again and index > "0" and status == 409), f"{method} {at}: {status} {data[:200]}")
            check(operation, f"{method} {at}", status, kind, data)
        if "{" in path:
            gone = re.sub(r"\{[a-z]+\}", "999999", path)
            status, kind, data = call(method, gone, body)
            tell(status == 404 and b"path_not_found" not in data, f"{method} {gone}: {status} {data[:200]}")
            check(operation, f"{method} {gone}", status, kind, data)
        if method in ("POST", "PATCH") and body is not None:
            for wrong in ("", "{", "[]", "{}", '{"x": 1}'):
                check(operation, f"{method} {there} {wrong}", *call(method, there, wrong))
        if method == "GET":
            check(operation, f"{method} {there}?x=1", *call(method, there.replace("{index}", "0") + "?x=1"))
print("checked", done, "wrong", bad)
X
is "$("$checker" "$T/check.py" "$SOCKET" "$id" "$T/spec.json" "$training" "$open" "$over" "$trains" "$asks" | tee "$T/result" | tail -n 1 |
	sed 's/[0-9]* wrong/N wrong/')" "checked N wrong 0" "every call of the document answers as it says"
diag "$(head -n 20 "$T/result")"

for i in $(api GET /v1/ensembles | jq '.ensembles[].id'); do
	api POST "/v1/ensembles/$i/cancel" >"$T/out"
	wait_ensemble "$i" 60
done
# A job that was cancelled while under way has left the machine before the daemon does.
wait_for 30 '[ "$(left_behind | wc -l)" -le 2 ]' # itself, and the process that stands by to become runners

done_testing
