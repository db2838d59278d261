#!/usr/bin/env bash
# Pause, resume, resize and resubmit, with the daemon killed in between: what was answered holds.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 8}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

# spec COUNT SCRIPT [JQ]: a spec of COUNT members that run a shell script
spec() {
	jq -n --arg script "$2" --argjson count "$1" '{name: "v", members: {command: ["sh", "-c", $script],
		parameters: {grid: {i: [range($count)]}}, retries: 0}} | '"${3:-.}" >"$T/spec.json"
}
restart() { kill_daemon; start_daemon --config "$T/config.json"; }
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
get() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
in_flight() { get '.members.submitted + .members.running'; }
EMPTY='{}'
call() { api_status POST "/v1/ensembles/$ID/$1" "${2-$EMPTY}"; } # its status; the reply is in $T/api.body
resize() { api_status PATCH "/v1/ensembles/$ID" "$1"; }
code() { jq -r .code "$T/api.body"; }
events() { db "SELECT count(*) FROM event WHERE ensemble = $ID AND kind = '$1'"; }
body() { jq -c "$1" "$T/api.body"; }

# --- pause and resume
mkfifo "$T/go"
exec 9<>"$T/go"
spec 6 "read x <$T/go" '.width = 2'
ID=$(submit "$T/spec.json")
wait_for 20 '[ "$(get .members.running)" = 2 ]' || bail "nothing runs"
is "$(call pause)" 200 "pause"
is "$(body '[.state, .members.running]')" '["paused",2]' "the ensemble is paused, what runs goes on"
is "$(call pause)" 200 "pausing again is no error"
is "$(events ensemble.paused)" 1 "and no event"
restart
is "$(get .state)" '"paused"' "it is still paused after a crash"
printf 'x\nx\n' >&9
wait_for 20 '[ "$(get .members.succeeded)" = 2 ]'
sleep 1
is "$(get '[.state, .members.succeeded, .members.pending]')" '["paused",2,4]' "what ran has ended, and nothing was started"
is "$(call resume)" 200 "resume"
restart
ok "it goes on" wait_for 20 '[ "$(get "[.state, .members.running]")" = "[\"running\",2]" ]'
is "$(call resume)" 200 "resuming again is no error"
is "$(events ensemble.resumed)" 1 "and no event"

# a paused ensemble with nothing left to start completes
printf 'x\nx\n' >&9
wait_for 20 '[ "$(get "[.members.running, .members.pending]")" = "[2,0]" ]' || bail "the last two do not run"
call pause >"$T/out"
printf 'x\nx\n' >&9
ok "a paused ensemble in which nothing is left to start completes" wait_ensemble "$ID" 20
is "$(jq -c '[.state, .members.succeeded]' "$T/ensemble.json")" '["complete",6]' "with every member"
for verb in pause resume; do
	is "$(call $verb) $(code)" "409 ensemble_over" "$verb of what is complete is refused"
done
is "$(resize '{"width": 3}') $(code)" "409 ensemble_over" "so is a resize"
for call in pause resume resubmit members/0/resubmit; do
	is "$(ID=4711 call $call) $(code)" "404 ensemble_not_found" "$call: there is no ensemble 4711"
done

# --- resize
spec 12 "echo \$STRETTO_MEMBER >>$T/starts; read x <$T/go" '.width = 1'
ID=$(submit "$T/spec.json")
wait_for 20 '[ "$(get .members.running)" = 1 ]' || bail "nothing runs"
is "$(resize '{"width": 6}')" 200 "wider"
restart
ok "more run at once" wait_for 20 '[ "$(get "[.width, .members.running]")" = "[6,6]" ]'
is "$(resize '{"width": 4}')" 200 "narrower"
is "$(body '[.width, .members.running]')" '[4,6]' "what is in flight goes on"
printf 'x\n' >&9
wait_for 20 '[ "$(get .members.succeeded)" = 1 ]'
sleep 1
is "$(in_flight)" 5 "and nothing is started where one has ended, while there is no room"
is "$(resize '{"width": 2, "when": "now"}')" 200 "narrower, now"
restart
ok "the youngest are stopped" wait_for 30 '[ "$(get "[.members.running, .members.pending]")" = "[2,9]" ]'
is "$(db "SELECT group_concat(reason) FROM (SELECT DISTINCT reason FROM attempt WHERE outcome = 'cancelled')")" \
	"stopped: the width was reduced" "their attempts say why"
