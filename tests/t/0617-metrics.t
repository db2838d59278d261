#!/usr/bin/env bash
# stretto metrics: a table, curves and all points exactly. The rank is a script that keeps to docs/run-directory.md.
. "${srcdir:-.}/tests/t/lib.sh"

cat >rank <<'X'
#!/usr/bin/env bash
set -eu
cd "$STRETTO_TRAINING_DIR"
whole() { cat >"$1.tmp" && mv "$1.tmp" "$1"; }
for i in $(seq 0 1499); do # falling, with one spike
	value=$(((i == 700) * 1000 + 1500 - i)).1
	[ "$i" -ne 5 ] || value=null
	[ "$i" -ne 6 ] || value='"-Infinity"'
	echo "{\"name\": \"train_loss\", \"step\": $((1000000 * i)), \"time\": 1769860000.5, \"value\": $value}"
done >metrics-rank0.jsonl
cat >>metrics-rank0.jsonl <<'Y'
{"name": "a,\"b\"", "step": 7, "time": 1769860040.0, "value": 0.30000000000000004}
{"name": "a,\"b\"", "step": 8, "time": 1769860040.25, "value": -1e-300}
{"name": "none\u001b[31m", "step": 1, "time": 1769860040.0, "value": null}
Y
echo '{"version": 1, "generation": 1, "rank": 0, "ranks": 1, "host": "here", "endpoints": ["ipc:///nowhere"]}' | whole ../stream/g1-rank0.json
until [ -e reception.json ]; do sleep 0.05; done
echo '{"version": 1, "generation": 1, "rank": 0, "time": 1769860000, "state": "done"}' | whole done-rank0.json
X
chmod +x rank
start_daemon
jq -n --arg rank "$T/rank" '{name: "m", members: {command: ["true"], parameters: {grid: {x: [1]}}}, training: {streams: "optional", command: [$rank],
	fields: {f: {dtype: "float32", shape: [2]}}}}' >spec.json
ID=$(submit spec.json)
ok "it ends" wait_ensemble "$ID" 60 || bail "it does not end"

# --- a table
like "$(stretto metrics "$ID")" $'\n''train_loss +1500 +1\.1 +1\.1 +1800 +1500 +2 +1499000000'$'\n''?' "first, last, least, greatest, how many, where"
is "$(stretto metrics "$ID" | wc -l)" 4 "of each series"
is "$(stretto metrics "$ID" train_loss | wc -l)" 2 "or of one"
is "$(stretto metrics "$ID" train_loss 'a,"b"' | wc -l)" 3 "or of some"
status_is 3 "not of one that is not there" stretto metrics "$ID" loss
like "$(cat err)" 'no metric "loss"' "which it says"
is "$(stretto metrics "$ID" --json | jq -c '.series | keys | length')" 3 "JSON is the API's"
is "$(stretto metrics "$ID" --json 'a,"b"' train_loss | jq -c '.series | keys')" '["a,\"b\""]
["train_loss"]' "of the series that are named, one answer each"

# --- every point
stretto metrics "$ID" train_loss --csv >loss.csv
is "$(head -n 2 loss.csv)" "name,step,rank,time,value
train_loss,0,0,2026-01-31T11:46:40.500Z,1500.1" "all points, with a header"
for i in $(seq 0 1499); do
	value=$(((i == 700) * 1000 + 1500 - i)).1
	[ "$i" -ne 5 ] || value=NaN
	[ "$i" -ne 6 ] || value=-Infinity
	echo "train_loss,$((1000000 * i)),0,2026-01-31T11:46:40.500Z,$value"
done >wanted.csv
ok "none is missing, and each is exact" cmp <(tail -n +2 loss.csv) wanted.csv
is "$(stretto metrics "$ID" --csv 'a,"b"' | tail -n +2)" '"a,""b""",7,0,2026-01-31T11:47:20.000Z,0.30000000000000004
"a,""b""",8,0,2026-01-31T11:47:20.250Z,-1e-300' "names and numbers are not changed"
"$T/bin/python3" -c 'import csv, sys; rows = list(csv.DictReader(open(sys.argv[1], newline=""))); assert len(rows) == 1503, len(rows)' \
	<(stretto metrics "$ID" --csv) && pass "a program reads it" || fail "a program reads it"

# --- the points over HTTP, page by page
V1=/v1/trainings/1/points
is "$(api GET "$V1?name=train_loss&limit=3" | jq -c '[.next, (.points | length), .points[2]]')" \
	'["2000000.0",3,{"rank":0,"step":2000000,"time":"2026-01-31T11:46:40.500Z","value":1498.1}]' "a page"
is "$(api GET "$V1?name=train_loss&limit=3&cursor=1498000000.0" | jq -c '[.next, .points[].step]')" '[null,1499000000]' "the last"
is "$(api GET "$V1" | jq -c "[.name, (.points | length)]")" '["a,\"b\"",2]' "of the first series, unless one is named"
for query in "name=train_loss&cursor=x" "name=train_loss&limit=10001" "name=train_loss&cursor=1.2.3"; do
	is "$(api_status GET "$V1?$query") $(jq -r .code api.body)" "400 query_wrong_value" "$query"
done

# --- curves
export LC_ALL=C
stretto metrics "$ID" train_loss --plot >plot
is "$(awk '{ if (length($0) > m) m = length($0) } END { print m }' plot)" 80 "a curve is 80 columns wide where it is no terminal"
# the spike, in the middle, reaches the top line alone; the curve falls from left to right
is "$(sed -n 2p plot | cut -d '|' -f 2 | tr -d ' \n' | wc -c)" 1 "the spike alone reaches the top"
like "$(sed -n 2p plot)" '^ +1800 \|' "whose value is written there"
like "$(grep -A 1 '^ *1\.1 |' plot | tr '\n' ' ')" '\* +step 0 +1499000000 $' "the end is at the bottom, on the right"
like "$(cat plot)" "2 of its points are not finite" "what is no number is counted"
like "$(stretto metrics "$ID" --plot 'a,"b"' --log)" "0\.3" "a logarithmic axis leaves out what is not above zero"
like "$(stretto metrics "$ID" --plot $'none\e[31m')" "nothing that could be drawn" "there may be nothing to draw"
is "$(stretto metrics "$ID" --plot | grep -c $'\e')" 0 "names do nothing to a terminal"
export LC_ALL=C.UTF-8
like "$(stretto metrics "$ID" train_loss --plot)" '⠉|⡇|⣀|⠒|⢣' "with braille where the locale has it"
TERM=xterm "$T/bin/python3" "$srcdir/tests/t/pty_session.py" 50 30 stretto metrics "$ID" train_loss --plot </dev/null >/dev/null 2>ended
is "$(cat ended)" "exit 0 wrapped 0 modes kept" "and as wide as the terminal"
done_testing
