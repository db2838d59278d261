#!/usr/bin/env bash
# The daemon's half of checkpoints of trainings, with ranks that only write the files of docs/run-directory.md: what is
# stored, who goes again when the next generation goes on from one, what costs a retry, and what the API and the command
# show.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
command -v python3 >/dev/null || skip_all "no Python"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }

cp "$srcdir/tests/t/scripted-rank.py" "$T/rank.py"
# say GENERATION LINE...
say() { printf '%s\n' "${@:2}" >"$T/$NAME.part" && mv "$T/$NAME.part" "$T/$NAME$1"; }
# begin NAME CHECKPOINT RESOURCES: nine members, of which 5 to 8 wait for a file
begin() {
	NAME=$1
	jq -n --argjson retries "${RETRIES:-1}" --arg t "$T" --arg name "$1" --argjson checkpoint "$2" --argjson resources "$3" '{name: $name, width: 9,
		members: {command: ["sh", "-c", "echo $STRETTO_STREAM_GENERATION; [ {i} -lt 5 ] || while [ ! -e \($t)/\($name).go ]; do sleep 0.1; done"],
			parameters: {grid: {i: [range(9)]}}},
		training: {ranks: 2, streams: "optional", command: ["python3", ($t + "/rank.py"), ($t + "/" + $name)], retries: $retries, checkpoint: $checkpoint,
			resources: $resources, fields: {u: {dtype: "float32", shape: [1]}}}}' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
	RUN=$STATE/run/e$ID
}
ensemble() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
attempts() { db "SELECT group_concat(attempts, '') FROM (SELECT attempts FROM member WHERE ensemble = $ID ORDER BY idx)"; }
events() { db "SELECT json_extract(detail, '$.$1') FROM event WHERE ensemble = $ID AND kind = 'training.$2' ORDER BY id" | xargs; }
reaches() { # GENERATION SUCCEEDED
	wait_for 60 "[ \"\$(ensemble '[.training.generation, .training.state, .members.succeeded, .members.running]')\" = '[$1,\"running\",$2,$((9 - $2))]' ]" ||
		bail "generation $1 does not get as far: $(ensemble .) $(cat "$RUN/training/g$1/rank0/stderr")"
}

jq -n '{adapters: {local: {slots: 60}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
begin a '{"every": "5m", "before": "2m", "grace": "30s", "keep": 2}' '{"walltime": "1h"}'
A=$ID
# Another one meanwhile, whose ranks are warned after 20 s and have 20 s more: the first generation waits for its end,
# the second gets no further.
begin b '{"before": "20s", "signal": "USR2"}' '{"walltime": "40s"}'
B=$ID
say 1 "save g1-s10 1 0,1,2,3,4 0,1,2,3,4" warned "save g1-s20 2 0,1,2,3,4 0,1,2,3,4" wait
say 2 "save g2-s20 2 0,1,2,3,4 0,1,2,3,4" unfinished
NAME=a ID=$A RUN=$STATE/run/e$A
reaches 1 5
is "$(jq -c '[.checkpoint.dir, .checkpoint.every, .checkpoint.before, .checkpoint.keep, .resume]' "$RUN/training/g1/training.json")" \
	"[\"$RUN/training/checkpoints\",300,120,2,null]" "ranks learn where checkpoints are, and when they are due"
is "$(ensemble '[.training.checkpoint, .training.resumed_from, .training.failures]')" '[null,null,0]' "there is none at first"

# Three of five members that have succeeded are whole in the files of both ranks. The rest goes again. (Later, both name
# the second attempts of those that have had one.)
say 1 "save g1-s10 1 0,1,2,8 0,1,2,3" "save g1-s20 2 0,1,2,3 0,2,1,4,7" die
reaches 2 5
is "$(ensemble '[.training.failures, .training.resumed_from, .training.checkpoint.name]')" '[1,"g1-s20","g1-s20"]' \
	"the next generation goes on from the newest checkpoint"
is "$(jq -c .resume "$RUN/training/g2/training.json")" '{"name":"g1-s20","step":20}' "and its ranks are told so"
is "$(attempts)" 111222222 "members that are whole in it stay succeeded, all others go again"
is "$(events checkpoint restarted) $(events members restarted)" "g1-s20 6" "an event tells so"
is "$(events name checkpoint) $(events step checkpoint) $(events batches checkpoint) $(events size checkpoint)" \
	"g1-s10 g1-s20 10 20 1 2 12345 12345" "each checkpoint was told of"
