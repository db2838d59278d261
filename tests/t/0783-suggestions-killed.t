#!/usr/bin/env bash
# The optimiser of examples/suggest and the daemon are killed at calls that a seed chooses: no suggestion is lost, and
# none runs twice.
TEST_LIMIT=600
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

TRIALS=${TRIALS:-24} LIVES=${LIVES:-5}
RANDOM=${SEED:-7}
echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"
start() {
	start_daemon --config "$T/config.json"
	echo "$DAEMON_PID" >"$T/pid"
}
start
cat >"$T/member.sh" <<'X'
echo "{\"step\": 1, \"loss\": $1}" >>"$STRETTO_METRICS"
echo ran >>"$2"
X
jq -n --arg member "$T/member.sh" --arg ran "$T/ran" '{name: "trials", width: 4,
	members: {command: ["sh", $member, "{x}", $ran], parameters: {open: ["x"]}, retries: 0}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
export STRETTO_URL=unix:$SOCKET

# live POINTS: the optimiser, until it ends or is killed; a daemon that was killed is started again.
live() {
	python3 "$srcdir/tests/t/kills_at.py" "$1" "$T/pid" "$srcdir/examples/suggest/optimise.py" "$ID" loss "$TRIALS" x=0..10 >"$T/best" 2>"$T/err" &
	local life=$!
	while kill -0 $life 2>/dev/null; do
		wait -n $life "$DAEMON_PID" 2>/dev/null
		is_ready || { kill_daemon && start; }
	done
	wait $life 2>/dev/null
}
point() { # MOST WHOM
	local when=sent
	[ $((RANDOM % 2)) = 0 ] || when=answered
	POINT=$when:$((1 + RANDOM % $1)):$2
}
for ((n = 1; n <= LIVES; n++)); do
	point 5 daemon
	points=$POINT
	point 9 self
	diag "life $n: $points,$POINT"
	live "$points,$POINT"
done
point 5 daemon
live "$POINT"
is $? 0 "the last life of the optimiser ends well"
diag "$(cat "$T/err")"
ok "the ensemble ends" wait_ensemble "$ID" 60
is "$(jq -c '[.state, .count, .members.succeeded, .open]' "$T/ensemble.json")" "[\"complete\",$TRIALS,$TRIALS,false]" "every trial has succeeded"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
is "$(db "SELECT count(*), count(DISTINCT name), min(idx), max(idx) FROM suggestion")" "$TRIALS|$TRIALS|0|$((TRIALS - 1))" "each is there once by its name"
is "$(db "SELECT count(*) FROM suggestion WHERE name <> 'trial-' || idx")" 0 "and is the member that the optimiser takes it for"
is "$(db 'SELECT count(*) FROM attempt') $(wc -l <"$T/ran")" "$TRIALS $TRIALS" "each ran once"
is "$(db 'SELECT count(*), count(DISTINCT idx), max(number) FROM result')" "$TRIALS|$TRIALS|$TRIALS" "each ended once"
is "$(db "SELECT count(*) FROM suggestion s JOIN member_series m ON m.ensemble = s.ensemble AND m.idx = s.idx
	WHERE abs(json_extract(s.parameters, '\$.x') - m.last) < 1e-12")" "$TRIALS" "and reported of its own parameters"
best=$(sed -n "s/^best: $ID\\.\\([0-9]*\\) loss .*/\\1/p" "$T/best")
is "$(db "SELECT count(*) FROM member_series WHERE idx = ${best:-NULL} AND last = (SELECT min(last) FROM member_series)")" 1 \
	"the optimiser knows the best, or one of those that are equally good"
done_testing
