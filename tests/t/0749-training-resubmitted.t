#!/usr/bin/env bash
# A training that has failed, was cancelled or is done is taken on from a checkpoint of one's choice, also with another
# command. The model that is left has learnt from every sample, from each once; members of which nothing is missing stay
# as they are; and whatever was answered holds, also if the daemon is killed right after it.
TEST_LIMIT=900
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"

MEMBERS=8 STEPS=10
SAMPLES=$((MEMBERS * STEPS))
RANK=$srcdir/tests/t/goes-on-rank.py
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 8}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"

# The rank raises after FAIL batches, or ten, of which the second checkpoint has eight. From the fourth on members wait
# until the file "go" is there. With retries, other generations of the rank fail, too, except in "retained": there it
# begins again where it was.
begin() { # NAME RETRIES [FAIL]
	jq -n --arg rank "$RANK" --arg t "$T" --arg fail "${3:-10}" --arg name "$1" --argjson retries "$2" --arg steps $STEPS --argjson members $MEMBERS \
		--arg member "$builddir/tests/t/stream-member" '{name: $name, width: 1,
		members: {command: ["sh", "-c", "while [ {i} -ge 3 ] && [ ! -e \($t)/go ]; do sleep 0.02; done; exec \"$@\"", "sh", $member, $steps], parameters: {grid: {i: [range($members)]}}},
		training: {command: ["python3", $rank, "on", $steps, $fail], retries: $retries, checkpoint: ({every: "1h", keep: 5} + if $retries > 0 and $name != "retained" then {retain: 0} else {} end),
			fields: {temperature: {dtype: "float32", shape: [3, 4]}, flux: {dtype: "float64", shape: [2]},
				particles: {dtype: "float32", shape: [-1, 3], max: 40}},
			buffer: {policy: "fifo", capacity: 40, threshold: 0, batch: 5}}}' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
	RUN=$STATE/run/e$ID
	TRAINING=$(ensemble .training.id)
}
ensemble() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
ends() { # until all its jobs have ended, too
	wait_ensemble "$ID" 100 && wait_for 60 '[ "$(db "SELECT count(*) FROM job WHERE ensemble = $ID AND state <> '\''ended'\''")" = 0 ]' || bail "it does not end: $(ensemble .) $(tail -n 5 "$RUN"/training/g*/rank0/stderr)"
}
attempts() { api GET "/v1/ensembles/$ID/members?limit=100" | jq -c '[.members[].attempts | if type == "number" then . else length end]'; }
names() { api GET "/v1/checkpoints?training=$TRAINING" | jq -c '[.checkpoints[].name]'; }
answer() { # TRAINING BODY: what a resubmission is answered
	api POST "/v1/trainings/$1/resubmit" "$2" >"$T/answer.json"
	jq -c --argjson status "$(cat "$T/api.status")" 'if .code then [$status, .code, .pointer] else $status end' "$T/answer.json"
}
on() { jq -nc --arg rank "$RANK" --arg steps $STEPS --argjson more "$1" '{command: ["python3", $rank, "on", $steps]} + $more'; }
learnt_all() { # GENERATION: from what the model that it left has learnt
	is "$(jq -sc --argjson steps $STEPS 'map(.learnt[]) | [length, (unique | length), (map(.[0] * $steps + .[1]) | max)]' \
		"$RUN/training/g$1"/rank*/learnt.json)" "[$SAMPLES,$SAMPLES,$((SAMPLES - 1))]" \
		"the model that is left has learnt from every sample, from each once"
	is "$(ensemble '[.state, .reason, .members.succeeded, .training.state, .training.generation, .training.unique, .training.drawn]')" \
		"[\"complete\",null,$MEMBERS,\"done\",$1,$SAMPLES,$SAMPLES]" "the ensemble is complete with generation $1, and its books balance"
}

# --- from the newest checkpoint, with another command
: >"$T/go"
begin newest 1
is "$(answer "$TRAINING" '{}')" '[409,"training_not_over",null]' "a training that is under way is not resubmitted"
ends
is "$(ensemble '[.state, .training.state, .training.failures, .training.resumed_from]')" '["failed","failed",2,"g1-s8"]' \
	"a training that raises in two generations has failed"
