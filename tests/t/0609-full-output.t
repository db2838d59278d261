#!/usr/bin/env bash
# Each command fails if what it prints cannot be written: a script that keeps half a table must learn of it.
. "${srcdir:-.}/tests/t/lib.sh"

[ -c /dev/full ] || skip_all "no /dev/full"
start_daemon
jq -n '{name: "one", members: {command: ["sh", "-c", "seq 100000"], parameters: {grid: {x: [1, 2]}}}}' >spec.json
is "$(submit spec.json)" 1 "an ensemble"
wait_ensemble 1 30
mkfifo end
jq --arg end "$T/end" '.members.command[2] = "read x <" + $end | .members.parameters.grid.x = [1]' spec.json >waits.json
is "$(submit waits.json)" 2 "and one that goes on"

full() { # NAME COMMAND...
	local name=$1 status=0
	shift
	timeout -k 5 $((20 * PATIENCE)) "$@" >/dev/full 2>err || status=$?
	is "$status $(grep -c -e 'cannot be written' -e 'cannot write' err)" "1 1" "$name fails, and says why"
}
full "the version" stretto --version
full "the help" stretto --help
full "a command's help" stretto submit --help
for command in status 'status 1' 'status --json' 'status 1 --watch' 'members 1' 'members 1.0' 'members 1 --json' checkpoints 'logs 1.0' \
	'logs 1.0 --follow' 'wait 1' 'wait 1 --json' adapters jobs 'jobs --json' 'token list' 'token create --role reader' 'submit spec.json' \
	'submit --wait spec.json' 'backup' 'resize 2 --width 5' 'pause 2' 'resume 2' 'cancel 2' '__complete st'; do
	# shellcheck disable=SC2086 # words
	full "stretto $command" stretto $command
done
full "the daemon's help" strettod --help
full "and its version" strettod --version
status_is 0 "nothing that is printed is nothing that is lost" bash -c 'stretto logs 1.0 --stderr >/dev/full'
done_testing
