#!/usr/bin/env bash
# Two runners of one job: the first is held up right before it claims the job. Only one of them may run the job,
# whichever comes first; and a daemon that is started meanwhile is not kept waiting for ever.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
. "$srcdir/tests/t/kills.sh"
echo '{"adapters": {"local": {"slots": 2}}, "python": "/bin/true"}' >"$T/config.json"
export TMPDIR=$T/tmp
mkdir "$TMPDIR"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
# the member runs until told to go on
mkfifo "$T/go"
exec 9<>"$T/go"
jq -n --arg script "echo start \$STRETTO_ATTEMPT >>$T/starts; read x <$T/go" '{name: "c", members: {
	command: ["sh", "-c", $script], parameters: {grid: {i: [1]}}, retries: 0}}' >"$T/spec.json"
state_of() { awk '{print $3}' "/proc/$1/stat" 2>/dev/null; }

# held_up: an ensemble whose runner ($HELD) is stopped before it links its claim into $JOBDIR.
held_up() {
	rm -f "$T/held" "$T/starts"
	KILLER_stretto_run=link:1:before KILLER_SIGNAL=19 KILLER_LOG=$T/held LD_PRELOAD=$killer \
		"$builddir/strettod" --state-dir "$STATE" --config "$T/config.json" </dev/null >>"$DAEMON_LOG" 2>&1 &
	DAEMON_PID=$!
	wait_for 30 is_ready || bail "the daemon did not get ready"
	ID=$(submit "$T/spec.json")
	wait_for 30 '[ -s "$T/held" ] && [ "$(state_of "$(cut -d " " -f 2 "$T/held")")" = T ]' || bail "no runner is held up"
	HELD=$(cut -d ' ' -f 2 "$T/held")
	JOBDIR=$(tr '\0' '\n' <"/proc/$HELD/cmdline" | grep . | tail -n 1)
}
outcomes() { db "SELECT group_concat(outcome) FROM attempt WHERE ensemble = $ID"; }

# another is first: the daemon follows it. It gets the descriptor from a file, since the first has the only job fd.
held_up
jobfd "$HELD" >"$JOBDIR/job.json"
"$builddir/stretto-run" "$JOBDIR" </dev/null >/dev/null 2>&1 &
OTHER=$!
ok "another runner of the job claims it" wait_for 30 '[ "$(cat "$T/starts")" = "start 1" ]'
kill -CONT "$HELD"
ok "the first, going on, sees that it comes second, and ends" wait_for 30 '[ ! -e "/proc/$HELD" ]'
is "$(cat "$T/starts")" "start 1" "without starting anything"
echo x >&9
status_is 0 "the other ends well" wait "$OTHER"
ok "the ensemble ends" wait_ensemble "$ID" 30
is "$(jq .members.succeeded "$T/ensemble.json") $(outcomes)" "1 succeeded" "with one attempt"
stop_daemon

# the first goes on while the next daemon looks for it
held_up
kill_daemon
start_daemon --config "$T/config.json"
kill -CONT "$HELD"
ok "the next daemon follows the runner of the one before" wait_for 30 '[ "$(cat "$T/starts")" = "start 1" ]'
echo x >&9
ok "the ensemble ends" wait_ensemble "$ID" 30
is "$(cat "$T/starts") $(outcomes)" "start 1 succeeded" "and the job ran once"
stop_daemon

# it does not go on
held_up
kill_daemon
start_daemon --config "$T/config.json"
ok "a runner that hangs before it has claimed anything is killed, and another started" \
	wait_for 60 '[ ! -e "/proc/$HELD" ] && [ -s "$T/starts" ]'
echo x >&9
ok "the ensemble ends" wait_ensemble "$ID" 30
is "$(wc -l <"$T/starts") $(jq .members.succeeded "$T/ensemble.json")" "1 1" "and the member ran once"
is "$(ls "$TMPDIR")" "" "no temporary directory is left"
done_testing