is "$(names)" '["g1-s4","g1-s8"]' "and has left two checkpoints"
is "$(answer 99 '{}')" '[404,"training_not_found",null]' "there is no other training"
is "$(answer "$TRAINING" '{"checkpoint": 9}')" '[422,"spec_impossible_value","/checkpoint"]' "nor a checkpoint of another number"
is "$(answer "$TRAINING" '{"checkpoint": "g1-s9"}')" '[422,"spec_impossible_value","/checkpoint"]' "nor one of another name"
is "$(answer "$TRAINING" '{"checkpoint": 0}')" '[422,"spec_impossible_value","/checkpoint"]' "numbers begin with 1"
is "$(answer "$TRAINING" '{"checkpoint": 1, "from": "start"}')" '[422,"spec_impossible_value","/checkpoint"]' "it begins at one place"
is "$(answer "$TRAINING" '{"from": "end"}')" '[422,"spec_impossible_value","/from"]' "and not at the end"
is "$(answer "$TRAINING" '{"generation": 3}')" '[422,"spec_unknown_key","/generation"]' "an unknown key is refused"
is "$(answer "$TRAINING" '{"command": []}')" '[422,"spec_impossible_value","/command"]' "and no command"
is "$(answer "$TRAINING" '{"command": ["python3", 7]}')" '[422,"spec_wrong_type","/command/1"]' "and a number in it"
is "$(answer "$TRAINING" '{"env": {"STRETTO_RANK": "1"}}')" '[422,"spec_impossible_value","/env/STRETTO_RANK"]' "and a variable of stretto"
is "$(answer "$TRAINING" '{"ranks": 0}')" '[422,"spec_impossible_value","/ranks"]' "and no rank"
is "$(answer "$TRAINING" '{"ranks": 9}')" '[422,"resources_impossible","/ranks"]' "and more than there is room for"
is "$(answer "$TRAINING" '{"resources": {"walltime": "soon"}}')" '[422,"spec_impossible_value","/resources/walltime"]' "and a wrong time"
is "$(answer "$TRAINING" '{"resources": {"tasks": 8}}')" '[422,"resources_impossible","/resources"]' "and no room for members"
is "$(answer "$TRAINING" '[]')" '[422,"spec_wrong_type",""]' "and a body that is no object"
is "$(ensemble '[.state, .training.state, .training.generation]') $(names)" '["failed","failed",2] ["g1-s4","g1-s8"]' "none of it has changed anything"
before=$(attempts)
is "$(answer "$TRAINING" "$(on '{"env": {"LR": "0.1"}, "resources": {"walltime": "1h"}}')")" 202 "it is resubmitted with another command"
is "$(jq -c '[.generation, .resumed_from, .failures]' "$T/answer.json")" '[3,"g1-s8",0]' \
	"and begins its next generation from its newest checkpoint, with all its retries"
ends
learnt_all 3
is "$(attempts | jq -c ".[:4] == ($before | .[:4])")" true "members of which that has everything do not run again"
is "$(stretto spec "$ID" | jq -c '.training | [.command[2:], .env, .resources]')" '[["on","10"],{"LR":"0.1"},{"walltime":"1h"}]' "the spec has the changes"
is "$(db "SELECT detail FROM event WHERE ensemble = $ID AND kind = 'training.resubmitted'" | jq -c '[.generation, .checkpoint, .members, .dropped]')" \
	'[3,"g1-s8",4,[]]' "an event tells of it"

# --- from an earlier checkpoint, and the daemon is killed right after its answer
begin earlier 0
ends
before=$(attempts)
rm "$T/go"
is "$(answer "$TRAINING" "$(on '{"checkpoint": "g1-s4"}')")" 202 "another one goes on from an earlier checkpoint"
kill_daemon
is "$(db "SELECT group_concat(name) FROM training_checkpoint WHERE training = $TRAINING")" g1-s4 \
	"the later one has left the list with the answer"
start_daemon --config "$T/config.json"
wait_for 60 '[ "$(ensemble "[.training.state, .training.drawn]")" = "[\"running\",30]" ]' || bail "it does not go on: $(ensemble .)"
: >"$T/go"
ends
learnt_all 2
is "$(ensemble '[.training.resumed_from, .training.failures]')" '["g1-s4",0]' "it has gone on from there"
is "$(attempts | jq -c "[.[:2] == ($before | .[:2]), ([.[2:4], ($before | .[2:4])] | transpose | all(.[0] > .[1]))]")" '[true,true]' \
	"two members have stayed, and two went again of which only the later checkpoint had everything"
is "$(names)" '["g1-s4","g2-s8","g2-s12","g2-s16"]' "the later checkpoint does not come back"
is "$(db "SELECT count(*) FROM event WHERE ensemble = $ID AND kind = 'training.checkpoint' AND detail LIKE '%g1-s8%'")" 1 "not even for a moment"
is "$(find "$RUN/training/checkpoints" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort | xargs)" "g1-s4 g2-s12 g2-s16 g2-s8" "its files are removed"

# --- that is done: once more from an earlier checkpoint, now of the command line, and by two ranks
before=$(attempts)
status_is 2 "a command needs --" stretto resubmit "$ID.training" python3
status_is 2 "ranks are a training's" stretto resubmit "$ID" --ranks 2
status_is 3 "there must be such a checkpoint" stretto resubmit "$ID.training" --checkpoint g2-s9
is "$(stretto resubmit "$ID.training" --checkpoint g2-s12 --ranks 2 --env LR=0.2 --walltime 2h -- python3 "$RANK" on $STEPS)" \
	"training $TRAINING of ensemble $ID: generation 3 goes on from checkpoint g2-s12" "stretto resubmit tells what it does"
