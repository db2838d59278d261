#!/bin/bash
# Shell completion, as bash and zsh ask for it.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

offers() { stretto __complete "$@" 2>&1 | cut -f 1 | xargs; }
# knows WANTED NAME COMMAND...: what the daemon tells is offered. One that does not answer at once is not waited for: on
# a busy machine it takes more than one Tab.
knows() {
	local asked=("${@:3}") wanted=$1
	# shellcheck disable=SC2016 # for wait_for
	ok "$2" wait_for 10 '[ "$("${asked[@]}")" = "$wanted" ]'
}

# --- what needs no daemon
is "$(offers '')" "$(stretto --help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | xargs)" "every command"
is "$(offers res)" "resume resize resubmit results" "what begins like it"
for command in $(offers ''); do
	is "$(stretto __complete "$command" -- | cut -f 1 | sort | xargs)" \
		"$(stretto "$command" --help | grep -o -E -- '^ .*--[a-z]+=?' | grep -o -E -- '--[a-z-]+=?' |
			grep -v -E -- '--(usage|version)' | sort -u | xargs)" "$command: every option of its --help"
done
is "$(offers members -s f)" "failed" "a value"
is "$(offers members --state=f)" "--state=failed" "a value after ="
# as the table of states has them
states=$(sed -n 's/^ *X([A-Z]*, "\([a-z]*\)".*/\1/p' "$srcdir/common/member_state.h" | xargs)
is "$(offers --json members 7 --state '')" "$states" "all values"
is "$(offers token '')" "create list revoke" "words that stand for themselves"
is "$(offers token create '')" "" "and nothing where they are over"
is "$(offers token --role reader '')" "create list revoke" "the value of an option is none of them"
is "$(offers token --role=reader -j c)" "create" "nor is an option without one"
is "$(offers submit '')" ":files" "a file"
is "$(offers frobnicate '')" "" "an unknown command"
is "$(offers --url)" "--url=" "an option before the command"
is "$(offers --url '')" "" "and its value"
is "$(offers status '')" "" "no daemon: no ids, and no message"

# --- a daemon that hangs costs no more than a moment
python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(5); print("up", flush=True); time.sleep(100)' \
	"$T/hang.sock" >hang.out &
hanging=$!
wait_for 10 'grep -q up hang.out'
status_is 0 "a daemon that hangs is given up" timeout $((4 * PATIENCE)) stretto --url "unix:$T/hang.sock" __complete status ''
is "$(cat out)" "" "and says nothing"
kill $hanging
wait $hanging 2>/dev/null

# --- ids
# shellcheck disable=SC2119 # no options
start_daemon
jq -n '{name: "one: two", members: {command: ["true"], parameters: {grid: {x: [0, 1, 2]}}}}' >spec.json
stretto submit --wait spec.json >/dev/null 2>&1
submit spec.json >/dev/null
for command in status members checkpoints wait pause resume resize resubmit follow-up cancel jobs logs; do
	knows "2 1" "$command: ids" offers "$command" ''
done
knows "1.0 1.1 1.2 1.training" "logs: members and training" offers logs 1.
knows "1.1" "members: members" offers members 1.1
knows "1.1" "checkpoints: members, too" offers checkpoints 1.1
is "$(offers pause 1.)" "" "pause: no members"
is "$(offers token revoke '')" "" "token: no ensembles"
knows "local alps pbs slurm slurmrestd" "adapters" offers jobs --adapter ''
knows "--adapter=slurm --adapter=slurmrestd" "adapters after =" offers jobs --adapter=sl
knows "1" "by --url" offers --url "unix:$SOCKET" status 1
knows $'1\tone: two: complete' "with what they are" stretto __complete status 1

# --- the values in the table are those that the daemon takes
for state in $(offers members --state ''); do
	status_is 0 "members --state $state" stretto members 1 --state "$state"
done
for state in $(offers status --state ''); do
	status_is 0 "status --state $state" stretto status --state "$state"
done
for state in $(offers jobs --state ''); do
	status_is 0 "jobs --state $state" stretto jobs --state "$state"
done
stretto wait 2 >/dev/null 2>&1
for state in $(offers resubmit --state ''); do
	status_is 0 "resubmit --state $state" stretto resubmit 1 --state "$state"
done
for role in $(offers token create --role ''); do
	status_is 0 "token create --role $role" stretto token create --role "$role"
done

# --- bash, which splits words at = and :
# shellcheck disable=SC2016 # for the inner shell
by_bash() { # WORD...: as bash hands them over
	bash --norc -c 'compopt() { echo "compopt $*"; }; . "$srcdir/cli/completion/stretto.bash"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _stretto; echo "${COMPREPLY[*]}"' bash "$@" | xargs
}
is "$(by_bash stretto resi)" "resize" "bash: a command"
is "$(by_bash stretto members --state = f)" "failed" "bash: a value, which stands behind ="
is "$(by_bash stretto members --state =)" "$states" "bash: all values"
knows "1" "bash: a URL before the command" by_bash stretto --url = unix : "$SOCKET" status 1
is "$(by_bash stretto resize --w)" "compopt -o nospace --width=" "bash: an option that takes a value gets no blank"
is "$(by_bash stretto submit sp)" "compopt -o default" "bash: files"
# shellcheck disable=SC2016 # for the inner shell
is "$(bash --norc -c '. "$srcdir/cli/completion/stretto.bash"; complete -p stretto')" "complete -F _stretto stretto" "bash: it is registered"

# --- zsh
if command -v zsh >/dev/null; then
	# shellcheck disable=SC2016 # for the inner shell
	by_zsh() {
		zsh -f -c 'words=("$@"); CURRENT=$#
			_files() { print files; }
			_describe() { if [[ $1 == -o ]]; then print -r -- "options ${(P)3}"; else print -r -- "${(P)2}"; fi; }
			. "$srcdir/cli/completion/_stretto"' zsh "$@"
	}
	like "$(by_zsh stretto resi)" '^resize:change' "zsh: a command, with its description"
	like "$(by_zsh stretto members --st)" '^options --state=:only' "zsh: options"
	is "$(by_zsh stretto submit s)" "files" "zsh: files"
	knows "1:one: two: complete" "zsh: ids" by_zsh stretto status 1
else
	skip "no zsh here"
fi

done_testing
