#!/bin/bash
# Every command of `stretto` against a real daemon: what it prints, and its exit status.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

spec() { # NAME COMMAND: four members that run `sh -c COMMAND`
	jq -n --arg name "$1" --arg command "$2" '{name: $name, width: 4, members: {command: ["sh", "-c", $command],
		parameters: {grid: {x: [0, 1, 2, 3]}}, retries: 0}}'
}
spec good 'echo "hello {x}"; echo "oops {x}" >&2' >good.json
spec bad 'echo "cannot open mesh{x}.dat" >&2; test {x} != 3' >bad.json
# shellcheck disable=SC2016 # for the member's shell
spec held 'while ! test -e "$HOME/go"; do sleep 0.1; done' >held.json

# --- no daemon, and what needs none
status_is 4 "no daemon: exit status 4" stretto status
like "$(cat err)" "no daemon answers at unix:$SOCKET.*strettod" "and a message that says how to start one"
status_is 2 "no command: exit status 2" stretto
status_is 2 "an unknown command: exit status 2" stretto frobnicate
status_is 2 "an unknown option: exit status 2" stretto status --frobnicate
status_is 2 "an id that is none: exit status 2" stretto wait seven
status_is 2 "a file that is not there: exit status 2" stretto submit none.json
printf '{\n  "name": "x",\n  "width" 4\n}\n' >broken.json
status_is 2 "broken JSON: exit status 2" stretto submit broken.json
like "$(cat err)" 'broken\.json:3:[0-9]+: ' "and the file, line and column are named"
status_is 0 "--help" stretto submit --help
like "$(stretto --version)" '^stretto [0-9]' "--version"

# shellcheck disable=SC2119 # no options
start_daemon

# --- submit, wait
status_is 0 "submit --wait: exit status 0 when all went well" stretto submit --wait good.json
like "$(cat out)" 'ensemble 1 good: complete' "the report names the ensemble and its state"
like "$(cat out)" "curl --unix-socket $SOCKET http://stretto/v1/ensembles/1" "and the curl line that shows the same"
line=$(grep -o 'curl --unix-socket .*/v1/ensembles/1$' out)
is "$($line -s | jq -c '[.id, .state, .members.succeeded]')" '[1,"complete",4]' "which works as it stands"
status_is 1 "submit --wait: exit status 1 when a member failed" stretto submit --wait - <bad.json
like "$(cat out)" '2\.3 failed: .*cannot open mesh3\.dat' "the report gives the failed member's reason"
status_is 1 "wait: the same for what is over" stretto wait 2
status_is 1 "wait --json" stretto wait 2 --json
is "$(jq -c '[.id, .state, .members.failed]' out)" '[2,"complete",1]' "prints the ensemble as one document"
is "$(jq -s length out)" 1 "and nothing else"
status_is 3 "an ensemble that is not there: exit status 3" stretto wait 99
like "$(cat err)" 'ensemble_not_found' "and the daemon's code"
jq '.widht = 4' good.json >unknown.json
status_is 3 "a refused spec: exit status 3" stretto submit unknown.json
like "$(cat err)" '\(spec_unknown_key at /widht\)' "with code and pointer"
is "$(stretto status --json | jq '.ensembles | length')" 2 "and nothing was stored"