ends
learnt_all 3
is "$(attempts | jq -c ".[:5] == ($before | .[:5])") $(ensemble .training.ranks)" "true 2" "members that had ended before that checkpoint have stayed"
is "$(attempts | jq -c "[., $before] | transpose | map(.[0] - .[1]) | .[6:]")" "[1,1]" "and those of which it has nothing went again"
is "$(stretto resubmit "$ID.training" --from start --ranks 1)" "training $TRAINING of ensemble $ID: generation 4 begins at the start" "also from the start"
ends
learnt_all 4
is "$(ensemble .training.resumed_from) $(names)" 'null ["g4-s4","g4-s8","g4-s12","g4-s16"]' "from which all checkpoints are new"

is "$(api GET "/v1/trainings/$TRAINING/generations" | jq -c '[.generations[] | [.number, .ranks, .end, .resumed_from]]')" \
	'[[4,1,"done",null],[3,2,"done","g2-s12"],[2,1,"done","g1-s4"],[1,1,"failed",null]]' "each generation is told of"

# --- that had begun again where it was, and does so once more
begin retained 1
ends
is "$(ensemble '[.training.state, .training.generation, .training.failures]')" '["failed",1,2]' "a training that raises twice in one generation has failed"
is "$(answer "$TRAINING" "$(jq -nc --arg rank "$RANK" --arg steps $STEPS '{command: ["python3", $rank, "on", $steps, "14"]}')")" 202 "it is resubmitted, to raise later"
ends
is "$(ensemble '[.training.state, .training.generation, .training.failures]')" '["failed",2,2]' "and has had all its retries again"
is "$(answer "$TRAINING" "$(on '{}')")" 202 "once more it is resubmitted"
ends
learnt_all 3

# --- that had learnt enough, and is to learn on
rm "$T/go"
begin enough 0 99
api POST "/v1/ensembles/$ID/cancel" >"$T/out"
ends
is "$(answer "$TRAINING" '{"env": {"ENOUGH": "5"}}')" 202 "a training is resubmitted that never began"
ends
is "$(ensemble '[.state, .training.state, .training.drawn]')" '["complete","done",25]' "it ends early"
: >"$T/go"
is "$(answer "$TRAINING" '{"env": {"ENOUGH": "no"}}')" 202 "it is to learn on"
ends
learnt_all "$(ensemble .training.generation)"
is "$(ensemble .training.resumed_from | cut -d- -f2)" 's4"' "it has gone on from its checkpoint"

# --- that was cancelled before it had a job
rm "$T/go"
begin pending 1 8
wait_for 60 '[ "$(ensemble "[.members.succeeded, .members.running]")" = "[3,1]" ]' || bail "three members do not succeed: $(ensemble .)"
api POST "/v1/ensembles/$ID/pause" >"$T/out"
: >"$T/go"
wait_for 60 '[ "$(ensemble "[.training.state, .training.generation]")" = "[\"pending\",2]" ]' || bail "no second generation: $(ensemble .)"
api POST "/v1/ensembles/$ID/cancel" >"$T/out"
ends
is "$(ensemble '[.state, .training.state, .training.generation]')" '["cancelled","cancelled",2]' "a training is cancelled while it waits to begin anew"
is "$(answer "$TRAINING" "$(on '{"checkpoint": 1}')")" 202 "it is resubmitted"
kill_daemon
start_daemon --config "$T/config.json"
ends
learnt_all 2
is "$(api GET "/v1/trainings/$TRAINING/generations" | jq -c '[.generations[] | [.number, .end, .resumed_from]]')" \
	'[[2,"done","g1-s4"],[1,"failed",null]]' "its second generation has begun only now"

# --- that was cancelled, and two of its members before that alone
rm "$T/go"
begin cancelled 0
api POST "/v1/ensembles/$ID/members/7/cancel" >"$T/out"
wait_for 60 '[ "$(ensemble .training.checkpoint.name)" = \"g1-s4\" ]' || bail "no checkpoint: $(ensemble .)"
api POST "/v1/ensembles/$ID/members/3/cancel" >"$T/out"
wait_for 60 '[ "$(ensemble "[.members.cancelled, .members.running]")" = "[1,1]" ]' || bail "a member is not cancelled: $(ensemble .)"
api POST "/v1/ensembles/$ID/cancel" >"$T/out"
ends
is "$(ensemble '[.state, .training.state]')" '["cancelled","cancelled"]' "an ensemble is cancelled"
is "$(answer "$TRAINING" "$(on '{}')")" 202 "its training is resubmitted"
: >"$T/go"
ends
is "$(jq -sc --argjson steps $STEPS 'map(.learnt[]) | [length, (unique | length), (map(.[0] * $steps + .[1]) | max)]' "$RUN/training/g2"/rank*/learnt.json)" \
	"[60,60,69]" "the model has learnt from every sample of the others, from each once"
is "$(ensemble '[.state, .members.succeeded, .members.cancelled, .training.state, .training.drawn]')" '["complete",6,2,"done",60]' \
	"members that were cancelled alone stay cancelled"
done_testing
