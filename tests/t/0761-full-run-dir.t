#!/usr/bin/env bash
# The run directory has no room for another file: jobs wait until there is, and no attempt is spent on that.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
mkdir "$T/run"
mount -t tmpfs -o nr_inodes=40 tmpfs "$T/run" 2>/dev/null || skip_all "needs the right to mount a small tmpfs"
trap 'umount -l "$T/run" 2>/dev/null; cleanup' EXIT
start_daemon --run-dir "$T/run"
n=0
while touch "$T/run/fill$n" 2>/dev/null; do ((n++)); done
is "$(api_status POST /v1/ensembles '{"name": "r", "members": {"command": ["true"], "parameters": {"grid": {"i": [1, 2]}}, "retries": 0}}')" \
	201 "an ensemble is accepted"
wait_for 20 'grep -q "no room for its directories" "$DAEMON_LOG"' || bail "nothing is said of the full run directory"
is "$(api GET /v1/ensembles/1 | jq -c '.members.failed, .members.succeeded' | xargs)" "0 0" "its members wait"
rm "$T"/run/fill*
ok "they run once there is room" wait_ensemble 1 30
is "$(jq -r .members.succeeded "$T/ensemble.json")" 2 "and succeed"
is "$(for i in 0 1; do api GET "/v1/ensembles/1/members/$i" | jq '.attempts | length'; done | xargs)" "1 1" "by their first attempts"
done_testing
