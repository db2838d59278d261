#!/usr/bin/env bash
# Two runners of one job: the first is held up right before it claims the job, while the daemon dies; the next daemon
# cannot know of it, and starts another. Only one of them may run the job, whichever comes first.
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

# held_up: an ensemble whose runner is stopped before it links its claim; then the daemon is killed. Its pid: $HELD.
held_up() {
	rm -f "$T/held" "$T/starts"
	KILLER_stretto_run=link:1:before KILLER_SIGNAL=19 KILLER_LOG=$T/held LD_PRELOAD=$killer \
		"$builddir/strettod" --state-dir "$STATE" --config "$T/config.json" </dev/null >>"$DAEMON_LOG" 2>&1 &
	DAEMON_PID=$!
	wait_for 30 is_ready || bail "the daemon did not get ready"
	ID=$(submit "$T/spec.json")
	wait_for 30 '[ -s "$T/held" ] && [ "$(state_of "$(cut -d " " -f 2 "$T/held")")" = T ]' || bail "no runner is held up"
	HELD=$(cut -d ' ' -f 2 "$T/held")
	kill_daemon
	start_daemon --config "$T/config.json"
}

held_up
ok "the next daemon starts another runner" wait_for 30 '[ "$(cat "$T/starts")" = "start 1" ]'
kill -CONT "$HELD"
ok "the first, going on, sees that it comes second, and ends" wait_for 30 '[ ! -e "/proc/$HELD" ]'
is "$(cat "$T/starts")" "start 1" "without starting anything"
echo x >&9
ok "the ensemble ends" wait_ensemble "$ID" 30
is "$(jq .members.succeeded "$T/ensemble.json") $(db "SELECT group_concat(outcome) FROM attempt WHERE ensemble = $ID")" \
	"1 succeeded" "with one attempt"
stop_daemon

# the first one claims it while the second starts: the daemon follows the first
held_up
kill -CONT "$HELD"
wait_for 30 '[ "$(cat "$T/starts")" = "start 1" ]'
kill_daemon
start_daemon --config "$T/config.json"
echo x >&9
ok "the ensemble ends, whoever was first" wait_ensemble "$ID" 30
is "$(cat "$T/starts") $(db "SELECT group_concat(outcome) FROM attempt WHERE ensemble = $ID")" "start 1 succeeded" \
	"and the job ran once"
is "$(ls "$TMPDIR")" "" "no temporary directory is left"
done_testing
