#!/usr/bin/env bash
# Ensembles that begin when another has completed: a chain in one submission, whose stages hand files on, over a daemon
# that is killed; and what becomes of them when the other one fails or is cancelled.
# shellcheck disable=SC2016 # placeholders, and commands for wait_for
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
start_daemon

# spec NAME COMMAND: a spec of one member that runs this in a shell
spec() {
	jq -n --arg name "$1" --arg command "$2" '{name: $name, members: {command: ["sh", "-c", $command], parameters: {grid: {i: [1]}}, retries: 0}}' >"$1.json"
}
get() { api GET "/v1/ensembles/$1" | jq -c "$2"; }
spec train "until [ -e $T/go ]; do sleep 0.05; done; echo learnt >model"
jq '.members.artefacts = ["model"] | .members.results = "results/out"' train.json >train.new && mv train.new train.json
spec infer 'sed s/learnt/inferred/ "{after}/results/out/model" >answer'
jq '.members.artefacts = ["answer"] | .members.results = "results/out"' infer.json >infer.new && mv infer.new infer.json
spec report 'cat {after}/results/out/answer'
status_is 0 "three stages are one submission" stretto submit train.json infer.json report.json
[ "$(api GET /v1/ensembles | jq '.ensembles | length')" = 3 ] || bail "there is nothing to wait for"
is "$(tail -n 1 out)" "ensemble 3 report: accepted, 1 member, after ensemble 2" "each is after the one before"
is "$(get 2 '[.state, .after, .members.pending, .notice.code]')" '["running",1,1,"waits_for_ensemble"]' "the second waits for the first"
is "$(get 2 .notice.text) $(get 3 .notice.text)" '"it begins when ensemble 1 has completed" "it begins when ensemble 2 has completed, which itself waits for ensemble 1"' "which is told"
like "$(stretto status)" "2 +infer +waiting" "and to be seen in the list"
ok "the first runs" wait_for 60 '[ "$(get 1 .members.running)" = 1 ]'
kill_daemon
start_daemon
is "$(get 2 '[.after, .notice.code]') $(get 3 .after) $(api GET /v1/jobs | jq '.jobs | length')" '[1,"waits_for_ensemble"] 2 1' "so it is when the daemon was killed: one job is there"
touch go
ok "the last one ends" wait_ensemble 3 60
is "$(jq -c '[.state, .after, .notice]' ensemble.json) $(get 2 '[.state, .after]')" '["complete",null,null] ["complete",null]' "all are complete"
is "$(api GET /v1/ensembles/3/members/0/stdout)" inferred "each had the file of the one before"
status_is 0 "stretto wait says so" stretto wait 3

# after one that is complete, it begins at once
spec late 'true'
status_is 0 "after one that is complete" stretto submit --after 1 --wait late.json

# a failure goes through the chain
spec wrong "until [ -e $T/fail ]; do sleep 0.05; done; exit 1"
status_is 0 "a chain whose first stage fails" stretto submit wrong.json infer.json report.json
touch fail
ok "ends" wait_ensemble 7 60
is "$(get 6 '[.state, .reason]') $(get 7 '[.state, .reason, .members.cancelled]')" \
	'["failed","ensemble 5, after which it was to begin, has failed"] ["failed","ensemble 6, after which it was to begin, has failed",1]' "and tells why"
spec long 'sleep 100000'
stretto submit long.json late.json >/dev/null
stretto cancel 8 >/dev/null
ok "one after an ensemble that is cancelled ends" wait_ensemble 9 60
is "$(jq -c '[.state, .reason]' ensemble.json)" '["failed","ensemble 8, after which it was to begin, was cancelled"]' "and tells why"
stretto submit long.json late.json >/dev/null
status_is 0 "one that waits can be cancelled" stretto cancel 11
ok "and is over" wait_ensemble 11 60
is "$(get 10 .state)" '"running"' "which the other does not notice"
stretto cancel 10 >/dev/null

# after a family of which an earlier ensemble is under way again, though the newest is complete
jq -n --arg command "case {i} in 1) test -e $T/mended;; 2) until [ -e $T/second ]; do sleep 0.05; done;; esac" '{name: "again",
	members: {command: ["sh", "-c", $command], parameters: {grid: {i: [0, 1, 2]}}, retries: 0}}' >again.json
stretto submit again.json >/dev/null
ok "one of three members is cancelled" stretto cancel 12.2
ok "and the ensemble ends" wait_ensemble 12 60
touch mended
stretto follow-up 12 --state failed >/dev/null
ok "a follow-up has the one that failed" wait_ensemble 13 60
is "$(get 12 .family.state) $(get 13 .members.succeeded)" '"complete" 1' "and completes"
stretto resubmit 12.2 >/dev/null
stretto submit --after 12 late.json >/dev/null
is "$(get 14 '[.after, .notice.code]')" '[12,"waits_for_ensemble"]' "a stage waits for a member of the first that goes again"
touch second
ok "and begins then" wait_ensemble 14 60

# a chain whose first ensemble pauses itself, and one whose first ensemble somebody paused
N=$(api GET '/v1/ensembles?limit=1' | jq '.ensembles[0].id')
jq -n '{name: "bad", width: 1, max_same_failures: 2, members: {command: ["false"], retries: 0, parameters: {grid: {i: [0, 1, 2]}}}}' >bad.json
status_is 1 "who waits for the end of such a chain is told" timeout $((60 * PATIENCE)) stretto submit bad.json late.json late.json --wait
like "$(cat out err)" "ensemble $((N + 2)) has completed, which itself waits for ensemble $((N + 1)), which was paused: .*in the same way" "why it does not go on"
is "$(get $((N + 3)) .notice.code)" '"waits_for_held"' "and so does everybody"
stretto cancel $((N + 1)) >/dev/null
N=$((N + 3))
jq '.members.command = ["sleep", "600"]' bad.json >slow.json
stretto submit slow.json late.json >/dev/null
stretto pause $((N + 1)) >/dev/null
is "$(get $((N + 2)) .notice.code)" '"waits_for_paused"' "a pause is told likewise"
like "$(get $((N + 2)) .notice.text)" "which was paused .*stretto resume $((N + 1))" "with who did it, and what lets it go on"
stretto cancel $((N + 1)) >/dev/null

# mistakes
refused() {
	is "$(api_status POST /v1/ensembles "$(jq -c "$2" late.json)") $(jq -r .pointer api.body)" "422 $1" "$3"
}
refused /after/ensemble '.after = {ensemble: 99}' "an ensemble that is not there"
refused /after/ensemble '.after = {ensemble: 5}' "one that has failed"
refused /after/ensemble '.after = {}' "no ensemble"
refused /after/files '.after = {ensemble: 1, files: []}' "an unknown key"
refused /members/command/2 '.members.command[2] = "{after}"' "a placeholder without such an ensemble"
jq '.after = {ensemble: 1}' late.json >own.json
status_is 2 "two ensembles to begin after" stretto submit late.json own.json
like "$(cat err)" "up to ensemble [0-9]+, goes on" "what was accepted before is told"
done_testing