is "$(db "SELECT count(*) FROM attempt a JOIN attempt b USING (ensemble) WHERE ensemble = $ID AND a.outcome = 'cancelled'
	AND b.outcome IS NULL AND a.job < b.job")" 0 "no older one was stopped before a younger one"
is "$(db "SELECT sum(failures + losses + (not_before > 1)) FROM member WHERE ensemble = $ID")" 0 "and it cost them nothing" # MEMBER_AT_ONCE
before=$(events ensemble.resized)
is "$(resize '{"width": 2, "when": "now"}')" 200 "the same again is no error"
is "$(events ensemble.resized)" "$before" "and no event"
resize '{"width": 12}' >"$T/out"
for _ in 1 2 3 4 5 6 7 8 9 10 11; do echo x; done >&9
ok "it ends" wait_ensemble "$ID" 40
is "$(jq -c '[.state, .members.succeeded]' "$T/ensemble.json")" '["complete",12]' "with every member, without a retry"
is "$(db "SELECT count(*) FROM attempt a JOIN attempt b USING (ensemble, idx) WHERE a.number < b.number
	AND a.ended > b.started")" 0 "no member ran twice at once"

# --- resubmit
spec 5 "test {i} -lt 2 || test -e $T/mended"
ID=$(submit "$T/spec.json")
wait_ensemble "$ID" 40
is "$(get '[.state, .members.failed]')" '["complete",3]' "three fail"
is "$(call members/3/resubmit)" 202 "one of them again"
is "$(body '[.resubmitted, .ensemble.state]')" '[1,"running"]' "the complete ensemble is running again"
ok "it ends again" wait_ensemble "$ID" 40
is "$(api GET "/v1/ensembles/$ID/members/3" | jq -c '[.state, (.attempts | length)]')" '["failed",2]' \
	"still in vain, and both attempts are kept"
is "$(call members/0/resubmit) $(code)" "409 member_succeeded" "what has succeeded is not resubmitted"
is "$(call members/5/resubmit) $(code)" "404 member_not_found" "nor what is not there"
is "$(call resubmit '{"states": ["succeeded"]}') $(code) $(body .pointer)" '422 spec_impossible_value "/states/0"' \
	"a state that cannot be resubmitted is refused with its place"
is "$(call resubmit '{"states": []}')" 422 "so is none"
is "$(call resubmit '{"state": "failed"}') $(code)" "422 spec_unknown_key" "and another key"
is "$(call resubmit '{"states": ["unfinished"]}') $(body .resubmitted)" "202 0" "nothing in that state: nothing done"
is "$(get .state)" '"complete"' "and complete it stays"
: >"$T/mended"
is "$(call resubmit '{"states": ["failed", "failed"]}') $(body .resubmitted)" "202 3" "all that failed, again"
restart
ok "it ends again" wait_ensemble "$ID" 40
is "$(jq -c '[.state, .members.succeeded, .members.failed]' "$T/ensemble.json")" '["complete",5,0]' "with every member"
is "$(events member.resubmitted) $(events ensemble.resubmitted)" "1 1" "each is an event"

# a key makes one resubmission of many tries
rm "$T/mended"
spec 1 "test -e $T/mended"
ID=$(submit "$T/spec.json")
wait_ensemble "$ID" 40
is "$(get '[.state, .reason]')" '["failed","its only member has failed"]' "an ensemble of which every member failed has failed"
keyed() { # KEY PATH
	curl -s -m 300 --unix-socket "$SOCKET" -o "$T/api.body" -w '%{http_code}' -H "Idempotency-Key: $1" \
		-H 'Content-Type: application/json' -d '{}' "http://stretto/v1/ensembles/$ID/$2"
}
is "$(keyed once resubmit) $(body '[.resubmitted, .ensemble.state, .ensemble.reason]')" '202 [1,"running",null]' \
	"resubmit with an Idempotency-Key: it is running again"
wait_ensemble "$ID" 40
restart
is "$(keyed once resubmit) $(body .resubmitted)" "202 1" "made again, over a crash, it is answered the same"
is "$(keyed two members/0/resubmit) $(body .resubmitted)" "202 1" "the same for one member"
wait_ensemble "$ID" 40
is "$(keyed two members/0/resubmit) $(body .resubmitted)" "202 1" "made again"
is "$(keyed two resubmit) $(code)" "409 idempotency_conflict" "but not for another call"
is "$(get .state) $(api GET "/v1/ensembles/$ID/members/0" | jq '.attempts | length')" '"failed" 3' \
	"and each happened once"

