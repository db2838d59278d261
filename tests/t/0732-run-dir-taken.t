#!/bin/bash
# A run directory is one database's: what another one's ensembles of the same numbers left there is nobody's result or
# checkpoint.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

RUN=$T/runs
spec() { # NAME COMMAND
	jq -n --arg name "$1" --arg command "$2" '{name: $name, members: {command: ["sh", "-c", $command],
		parameters: {grid: {x: [0]}}, success: {file: "result"}, checkpoint: {glob: "*.ckpt"}, retries: 0}}'
}
# shellcheck disable=SC2016 # for the members' shell
spec first 'echo 1 >result; echo 1 >"$STRETTO_CHECKPOINT_DIR/1.ckpt"' >first.json
# shellcheck disable=SC2016
spec later 'echo "found $(ls) $STRETTO_RESUME $(ls "$STRETTO_CHECKPOINT_DIR")"' >later.json
# Its members leave nothing, so they must fail, and see nothing.
alone() { # ID
	status_is 1 "a member without a result fails" stretto submit --wait later.json
	like "$(cat out)" "ensemble $1 later: failed" "and its ensemble has a number of its own"
	like "$(cat out)" "$1\\.0 failed: .*\"result\" is missing" "that nobody left a result by"
	is "$(tr '\n' ' ' <"$RUN/e$1/members/0/0/a1/stdout" | xargs)" "found stderr stdout" "nor a checkpoint"
}
refused() { # STATE
	status_is 1 "a daemon with another state directory does not start" timeout $((20 * PATIENCE)) strettod --state-dir "$1" --run-dir "$RUN"
	like "$(tail -n 1 err)" "the run directory $RUN is that of the daemon with the state directory $2 .*--run-dir.*\(run_dir_taken\)$" \
		"and tells whose it is"
}

start_daemon --run-dir "$RUN"
ok "an ensemble" stretto submit --wait first.json
refused "$T/other" "$STATE"
stretto backup "$T/backup.db" >/dev/null
stop_daemon
refused "$T/other" "$STATE"
start_daemon --run-dir "$RUN"
is "$(stretto status --json | jq '.ensembles | length')" 1 "the daemon whose it is goes on with it"
stop_daemon

rm "$STATE"/stretto.db*
start_daemon --run-dir "$RUN"
alone 2
stop_daemon

rm "$RUN/owner.json"
FIRST=$STATE STATE=$T/other SOCKET=$T/other/stretto.sock STRETTO_URL=unix:$T/other/stretto.sock
start_daemon --run-dir "$RUN"
alone 3
stop_daemon
refused "$FIRST" "$T/other"

# A backup is another's by right.
mkdir -m 700 "$T/restored"
cp backup.db "$T/restored/stretto.db"
STATE=$T/restored SOCKET=$T/restored/stretto.sock STRETTO_URL=unix:$T/restored/stretto.sock
start_daemon --run-dir "$RUN"
is "$(stretto status 1 --json | jq -r .name)" first "a backup is restored with the run directory of before"
alone 4
stop_daemon

echo '{' >"$RUN/owner.json"
status_is 1 "a file that cannot be read is not taken for nobody's" timeout $((20 * PATIENCE)) strettod --state-dir "$STATE" --run-dir "$RUN"
like "$(tail -n 1 err)" "$RUN/owner\\.json:[0-9]+:" "but named"

done_testing
