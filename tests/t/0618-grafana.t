#!/usr/bin/env bash
# docs/grafana.json: all that it asks for is what the daemon serves at /metrics, with those labels.
. "${srcdir:-.}/tests/t/lib.sh"
BOARD=$srcdir/docs/grafana.json

cat >rank <<'X'
#!/usr/bin/env bash
set -eu
cd "$STRETTO_TRAINING_DIR"
whole() { cat >"$1.tmp" && mv "$1.tmp" "$1"; }
status() {
	echo "{\"version\": 1, \"generation\": 1, \"rank\": 0, \"time\": 1769860000.0, \"state\": \"$1\", \"received\": 1, \"unique\": 1, \"duplicates\": 0,
		\"rejected\": 0, \"drawn\": 1, \"batches\": 1, \"repeats\": 0, \"population\": 1, \"unseen\": 0, \"capacity\": 10, \"bytes\": 8,
		\"memory_bytes\": 0, \"samples_per_second\": 1.5, \"room_wait_seconds\": 0.5, \"sample_wait_seconds\": 0.5, \"finalized\": 0}"
}
status receiving | whole status-rank0.json
echo '{"version": 1, "generation": 1, "rank": 0, "ranks": 1, "host": "here", "endpoints": ["ipc:///nowhere"]}' | whole ../stream/g1-rank0.json
until [ -e reception.json ]; do sleep 0.05; done
status done | whole done-rank0.json
X
chmod +x rank
start_daemon
jq -n --arg rank "$T/rank" --arg go "$T/go" '{name: "m", members: {command: ["sh", "-c", "until [ -e \($go) ]; do sleep 0.05; done"],
	parameters: {grid: {x: [1]}}}, training: {streams: "optional", command: [$rank], fields: {f: {dtype: "float32", shape: [2]}}}}' >spec.json
ID=$(submit spec.json)
ok "a training tells its figures" wait_for 60 'api GET /metrics | grep -q "^stretto_training_batches_total{"'
api GET /metrics >figures
: >go
ok "it ends" wait_ensemble "$ID" 60

cat >look.py <<'X'
import json, re, sys
board = json.load(open(sys.argv[1], encoding="utf-8"))
figures = {}  # name: its labels
for line in open(sys.argv[2], encoding="utf-8"):
    match = re.match(r"([a-z_]+)(?:\{(.*)\})? ", line)
    if match and not line.startswith("#"):
        figures.setdefault(match.group(1), set()).update(re.findall(r"([a-z_]+)=", match.group(2) or ""))
variables = {v["name"] for v in board["templating"]["list"]}
asked = [t["expr"] for p in board["panels"] for t in p["targets"]] + [
    v["query"]["query"] for v in board["templating"]["list"] if v["type"] == "query"]
for text in asked:
    for name, selector in re.findall(r"(stretto_\w+)(?:\{([^}]*)\})?", text):
        if name not in figures:
            print("no such figure:", name)
        for label in re.findall(r"(\w+)\s*[!=]~?\"", selector):
            if label not in figures.get(name, set()) | {"instance"}:  # which Prometheus adds
                print("no such label:", name, label)
    for names in re.findall(r"by \(([^)]*)\)", text):
        used = re.search(r"stretto_\w+", text).group(0)
        for label in re.split(r",\s*", names):
            if label not in figures.get(used, set()):
                print("no such label:", used, label)
    for name in re.findall(r"\$(\w+)", text):
        if name not in variables and not name.startswith("__"):
            print("no such variable:", name)
taken = {}
for panel in board["panels"]:
    place = panel["gridPos"]
    for x in range(place["x"], place["x"] + place["w"]):
        for y in range(place["y"], place["y"] + place["h"]):
            if x >= 24 or taken.setdefault((x, y), panel["id"]) != panel["id"]:
                print("in the way of another:", panel["title"])
if len({p["id"] for p in board["panels"]}) != len(board["panels"]):
    print("two panels have one number")
print(len(asked), "questions", len(board["panels"]), "panels")
X
is "$("$T/bin/python3" look.py "$BOARD" figures | sed '$d')" "" "the board asks for what there is"
like "$("$T/bin/python3" look.py "$BOARD" figures | tail -n 1)" "^[1-9][0-9]+ questions [1-9][0-9]* panels" "and asks"
sed 's/stretto_members{/stretto_member{/' "$BOARD" >wrong.json
is "$("$T/bin/python3" look.py wrong.json figures | head -n 1)" "no such figure: stretto_member" "a name that is wrong would be found"
sed 's/by (state)/by (status)/' "$BOARD" >wrong.json
like "$("$T/bin/python3" look.py wrong.json figures | head -n 1)" "no such label: stretto_.* status" "so would a label"
done_testing