# paused, and cancelled
spec 2 "read x <$T/go; exit 1" '.width = 1'
ID=$(submit "$T/spec.json")
printf 'x\n' >&9
wait_for 20 '[ "$(get "[.members.failed, .members.running]")" = "[1,1]" ]' || bail "$(get .)"
call pause >"$T/out"
is "$(call resubmit) $(body '[.resubmitted, .ensemble.state]')" '202 [1,"paused"]' "resubmitted in a paused ensemble"
printf 'x\n' >&9
wait_for 20 '[ "$(get .members.failed)" = 1 ]'
sleep 0.5
is "$(get '[.state, .members.pending]')" '["paused",1]' "they wait until it is resumed"
call resume >"$T/out"
printf 'x\n' >&9
ok "and go then" wait_ensemble "$ID" 20
spec 2 "exec sleep 100" '.width = 1'
ID=$(submit "$T/spec.json")
api POST "/v1/ensembles/$ID/cancel" >"$T/out"
is "$(call resubmit) $(code)" "409 ensemble_over" "members of a cancelled ensemble are not resubmitted"
wait_for 20 '[ "$(get .members.cancelled)" = 2 ]'

# bad resizes
for bad in '{}' '{"width": 0}' '{"width": "4"}' '{"width": 1000001}' '{"width": 2, "when": "soon"}' '{"ranks": 2}' '[]'; do
	is "$(resize "$bad")" 422 "PATCH $bad is refused"
done

# --- with a training: only while it takes members
spec 3 "test {i} -ne 0 || exit 1; test {i} -ne 1 || read x <$T/go" '.width = 3 | .training = {streams: "optional",
	command: ["sh", "-c", "exit 0"], fields: {f: {dtype: "float32", shape: [2]}}}'
cat >"$T/rank.sh" <<'X'
printf '{"version": 1, "generation": 1, "rank": 0, "ranks": 1, "host": "h", "endpoints": []}' >"$STRETTO_STREAM/r.tmp"
mv "$STRETTO_STREAM/r.tmp" "$STRETTO_STREAM/g1-rank0.json"
until test -e "$STRETTO_TRAINING_DIR/reception.json"; do sleep 0.1; done
test -e "$HOLD" && while test -e "$HOLD"; do sleep 0.1; done
echo '{"version": 1, "generation": 1, "rank": 0, "time": 1, "state": "done"}' >"$STRETTO_TRAINING_DIR/d.tmp"
mv "$STRETTO_TRAINING_DIR/d.tmp" "$STRETTO_TRAINING_DIR/done-rank0.json"
X
: >"$T/hold"
jq --arg rank "$T/rank.sh" --arg hold "$T/hold" '.training.command = ["sh", $rank] | .training.env = {HOLD: $hold}' \
	"$T/spec.json" >"$T/training.json"
ID=$(submit "$T/training.json")
wait_for 40 '[ "$(get "[.members.failed, .members.succeeded, .members.running]")" = "[1,1,1]" ]' || bail "$(get .)"
is "$(call members/0/resubmit) $(body .resubmitted)" "202 1" "while its training takes members, one goes again"
wait_for 20 '[ "$(get .members.failed)" = 1 ]'
is "$(api GET "/v1/ensembles/$ID/members/0" | jq '.attempts | length')" 2 "and was tried again"
printf 'x\n' >&9
wait_for 20 '[ -e "$STATE/run/e$ID/training/g1/reception.json" ]' || bail "reception goes on"
is "$(call members/0/resubmit) $(code)" "409 training_over" "not when its ranks were told that no more come"
is "$(call resubmit) $(code)" "409 training_over" "nor all that failed"
restart
is "$(call resubmit) $(code)" "409 training_over" "nor after a crash"
rm "$T/hold"
ok "it ends" wait_ensemble "$ID" 40
is "$(jq -c '[.state, .training.state]' "$T/ensemble.json")" '["complete","done"]' "and is complete"
is "$(call resubmit) $(code)" "409 training_over" "nor when the training is done"

