#!/usr/bin/env bash
# The things that other users of the machine can see, and the effects that messages on the control socket can have.
TEST_LIMIT=180
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
say=$builddir/tests/t/control-say

# A rank that can be reached, so that members run; all wait until they are told to end.
cat >"$T/rank.sh" <<EOF
d=\$STRETTO_STREAM/g1-rank0.json
echo '{"version": 1, "generation": 1, "rank": 0, "ranks": 1, "host": "h", "endpoints": ["ipc:///nowhere"]}' >"\$d.tmp"
mv "\$d.tmp" "\$d"
env >env
while [ ! -e "$T/over" ]; do sleep 0.1; done
EOF
cat >"$T/member.sh" <<EOF
env >env
echo 'what nobody else may read' | tee result
while [ ! -e "$T/over" ]; do sleep 0.1; done
EOF
jq -n --arg t "$T" '{name: "t", width: 2, members: {command: ["sh", ($t + "/member.sh")], parameters: {grid: {i: [0, 1]}}, resources: {tmpdir: true}},
	training: {streams: "optional", command: ["sh", ($t + "/rank.sh")], fields: {u: {dtype: "float32", shape: [4]}}}}' >"$T/spec.json"

echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"

# open_files DIR...: what others may do anything with
open_files() { find "$@" -not -type l -perm /077 -printf '%M %p\n'; }

for mask in 000 077; do
	rm -f "$T/over"
	STATE=$T/state$mask RUN=$T/run$mask SOCKET=$T/state$mask/stretto.sock DAEMON_LOG=$T/log$mask
	export STRETTO_URL=unix:$SOCKET
	(umask $mask && mkdir "$STATE" "$RUN")
	umask $mask
	STRETTO_TOKEN=stretto_1_of-another-daemon start_daemon --config "$T/config.json" --run-dir "$RUN" --listen tcp:127.0.0.1:0
	umask 022
	token=$(stretto token create --role admin 2>/dev/null)
	ID=$(submit "$T/spec.json")
	# shellcheck disable=SC2016 # for wait_for
	wait_for 40 '[ "$(find "$RUN/e$ID/members" -name result -size +0 | wc -l)" = 2 ]' || bail "no member runs"

	is "$(open_files "$STATE" "$RUN")" "" "umask $mask: no file, directory or socket is open to others"
	# shellcheck disable=SC2046 # directories
	is "$(open_files $(jq -r .tmpdir "$RUN/e$ID"/jobs/*/claim.json))" "" "umask $mask: nor in the jobs' temporary directories"
	[ "$(find "$STATE" "$RUN" | wc -l)" -gt 25 ] || fail "what was looked at is not there"

	for pid in $(jq -r .pid "$RUN/e$ID"/jobs/*/claim.json); do jobfd "$pid"; done >"$T/descriptors"
	{
		jq -r .stream_key "$RUN/e$ID/training/g1/training.json"
		echo "${token#stretto_*_}"
		echo of-another-daemon
	} >"$T/secrets"
	is "$(awk '{ print length }' "$T/secrets" | paste -s -d ' ')" "16 43 17" "the secrets to look for"
	is "$(grep -l -s -a -F -f "$T/secrets" "$DAEMON_LOG" "$STATE/listen.json" /proc/[0-9]*/cmdline)" "" \
		"umask $mask: none is in a log, in listen.json or in what ps shows"
	grep -v -x "$(jq -r .stream_key "$RUN/e$ID/training/g1/training.json")" "$T/secrets" >"$T/elsewhere"
	mapfile -t environments < <(find "$RUN" -name env)
	is "${#environments[@]} $(grep -l -e STRETTO_TOKEN "${environments[@]}")$(grep -l -F -f "$T/elsewhere" "${environments[@]}")" \
		"3 " "umask $mask: members and ranks find no token in their environment"
	[ $mask = 077 ] && break
	: >"$T/over"
	stop_daemon
	is "$DAEMON_STATUS" 0 "the daemon ends well"
	ok "so do its members and ranks" wait_for 40 '[ -z "$(left_behind)" ]' # which look for the file that the next round removes
done

# --- the control socket

socket=$STATE/control.sock
is "$(jq -r .control "$T/descriptors" | sort -u)" "$socket" "the jobs know the control socket"
job=$(jq -r 'select(.kind == "members").job' "$T/descriptors" | sort | head -n 1)
count() { api GET /metrics | sed -n "s/^stretto_control_messages_total{result=\"$1\"} //p"; }
dropped() { grep -c 'control message dropped' "$DAEMON_LOG"; }
exit_of() { echo "{\"version\":1,\"job\":\"$1\",\"what\":\"exit\"}"; }

is "$(count other_user) $(count malformed) $(dropped)" "0 0 0" "what the runners said was believed"
before=$(sqlite3 -readonly "$STATE/stretto.db" .dump | sha256sum)

# more of them than the daemon takes at a time, and none behind them
taken=$(count taken)
mapfile -t burst < <(yes "$(exit_of "$job")" | head -n 900)
ok "900 messages are sent at once" "$say" "$socket" "${burst[@]}" "$(exit_of st-no-such-job)"
# shellcheck disable=SC2016 # for wait_for
ok "all of them are taken" wait_for 10 '[ "$(count taken)" -ge $((taken + 901)) ]'

"$say" "$socket" "$(exit_of "../$job")" "{\"version\":1,\"job\":\"$job\",\"what\":\"boom\"}" \
	'{"version":1,"job":' '[[[[' '' "$(printf 'x%.0s' {1..300})"
# shellcheck disable=SC2016 # for wait_for
ok "what is no message is counted" wait_for 10 '[ "$(count malformed)" = 6 ]'
is "$(dropped)" 1 "one line tells of it"
is "$(sqlite3 -readonly "$STATE/stretto.db" .dump | sha256sum)" "$before" "nothing has changed"

# a daemon that was killed leaves its socket
kill_daemon
ok "the socket is left" [ -S "$socket" ]
start_daemon --config "$T/config.json" --run-dir "$RUN"
ok "a message after a restart" "$say" "$socket" "$(exit_of "$job")"
# shellcheck disable=SC2016 # for wait_for
ok "is taken, too" wait_for 10 '[ "$(count taken)" -ge 1 ]'

rm "$socket" # from now on all messages are lost
: >"$T/over"
# shellcheck disable=SC2016 # for wait_for
ok "the members end without it" wait_for 40 '[ "$(api GET "/v1/ensembles/$ID" | jq ".members.succeeded + .members.cancelled")" = 2 ]'
done_testing
