#!/usr/bin/env bash
# Replies leave only after the commit: while nothing can be written to the disk, nothing is answered with 2xx that is
# not so.
. "${srcdir:-.}/tests/t/lib.sh"

command -v prlimit >/dev/null || skip_all "there is no prlimit"
trap '' XFSZ # inherited by the daemon: a write beyond the limit is an error, not the end
start_daemon
trap - XFSZ
spec='{"name": "c", "members": {"command": ["true"], "parameters": {"grid": {"x": [1]}}}, "width": 1}'
is "$(api_status POST /v1/ensembles "$spec")" 201 "accepted"
wait_ensemble 1 60

# From now on every write to a file fails, as on a full disk.
prlimit --pid "$DAEMON_PID" --fsize=0:unlimited
post() {
	curl -s -m 300 --unix-socket "$SOCKET" -D "$T/head" -o "$T/body" -w '%{http_code}' -H 'Content-Type: application/json' \
		-H "Idempotency-Key: key" -d "$spec" http://stretto/v1/ensembles
}
location() { tr -d '\r' <"$T/head" | sed -n 's/^location: //Ip'; }
is "$(post) $(jq -r '.code | test("^store_(io|full)$")' "$T/body")" "50$(jq -r '.status % 10' "$T/body") true" \
	"not accepted while it cannot be stored"
is "$(location)" "" "and no place is told where it would be"
is "$(api_status GET /v1/ensembles) $(jq '.ensembles | length' "$T/api.body")" "200 1" "and not shown"
is "$(api_status GET /readyz) $(jq -r .code "$T/api.body")" "503 not_ready" "not ready"
like "$(api GET /metrics)" 'stretto_commit_failing 1' "Prometheus is told"
is "$(api_status GET /healthz)" 200 "but alive"
turns() { api GET /metrics | sed -n "s/^stretto_turn_seconds_$1 //p"; }
like "$(turns count) $(turns 'bucket{le="+Inf"}')" '^([1-9][0-9]*) [1-9][0-9]*$' "the loop's turns are counted"
is "$(api GET /metrics | sed -n 's/^stretto_turn_seconds_bucket.* //p' | sort -n -c 2>&1)" "" "by how long they took"
before=$(turns count)
ok "and go on" test "$(turns count)" -gt "$before"

prlimit --pid "$DAEMON_PID" --fsize=unlimited:unlimited
is "$(post)" 201 "the same try is accepted once it can be stored again"
is "$(location)" "/v1/ensembles/$(jq .id "$T/body")" "with its place"
is "$(api_status GET /readyz)" 200 "ready again"
id=$(jq .id "$T/body")
ok "it runs" wait_ensemble "$id" 60
is "$(sqlite3 -readonly "$STATE/stretto.db" 'SELECT count(*) FROM ensemble')" 2 "two are stored"

# kill -9 right after the answer, again and again: what was answered is there.
answered=2
for _ in 1 2 3 4 5; do
	[ "$(api_status POST /v1/ensembles "$spec")" != 201 ] || answered=$((answered + 1))
	kill_daemon
	start_daemon
done
is "$(api GET /v1/ensembles | jq '.ensembles | length')" "$answered" "what was answered is there after each crash"
for i in $(seq "$answered"); do wait_ensemble "$i" 60; done

done_testing