# --- the commands
spec 3 "test {i} -ne 1; read x <$T/go" '.width = 2'
ID=$(submit "$T/spec.json")
wait_for 20 '[ "$(in_flight)" = 2 ]'
status_is 0 "stretto pause" stretto pause "$ID"
like "$(cat "$T/out")" "ensemble $ID: paused" "says so"
status_is 0 "stretto resume" stretto resume "$ID"
status_is 0 "stretto resize" stretto resize "$ID" --width 1 --now
like "$(cat "$T/out")" "ensemble $ID: width 1" "says so"
status_is 0 "stretto resize --json" stretto resize "$ID" --width 3 --json
is "$(jq .width "$T/out")" 3 "prints the ensemble"
status_is 2 "a resize to nothing" stretto resize "$ID"
status_is 2 "a resize to 0" stretto resize "$ID" --width 0
printf 'x\nx\nx\nx\n' >&9 # one more, where the one that was stopped has read one
wait_ensemble "$ID" 40
status_is 3 "stretto pause of what is complete" stretto pause "$ID"
like "$(cat "$T/err")" ensemble_over "with the code"
spec 3 "test {i} -ne 1"
ID=$(submit "$T/spec.json")
wait_ensemble "$ID" 40
status_is 0 "stretto resubmit --state" stretto resubmit "$ID" --state failed --state unfinished
like "$(cat "$T/out")" "ensemble $ID: 1 members resubmitted" "says how many"
wait_ensemble "$ID" 40
status_is 0 "stretto resubmit ID.INDEX" stretto resubmit "$ID.1"
wait_ensemble "$ID" 40
status_is 3 "stretto resubmit of what succeeded" stretto resubmit "$ID.0"
status_is 2 "stretto resubmit of nothing" stretto resubmit

# --- an answer is what a GET shows right after, while nothing goes on: one ensemble has all slots
# same METHOD PATH BODY OBJECT [PLACE]: the answer, or what it has in this place, is that object
same() {
	api "$1" "$2" "$3" | jq -e "${5:-.}" >"$T/answered" || bail "$1 $2: $(cat "$T/api.body")"
	api GET "$4" | jq -e . >"$T/got" || bail "GET $4: $(cat "$T/api.body")"
	ok "$1 $2 answers what a GET shows" diff "$T/answered" "$T/got"
}
spec 2 "exit 1"
AGAIN=$(submit "$T/spec.json") GONE=$(submit "$T/spec.json")
wait_ensemble "$AGAIN" 40
wait_ensemble "$GONE" 40
spec 8 "exec sleep 1000"
HOG=$(submit "$T/spec.json")
wait_for 20 '[ "$(ID=$HOG get .members.running)" = 8 ]' || bail "the slots are not taken"
spec 4 true '.width = 2 | .members.parameters = {open: ["i"]}'
E=/v1/ensembles/$((HOG + 1))
same POST /v1/ensembles "$(cat "$T/spec.json")" "$E"
jq --argjson hog "$HOG" '.after = {ensemble: $hog}' "$T/training.json" >"$T/spec.json"
W=/v1/ensembles/$((HOG + 2))
same POST /v1/ensembles "$(cat "$T/spec.json")" "$W"
TRAINING=/v1/trainings/$(api GET "$W" | jq .training.id)
while read -r method path body object place; do
	same "$method" "$path" "$body" "$object" "$place"
done <<X
POST $E/pause {} $E
POST $E/resume {} $E
PATCH $E {"width":7} $E
POST $E/close {} $E
PATCH $TRAINING {"ranks":2} $TRAINING
POST $W/members/1/cancel {} $W .ensemble
POST $W/cancel {} $W
POST $W/cancel {} $W
POST $TRAINING/resubmit {"from":"start"} $TRAINING
POST /v1/ensembles/$AGAIN/members/0/resubmit {} /v1/ensembles/$AGAIN .ensemble
POST /v1/ensembles/$AGAIN/resubmit {} /v1/ensembles/$AGAIN .ensemble
POST /v1/ensembles/$GONE/follow-up {"states":["failed"]} /v1/ensembles/$((HOG + 3))
POST /v1/ensembles/$GONE/follow-up {"states":["failed"]} /v1/ensembles/$((HOG + 3))
X
TOKEN=$(api POST /v1/tokens '{"role": "reader"}' | jq .id)
same DELETE "/v1/tokens/$TOKEN" '' /v1/tokens "{tokens: [.], next: null}"
same DELETE "/v1/tokens/$TOKEN" '' /v1/tokens "{tokens: [.], next: null}"
for ID in $AGAIN $((HOG + 3)) $((HOG + 2)) $HOG; do
	call cancel >"$T/out"
done
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends cleanly"
done_testing
