#!/usr/bin/env bash
# The members of an ensemble in the dashboard: the grid from ten members to a million, and what is chosen in it; what is shown is what the API
# says, and what the command that the page names answers.
TEST_LIMIT=300
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/dashboard.sh
. "$srcdir/tests/t/dashboard.sh"
echo '{"adapters": {"local": {"slots": 10}}}' >config.json
start_daemon --config config.json
# 1: under way until the file go is there; 2: over, some have failed, and a parameter's name and values are hostile; 3: a million that wait
jq -n --arg go "$T/go" '{name: "ten", width: 2, max_same_failures: 0, members: {command: ["sh", "-c", "test {i} -lt 4 || until test -e \($go); do sleep 0.1; done; test {i} != 3"],
	parameters: {grid: {i: [range(10)]}}, retries: 0}}' >spec.json
submit spec.json >/dev/null
jq -n --arg hostile $'</td><script>alert(4)</script> \u202eevil \u0645\u0631\u062d\u0628\u0627' '{name: "many", width: 8, max_same_failures: 0,
	members: {command: ["sh", "-c", "if test {k} -ge 54; then echo mesh {k} is broken >&2; exit 3; fi"],
	parameters: {grid: {"<b>p</b>": [$hostile, "it'\''s", "5"], x: [0.5, 1e-7, 100], k: [range(60)]}}, retries: 0}}' >spec.json
submit spec.json >/dev/null
wait_ensemble 2 100
# What its members might have reported
stop_daemon
sqlite3 "$STATE/stretto.db" "INSERT INTO member_series (ensemble, idx, name, attempt, step, time, first_time, last, least, greatest, points, rows)
		SELECT 2, idx, 'val/loss', 1, 19, 1769860019000, 1769860000000, CASE WHEN idx = 7 THEN NULL ELSE idx * 37 % 540 + 0.5 END, 0.25, 600, 20, 20
		FROM member WHERE ensemble = 2 AND idx < 500;
	INSERT INTO member_series (ensemble, idx, name, attempt, step, last, least, greatest, points) SELECT 2, idx, 'a<b>cc', 1, 3, idx / 540.0, 0, 1, 4
		FROM member WHERE ensemble = 2;
	WITH step (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM step WHERE n < 19)
	INSERT INTO member_point (series, step, time, attempt, last, area) SELECT id, n, 1769860000000 + 1000 * n, 1, last + 19 - n, 0
		FROM member_series, step WHERE idx = 11 AND name = 'val/loss'"
start_daemon --config config.json
jq -n '{name: "million", width: 1, members: {command: ["sleep", "10000"], parameters: {method: "halton", count: 1000000, seed: 1, space: {alpha: [0, 1], beta: [-1, 1]}}}}' >spec.json
submit spec.json >/dev/null
# shellcheck disable=SC2016 # for wait_for
wait_for 60 '[ "$(api GET /v1/ensembles/1 | jq -c "[.members.running, .members.failed]")" = "[2,1]" ]' || bail "nothing runs"
use_dashboard dashboard_members.py "members: no message"
for id in 1 3; do api POST "/v1/ensembles/$id/cancel" >/dev/null; done
wait_ensemble 3 60
done_testing
