#!/usr/bin/env bash
# Submitting: refused specs leave no trace; an Idempotency-Key makes one ensemble of many tries, over a crash, too.
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
counts() {
	for table in ensemble tally member job attempt training event idempotency; do
		sqlite3 -readonly "$STATE/stretto.db" "SELECT '$table', count(*) FROM $table"
	done
}
spec='{"name": "t", "members": {"command": ["echo", "{x}"], "parameters": {"grid": {"x": [1, 2]}}}, "width": 2}'

# refused CODE POINTER JQ-CHANGE
refused() {
	local got
	got=$(api_status POST /v1/ensembles "$(jq -c "$3" <<<"$spec")")
	is "$got $(jq -r '"\(.code) \(.pointer)"' "$T/api.body")" "422 $1 $2" "refused: $3"
}

before=$(counts)
refused spec_unknown_key /color '.color = "red"'
refused spec_unknown_key /members/comand '.members.comand = ["x"]'
refused spec_unknown_key '/a~1b~0c' '."a/b~c" = 1'
refused spec_wrong_type /width '.width = "2"'
refused spec_impossible_value /width '.width = 0'
refused spec_missing_key /members 'del(.members)'
refused spec_wrong_type /members/command '.members.command = "echo"'
refused spec_wrong_type /members/command/1 '.members.command[1] = 7'
refused spec_unfilled_placeholder /members/command/1 '.members.command[1] = "{y}"'
refused spec_unknown_adapter /adapter '.adapter = "abacus"'
training='.training = {command: ["true"], fields: {t: {dtype: "float32", shape: [1]}}}'
refused spec_unknown_key /training/checkpoint/glob "$training | .training.checkpoint = {glob: \"*\"}"
refused spec_impossible_value /training/checkpoint/every "$training | .training.checkpoint = {every: \"0s\"}"
refused spec_missing_key /training/resources/walltime "$training | .training.checkpoint = {before: \"2m\"}"
refused spec_impossible_value /training/checkpoint/before \
	"$training | .training.resources = {walltime: \"2m\"} | .training.checkpoint = {before: \"2m\"}"
refused resources_impossible /members/resources/nodes '.members.resources = {"nodes": 2}'
is "$(counts)" "$before" "refused specs leave nothing in the database"

# keyed KEY BODY: the status; the body in $T/body, the headers in $T/head
keyed() {
	curl -s -m 300 --unix-socket "$SOCKET" -D "$T/head" -o "$T/body" -w '%{http_code}' -H "Idempotency-Key: $1" \
		-H 'Content-Type: application/json' --data-binary "$2" http://stretto/v1/ensembles
}
replayed() { tr -d '\r' <"$T/head" | sed -n 's/^idempotency-replayed: //Ip'; }
location() { tr -d '\r' <"$T/head" | sed -n 's/^location: //Ip'; }

is "$(keyed one "$spec") $(replayed) $(location)" "201  /v1/ensembles/1" "accepted, and where it is"
cp "$T/body" "$T/first"
is "$(keyed one "$spec") $(replayed) $(location)" "201 true /v1/ensembles/1" "the same again is a replay"
ok "with the first reply, byte for byte" cmp "$T/first" "$T/body"
is "$(keyed one "${spec/2\}/1\}}") $(jq -r .code "$T/body")" "409 idempotency_conflict" "the key with another body"
is "$(keyed two '{"name": 1}') $(jq -r .code "$T/body")" "422 spec_wrong_type" "a refused body"
is "$(keyed two "$spec") $(replayed) $(jq -r .id "$T/body")" "201  2" "does not use the key up"

# An answered submission is there after a crash, and the key still has it.
code=$(keyed three "$spec")
kill_daemon
start_daemon
is "$code $(api GET /v1/ensembles/3 | jq -r .id)" "201 3" "accepted before a crash, there after it"
is "$(keyed three "$spec") $(replayed) $(jq -r .id "$T/body")" "201 true 3" "and the key is still known"

# Many tries at once make one.
for i in $(seq 20); do
	curl -s -m 300 --unix-socket "$SOCKET" -H 'Idempotency-Key: many' -H 'Content-Type: application/json' \
		--data-binary "$spec" http://stretto/v1/ensembles >"$T/try.$i" &
	pids+=($!)
done
wait "${pids[@]}"
is "$(cat "$T"/try.* | jq -r .id | sort -u)" 4 "twenty tries at once make one ensemble"
is "$(api GET '/v1/ensembles?limit=1' | jq -r '.ensembles[0].id')" 4 "and no other"

# Names may hold anything that JSON can.
name=$'caf\u00e9 \u266b "q" \\ </script>'
id=$(api POST /v1/ensembles "$(jq -c --arg n "$name" '.name = $n' <<<"$spec")" | jq -r .id)
is "$(api GET "/v1/ensembles/$id" | jq -r .name)" "$name" "a name comes back as it was given"
for i in 1 2 3 4 5; do wait_ensemble "$i" 60; done

# The end of each runner is reported to the thread that started the process from which it comes: a worker, if it took
# signals.
open=0
for thread in "/proc/$DAEMON_PID/task"/*; do
	[ "${thread##*/}" = "$DAEMON_PID" ] || ((0x$(sed -n 's/^SigBlk:\t//p' "$thread/status") & 1 << 16)) || open=$((open + 1))
done
is "$open" 0 "threads but the loop's take no signals"

done_testing
