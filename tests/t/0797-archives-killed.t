#!/usr/bin/env bash
# The daemon is killed at every step of archiving, and started again: no byte of output is lost, and nothing is left
# behind.
# shellcheck disable=SC2016,SC2154 # for wait_for; archives.sh
TEST_LIMIT=240
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
. "$srcdir/tests/t/kills.sh"
. "$srcdir/tests/t/archives.sh"

killed=0 wrong=0
for call in open write fdatasync rename unlinkat rmdir; do
	for ((n = 1; n < 100; n += 1 + n / 2)); do
		rm -rf "$STATE"
		cp -a "$T/snapshot" "$STATE"
		KILLER_strettod=$call:$n:before KILLER_LOG=$T/kills LD_PRELOAD=$killer "$builddir/strettod" --state-dir "$STATE" \
			--config "$T/now.json" </dev/null >>"$DAEMON_LOG" 2>&1 &
		DAEMON_PID=$!
		wait_for 60 'all_archived || ! kill -0 $DAEMON_PID' || bail "the daemon neither archives nor dies ($call $n)"
		if all_archived && kill -0 $DAEMON_PID 2>/dev/null; then
			kill_daemon
			break
		fi
		wait "$DAEMON_PID" 2>/dev/null
		killed=$((killed + 1))
		start_daemon --config "$T/now.json"
		outputs "$ID" >"$T/meanwhile"
		wait_for 20 all_archived || bail "it is not archived after a kill ($call $n)"
		outputs "$ID" >"$T/after"
		if ! cmp "$T/before" "$T/meanwhile" || ! cmp "$T/before" "$T/after" || [ "$(ours "$ID")" != "$left" ]; then
			diag "killed before call $n of $call: left $(ours "$ID")"
			wrong=1
			break 2
		fi
		kill_daemon
	done
done
is "$wrong" 0 "killed at any step, no byte of output is lost, and nothing is left behind"
ok "it was killed $killed times, also while it removed files" grep -q -E 'unlinkat [2-9] before' "$T/kills"
stop_daemon
done_testing