is "$(ensemble '.training.checkpoint | [.of, .step, .batches, .drawn, .whole, .ranks, .size, .digest, .path, (.time | length)]')" \
	"[\"training\",20,2,8,3,2,12345,\"00112233445566ff\",\"$RUN/training/checkpoints/g1-s20/state-rank0\",24]" "the API has all of it"
like "$(stretto status "$ID")" "checkpoint g1-s20, step 20, 12345 bytes, .*; went on from g1-s20" "so does status"

# The time is nearly over: all ranks save and end. The daemon is away meanwhile.
kill_daemon
say 2 "save g2-s30 3 0,1,2,3:2,4:2 0,1,2,3:2,4:2" unfinished
wait_for 30 '[ -e "$RUN/training/g2/done-rank1.json" ]'
start_daemon --config "$T/config.json"
reaches 3 5
is "$(ensemble '[.training.failures, .training.resumed_from]') $(attempts)" '[1,"g2-s30"] 111223333' \
	"a generation that was out of time costs no retry, and members that its checkpoint has are not run again"
like "$(ensemble .training.before)" 'generation 2: its ranks ended because their time was nearly over' "the reason says so"
is "$(api GET "/v1/checkpoints?training=$(ensemble .training.id)" | jq -c '[.checkpoints[].name]')" '["g1-s20","g2-s30"]' \
	"two are kept, and the list has them"
is "$(stretto checkpoints "$ID.training" | awk '{print $1, $2}' | xargs)" "of step $ID.training 20 $ID.training 30" "the command, too"
is "$(db "SELECT sum(failures + losses) FROM member")" 0 "nothing of it has cost a member a retry"
: >"$T/a.go"
wait_for 60 "[ \"\$(ensemble .members.succeeded)\" = 9 ]"
say 3 "save g3-s40 4 0,1,2,3,4,5,6,7 0,1,2,3,4,5,6,7" done
ok "it ends" wait_ensemble "$ID" 60
is "$(jq -c '[.state, .training.state, .training.generation, .training.failures]' "$T/ensemble.json")" '["complete","done",3,1]' "well"
is "$(ensemble .training.checkpoint.name)" '"g3-s40"' "what the ranks left last is known after the end"

# Ended at its walltime with a checkpoint, it goes on at once; without a further one it has failed, and says so.
ID=$B
ok "it ends" wait_ensemble "$ID" 60
is "$(jq -c '[.training.generation, .training.resumed_from]' "$T/ensemble.json")" '[2,"g1-s20"]' "ranks are warned by the signal, and what they left then is the newest"
is "$(db "SELECT not_before <= (SELECT max(time) FROM event WHERE ensemble = $ID AND kind = 'training.restarted') FROM training WHERE ensemble = $ID")" 1 \
	"it has gone on without being put off"
is "$(jq -r '.training.state' "$T/ensemble.json")" failed "a generation that got no further is the last one"
like "$(jq -r '.training.reason' "$T/ensemble.json")" 'their time was nearly over; it had left no checkpoint that is further than g1-s20' "and the reason says so"
is "$(jq '.training.failures' "$T/ensemble.json")" 1 "that was a failure, and the one before was none"

# A second failure is one too many, however far it got.
begin c '{}' '{}'
say 1 "save g1-s10 1 0,1,2,3,4 0,1,2,3,4" "enlist g1-s15 2" die
say 2 "save g2-s20 2 0,1,2,3,4 0,1,2,3,4" die
ok "it ends" wait_ensemble "$ID" 60
is "$(jq -c '[.state, .training.generation, .training.failures]' "$T/ensemble.json")" '["failed",2,2]' "each failure costs a retry"
is "$(events checkpoint restarted)" g1-s10 "nothing goes on from a checkpoint that is listed and not there"
like "$(cat "$DAEMON_LOG")" "nothing can go on from checkpoint g1-s15" "the log tells of it"
# A rank takes a damaged checkpoint out of the list, and the next generation goes on from the one before.
RETRIES=2 begin d '{}' '{}'
say 1 "save g1-s10 1 0,1,2,3,4 0,1,2,3,4" "save g1-s20 2 0,1,2,3,4 0,1,2,3,4" die
reaches 2 5
like "$(stretto status "$ID")" 'failures   1, 1 retry left' "status tells how many retries are left"
say 2 "drop g1-s20" die
reaches 3 5
is "$(ensemble '[.training.failures, .training.retries_left, .training.resumed_from, .training.checkpoint.name]')" '[2,0,"g1-s10","g1-s10"]' \
	"what is damaged is not gone on from again"