# --- status, members, logs
status_is 0 "status lists" stretto status
is "$(awk 'NR > 1 { print $1, $2, $3, $4 }' out | xargs)" "2 bad complete 4/4 1 good complete 4/4" "newest first"
status_is 0 "status ID" stretto status 2
like "$(cat out)" 'members +4: 3 succeeded, 1 failed' "members by state"
is "$(stretto --json status 1)" "$(api GET /v1/ensembles/1)" "--json prints what the API answers"
is "$(stretto members 2 --state failed | awk 'NR > 1 { print $1, $2, $3, $5 }')" "3 failed 1 x=3" "members --state"
is "$(stretto members 1 --json | jq -c '[.members[].index]')" '[0,1,2,3]' "members --json"
is "$(stretto members 1.2 --json | jq -c '[.index, .state, (.attempts | length)]')" '[2,"succeeded",1]' "one member"
like "$(stretto members 2.3)" 'member 2\.3: failed' "one member, for people"
is "$(stretto logs 1.2)" "hello 2" "logs"
is "$(stretto logs 1.2 --stderr)" "oops 2" "logs --stderr"
is "$(stretto logs 1.2 --attempt 1)" "hello 2" "logs --attempt"
status_is 3 "logs of an attempt that never was" stretto logs 1.2 --attempt 7
status_is 3 "logs of a training that is not there" stretto logs 1.training
status_is 2 "logs of nothing in particular" stretto logs 1

# --- a word that no option knows: the refusal has the known ones, or the one that was meant
while IFS='|' read -r status words known; do
	# shellcheck disable=SC2086 # words
	status_is "$status" "refused: $words" stretto $words </dev/null
	like "$(cat err)" "$known" "the refusal says what is known"
done <<'E'
3|events --kind ensemble.complet|did you mean "ensemble.complete"
3|events --kind typo|no events of the kind "typo", as ensemble.complete is one
3|status --state failled|must be running, paused, complete, cancelled or failed
3|status --sort naem|must be created, name, state, progress, rate, or last:, min: or max:
3|members 2 --state dead|must be pending, submitted, 
3|jobs --state done|must be intent, submitted, running or ended, not "done"
3|jobs --adapter lokal|must be .*local.*, not "lokal"
3|resubmit 2 --state faild|failed, unfinished or stopped can be resubmitted, not "faild"
3|resubmit 2 --from begin|"checkpoint" or "start", not "begin"
3|follow-up 2 --state faild|failed or unfinished can go on in a follow-up, not "faild"
3|token create --role root|"root" is no role: reader, operator or admin
2|token creat|"creat" is none of create, list, revoke
2|report 2 --by aera|area, last, best, target or time, not "aera"
2|stats|did you mean "status"
E

# --- Ctrl-C, a daemon that is killed meanwhile, cancel
stretto submit held.json >/dev/null
: >err
env --default-signal=INT stretto wait 3 >out 2>err & # the shell has it ignored in the background
waiting=$!
wait_for 10 'grep -q held err'
kill -INT $waiting
wait $waiting
is $? 130 "Ctrl-C in wait: exit status 130"
like "$(cat err)" 'stretto wait 3' "and how to come back"
is "$(stretto status 3 --json | jq -r .state)" running "the work goes on"

: >err # what the one before said
stretto wait 3 >out 2>err &
waiting=$!
wait_for 10 'grep -q held err'
kill_daemon
ok "wait says that the daemon is gone" wait_for 10 'grep -q "does not answer" err'
# shellcheck disable=SC2119 # no options
start_daemon
ok "and that it is back" wait_for 10 'grep -q "the daemon is back" err'
touch "$HOME/go"
wait $waiting
is $? 0 "and waits to the end: exit status 0"
is "$(grep -c 'does not answer' err)" 1 "having said so once"

rm "$HOME/go"
stretto submit held.json >/dev/null
status_is 0 "cancel" stretto cancel 4
status_is 1 "a cancelled ensemble: wait exits 1" stretto wait 4
like "$(cat out)" 'ensemble 4 held: cancelled' "and says so"
status_is 1 "cancel what was complete: exit status 1" stretto cancel 1

# --- lists longer than a page
jq '.members.parameters = {grid: {x: [range(1203)]}} | .name = "long" | .members.command = ["false"]' good.json >long.json
long=$(submit long.json)
stretto cancel "$long" >/dev/null
is "$(stretto members "$long" --json | jq -c '[.members[].index] == [range(1203)]')" true "--json follows the cursor"
is "$(stretto members "$long" | wc -l)" 1204 "and so does the table"

done_testing
