#!/usr/bin/env bash
# Merged output: one file has the standard output and the standard error in the order of writes, also from the archive.
# shellcheck disable=SC2016 # for the members' shells and wait_for
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
jq -n '{name: "merged", members: {command: ["sh", "-c",
	"for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done; [ {x} = 0 ] || {{ echo {x} has failed; exit 3; }}"],
	output: "merged", retries: 0, parameters: {grid: {x: [0, 1]}}}}' >spec.json
wanted='out 1 err 1 out 2 err 2 out 3 err 3 out 4 err 4 out 5 err 5'
id=$(submit spec.json)
wait_ensemble "$id" 60
members=/v1/ensembles/$id/members
attempt=$STATE/run/e$id/members/0/0/a1
is "$(api GET "$members/0/stdout" | xargs)" "$wanted" "the standard output has all writes in their order"
is "$(stretto logs "$id.1" | xargs)" "$wanted 1 has failed" "stretto logs shows them"
ok "there is no second file" test ! -e "$attempt/stderr"
is "$(api_status GET "$members/0/stderr") $(jq -r .code api.body)" "404 output_merged" "the standard error is said to be in it"
status_is 3 "and so does stretto logs" stretto logs --stderr "$id.0"
like "$(cat err)" 'members.output' "which names the key of the spec"
is "$(api GET "$members/1" | jq -r .reason)" "exit status 3: 1 has failed" "a failure is told with the last line of the one file"
is "$(api GET "/v1/ensembles/$id/failures" | jq -r '.failures[0].example.stderr' | tail -n 2 | xargs)" "err 5 1 has failed" \
	"and with its last lines"
stop_daemon

# --- from the archive, and in an allocation
echo '{"archive_after": "0s"}' >now.json
start_daemon --config now.json
wait_for 60 '[ ! -e "$attempt" ]'
is "$(api GET "$members/0/stdout" | xargs)" "$wanted" "the archive has them, too"
is "$(api_status GET "$members/0/stderr") $(jq -r .code api.body)" "404 output_merged" "and still no standard error"
jq '.allocation = {cpus: 1}' spec.json >inside.json
id=$(submit inside.json)
wait_ensemble "$id" 60
is "$(api GET "/v1/ensembles/$id/members/0/stdout" | xargs)" "$wanted" "members in an allocation merge theirs"

# --- a training
jq -n '{name: "ranks", members: {command: ["true"], parameters: {grid: {x: [0]}}}, training: {streams: "optional", retries: 0, output: "merged",
	command: ["sh", "-c", "echo out; echo err >&2; echo end; exit 1"], fields: {f: {dtype: "float32", shape: [1]}}}}' >training.json
id=$(submit training.json)
wait_ensemble "$id" 60
training=$(jq .training.id ensemble.json)
is "$(api GET "/v1/trainings/$training/stdout" | xargs)" "out err end" "the ranks of a training merge theirs"
is "$(api_status GET "/v1/trainings/$training/stderr") $(jq -r .code api.body)" "404 output_merged" "and say so"
done_testing