is "$(api GET "/v1/checkpoints?training=$(ensemble .training.id)" | jq -c '[.checkpoints[] | [.name, .damaged]]')" '[["g1-s10",false],["g1-s20",true]]' \
	"the list tells that it is damaged"
like "$(stretto checkpoints "$ID.training")" 'g1-s20/state-rank0 \(damaged\)' "the command, too"
say 3 "save g3-s20 2 0,1,2,3,4 0,1,2,3,4" "save g3-s30 3 0,1,2,3,4 0,1,2,3,4" "until $T/d.end" die
wait_for 60 "[ \"\$(ensemble .training.checkpoint.name)\" = '\"g3-s30\"' ]"
is "$(api GET "/v1/checkpoints?training=$(ensemble .training.id)" | jq -c '[.checkpoints[] | [.name, .damaged]]')" \
	'[["g1-s20",true],["g3-s20",false],["g3-s30",false]]' "what is kept no longer goes, and is not called damaged"
: >"$T/d.end"
ok "it ends" wait_ensemble "$ID" 60
generations() { api GET "/v1/trainings/$(ensemble .training.id)/generations$1" | jq -c "$2"; }
is "$(generations "" '[.generations[] | [.number, .ranks, .end, .resumed_from, .resumed_step]], .next' | xargs)" \
	"[[3,2,failed,g1-s10,10],[2,2,failed,g1-s20,20],[1,2,failed,null,null]] null" "the generations are listed"
is "$(generations "?limit=2" '[.generations[].number], .next' | xargs) $(generations "?limit=2&cursor=2" '[.generations[].number], .next' | xargs)" \
	"[3,2] 2 [1] null" "in pages"
is "$(generations "" '[.generations[] | (.started < .ended) and (.reason | startswith("rank 0 failed: "))] | unique')" '[true]' \
	"with when and why each ended"
is "$(api GET /v1/trainings/1/generations | jq -c '[.generations[] | [.number, .end]]') $(api_status GET /v1/trainings/99/generations)" \
	'[[3,"done"],[2,"out_of_time"],[1,"failed"]] 404' "as it ended"
is "$(api GET "/v1/checkpoints" | jq -c '[.checkpoints[] | "\(.of) \(.ensemble) \(.name)"]')" \
	'["training 1 g2-s30","training 1 g3-s40","training 2 g1-s20","training 2 g2-s20","training 3 g2-s20","training 4 g1-s20","training 4 g3-s20","training 4 g3-s30"]' "all are listed by training"
# as api/openapi.yaml says
for python in python3 /usr/bin/python3; do
	"$python" -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null && break
	python=
done
api GET /openapi.json >"$T/openapi.json"
fits() { # SCHEMA PATH
	if [ -z "$python" ]; then skip "$2 (no Python here has jsonschema)"; return; fi
	api GET "$2" >"$T/answer.json"
	ok "$2 answers as described" "$python" -c 'import json, sys, jsonschema
doc = json.loads(open(sys.argv[1]).read().replace("#/components/schemas/", "#/$defs/"))["components"]["schemas"]
jsonschema.validate(json.load(open(sys.argv[3])), dict(doc[sys.argv[2]], **{"$defs": doc}), jsonschema.Draft202012Validator)' \
		"$T/openapi.json" "$1" "$T/answer.json"
}
fits CheckpointPage /v1/checkpoints
fits Training /v1/trainings/1
fits Generations /v1/trainings/4/generations
is "$(api_status GET "/v1/checkpoints?training=9") $(api_status GET "/v1/checkpoints?training=1&ensemble=1")" "404 400" "others are not there"
done_testing
