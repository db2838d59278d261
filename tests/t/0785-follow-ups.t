#!/usr/bin/env bash
# Follow-ups: the same members in an ensemble of their own, once, with what was asked for; lineage, refusals, crashes.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 8}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

# spec COUNT SCRIPT [JQ]: a spec of COUNT members that run a shell script
spec() {
	jq -n --arg script "$2" --argjson count "$1" '{name: "f", members: {command: ["sh", "-c", $script],
		parameters: {method: "monte-carlo", count: $count, seed: 5, space: {x: [0, 1]}}, retries: 0}} | '"${3:-.}" >"$T/spec.json"
}
restart() { kill_daemon; start_daemon --config "$T/config.json"; }
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
body() { jq -c "$1" "$T/api.body"; }
code() { jq -r .code "$T/api.body"; }
get() { api GET "/v1/ensembles/$1" | jq -c "$2"; }
FAILED='{"states": ["failed"]}'
follow() { api_status POST "/v1/ensembles/$1/follow-up" "${2-$FAILED}"; }
post_all() { api_status POST /v1/follow-ups "${1:-{\}}"; }
# tell what a member was given
# shellcheck disable=SC2016
TELL='echo "$STRETTO_MEMBER $STRETTO_SEED $STRETTO_PARAMS $STRETTO_CHECKPOINT_DIR" >>'$T/told

mkfifo "$T/go"
exec 9<>"$T/go"

# --- one
spec 10 "$TELL; test \$((STRETTO_MEMBER % 3)) = 1 || (test -e $T/mended && read x <$T/go)" '.width = 4'
A=$(submit "$T/spec.json")
wait_ensemble "$A" 40 || bail "the first does not end"
is "$(jq -c '[.state, .members.failed, .root, .follow_up_of, .follow_ups, .family]' "$T/ensemble.json")" \
	"[\"complete\",7,$A,null,[],null]" "seven of ten fail; it is nobody's follow-up, and nobody follows"
sort "$T/told" >"$T/first"
is "$(follow "$A" '{}') $(code)" "409 follow_up_needless" "nothing is unfinished: no follow-up"
is "$(follow 4711) $(code)" "404 ensemble_not_found" "nor of what is not there"
is "$(post_all '{}') $(jq -c $JQ_SORTS . "$T/api.body")" '200 {"follow_ups":[],"next":null,"refused":[]}' "a follow-up of all has nothing to do either"
for bad in '[] spec_wrong_type ""' '{"widht":3} spec_unknown_key "/widht"' '{"width":0} spec_impossible_value "/width"' \
	'{"states":[]} spec_impossible_value "/states"' '{"states":["succeeded"]} spec_impossible_value "/states/0"' \
	'{"resources":{"walltime":"soon"}} spec_impossible_value "/resources/walltime"' '{"resources":3} spec_wrong_type "/resources"' \
	'{"resources":{"nodes":1,"x":1}} spec_unknown_key "/resources/x"' '{"pack":"2"} spec_wrong_type "/pack"'; do
	read -r json code pointer <<<"$bad"
	is "$(follow "$A" "$json") $(code) $(body .pointer)" "422 $code $pointer" "refused with its place: $json"
done
is "$(follow "$A" '{"states":["failed"],"resources":{"tasks":99}}') $(code) $(body .pointer)" \
	'422 resources_impossible "/resources/tasks"' "and what cannot run here"
is "$(follow "$A" '{"states":["failed"],"adapter":"none"}') $(code) $(body .pointer)" '422 spec_unknown_adapter "/adapter"' \
	"and what is not here"
is "$(db 'SELECT count(*) FROM ensemble')" 1 "what is refused changes nothing"

rm "$T/told"
: >"$T/mended"
is "$(follow "$A" '{"states":["failed"],"width":3,"pack":2,"resources":{"walltime":"1m"}}')" 201 "a follow-up of those that failed"
B=$(body .id)
is "$(body '[.count, .width, .follow_up_of, .root, .name, .adapter]')" "[7,3,$A,$A,\"f\",\"local\"]" "with seven members, as asked for"
is "$(follow "$A") $(body .id)" "200 $B" "calling again makes none and says which is there"
is "$(follow "$B") $(body .id)" "200 $B" "nor does a call of itself"
page() { api GET "/v1/ensembles?family=$1" | jq -c '[[.ensembles[].id], .next]'; }
is "$(page "$A") $(page "$B")" "[[$B,$A],null] [[$B,$A],null]" "they are a family, whichever of it is named"
is "$(api GET "/v1/ensembles?family=$A&limit=1" | jq -c '[[.ensembles[].id], .next]')" "[[$B],\"$B\"]" "page by page"
is "$(api_status GET "/v1/ensembles?family=4711") $(code)" "404 ensemble_not_found" "but not of what is not there"
is "$(api GET "/v1/ensembles/$A/spec" | jq -c $JQ_SORTS .)" "$(jq -c $JQ_SORTS . "$T/spec.json")" "the spec of the first is what was submitted"
is "$(get "$B/spec" '[.width, .pack, .members.resources.walltime, .members.parameters.count]')" '[3,2,"1m",10]' "that of the follow-up has what was changed"
restart
printf 'x\nx\nx\nx\nx\nx\nx\n' >&9
is "$(get "$A" '[.follow_ups, .family.follow_ups, .family.newest]')" "[[$B],1,$B]" "the first says who follows"
ok "it ends" wait_ensemble "$B" 40
is "$(jq -c '[.state, .members.succeeded, .follow_ups]' "$T/ensemble.json")" '["complete",7,[]]' "with every member"
is "$(get "$A" '[.family.members.succeeded, .family.members.failed, .family.state, .members.failed]')" '[10,0,"complete",7]' \
	"the first shows how the whole family is, and its own books stay"
is "$(sort "$T/told")" "$(awk '$1 % 3 != 1' "$T/first")" \
	"its members have the same indices, seeds, parameters and checkpoint directories"
like "$(cat "$T/first")" "/e$A/members/0/3/checkpoint" "which are the first one's"
is "$(db "SELECT max(j.size) FROM job j WHERE ensemble = $B")" 2 "two of them shared a job"
is "$(api GET "/v1/ensembles/$B/members" | jq -c '[.members[].index]')" '[0,2,3,5,6,8,9]' "they are listed"
is "$(api GET "/v1/ensembles/$B/members?limit=3&cursor=3" | jq -c '[[.members[].index], .next]')" '[[3,5,6],"8"]' "in pages, too"
is "$(api GET "/v1/ensembles/$B/members/3" | jq -c '[.follow_up_of, .follow_up, .state]')" "[$A,null,\"succeeded\"]" "one says where it was"
is "$(api GET "/v1/ensembles/$A/members/3" | jq -c '[.follow_up_of, .follow_up, .state]')" "[null,$B,\"failed\"]" "and where it went"
is "$(api_status GET "/v1/ensembles/$B/members/1") $(code)" "404 member_not_found" "1 is none of its members"
is "$(api_status POST "/v1/ensembles/$B/members/1/resubmit" '{}') $(code)" "404 member_not_found" "nor can it be resubmitted there"
is "$(api_status POST "/v1/ensembles/$A/members/3/resubmit" '{}') $(code)" "409 member_in_follow_up" "what goes on elsewhere is not resubmitted"
is "$(api_status POST "/v1/ensembles/$A/resubmit" '{}') $(code)" "409 member_in_follow_up" "nor are all of them"
is "$(follow "$A") $(code)" "409 follow_up_needless" "nothing of the family is left to go on"
is "$(db "SELECT group_concat(kind || ' ' || ensemble) FROM event WHERE kind = 'ensemble.follow_up'")" "ensemble.follow_up $A" "it is an event"

# --- what was left before a fresh start is not gone on from, in no follow-up either
# shellcheck disable=SC2016
spec 1 'echo "$1" >>$STRETTO_CHECKPOINT_DIR/../went-on; test -z "$1" || exec touch result; echo "$STRETTO_TASK" >"$STRETTO_CHECKPOINT_DIR/e$STRETTO_ENSEMBLE-a$STRETTO_ATTEMPT.ckpt"' \
	'.members += {success: {file: "result"}, resources: {walltime: "1m"},
		checkpoint: {before: "1s", glob: "*.ckpt", keep: 9, resume: ["{checkpoint}"]}} | .members.command += ["sh"]'
F=$(submit "$T/spec.json")
wait_ensemble "$F" 40
api POST "/v1/ensembles/$F/resubmit" '{"states": ["unfinished"], "from": "start"}' >/dev/null
wait_ensemble "$F" 40
is "$(jq .members.unfinished "$T/ensemble.json")" 1 "a member that began at the start again is unfinished"
rm "$STATE/run/e$F/members/0/0/checkpoint/e$F-a2.ckpt"
is "$(follow "$F" '{}')" 201 "what it left is lost, and it is followed up"
wait_ensemble "$(body .id)" 40
is "$(follow "$F" '{}')" 201 "twice"
wait_ensemble "$(body .id)" 40
is "$(sed 's/.*-a/a/' "$STATE/run/e$F/members/0/0/went-on" | xargs)" "a1.ckpt" "it goes on from what its follow-up left, and from nothing older"

# --- a chain: whichever is named, the newest is followed up
rm -f "$T/mended" "$T/told"
spec 4 "test \$STRETTO_MEMBER -lt \$(cat $T/good)"
echo 1 >"$T/good"
C=$(submit "$T/spec.json")
wait_ensemble "$C" 40
D=$(follow "$C" >/dev/null; body .id)
wait_ensemble "$D" 40
echo 3 >"$T/good"
E=$(follow "$C" >/dev/null; body .id)
is "$(body '[.follow_up_of, .root, .count]')" "[$D,$C,3]" "a follow-up of the root goes on after the newest"
wait_ensemble "$E" 40
is "$(api_status POST "/v1/ensembles/$E/members/3/resubmit") $(body .ensemble.state)" '202 "running"' "the newest may be resubmitted"
wait_ensemble "$E" 40
echo 9 >"$T/good"
F=$(follow "$D" >/dev/null; body .id)
is "$(body '[.follow_up_of, .root, .count]')" "[$E,$C,1]" "so does one of any in between"
wait_ensemble "$F" 40
is "$(get "$C" '[.family.follow_ups, .family.members.succeeded, .family.newest]')" "[3,4,$F]" "the family is whole"
is "$(follow "$F") $(code)" "409 follow_up_needless" "and needs no more"

# --- keys, running and cancelled ensembles
spec 3 "test \$STRETTO_MEMBER = 1 || exit 1; read x <$T/go"
G=$(submit "$T/spec.json")
wait_for 20 '[ "$(get "$G" ".members.failed")" = 2 ]' || bail "none fails"
is "$(follow "$G") $(code)" "409 ensemble_not_over" "one that still runs is not followed up"
is "$(api_status POST "/v1/ensembles/$G/cancel" '{}')" 202 "it is cancelled"
wait_for 20 '[ "$(get "$G" ".members.running")" = 0 ]'
is "$(post_all) $(body '.follow_ups | length')" "200 0" "the follow-up of all leaves cancelled ones alone"
keyed() {
	curl -s -m 300 --unix-socket "$SOCKET" -o "$T/api.body" -D "$T/headers" -H 'Content-Type: application/json' \
		-H 'Idempotency-Key: k' -d "$FAILED" "http://stretto/v1/ensembles/$G/follow-up"
	awk 'NR == 1 {s = $2} tolower($1) == "location:" {l = $2} END {print s, l}' "$T/headers" | tr -d '\r'
}
first=$(keyed)
H=$(body .id)
is "$first" "201 /v1/ensembles/$H" "asked for by its id, it is followed up"
is "$(keyed)" "$first" "a key makes one of many tries, with the same answer"
wait_ensemble "$H" 40
is "$(jq -c '[.count, .members.failed]' "$T/ensemble.json")" '[2,2]' "its failed ones have gone again"

# --- rows of a file, and a daemon that dies at once
printf 'x,y\n1,a\n2,b\n3,c\n' >"$T/rows.csv"
spec 3 "echo {x}-{y} >>$T/rows; test -e $T/mended" ".members.parameters = {file: \"$T/rows.csv\"}"
I=$(submit "$T/spec.json")
wait_ensemble "$I" 40
rm "$T/rows.csv" "$T/rows"
: >"$T/mended"
is "$(follow "$I")" 201 "rows of a file that is gone"
J=$(body .id)
restart
wait_ensemble "$J" 40
is "$(sort "$T/rows" | tr '\n' ' ')" "1-a 2-b 3-c " "are the copy's"

# --- the command
spec 3 "test -e $T/fine"
K=$(submit "$T/spec.json")
status_is 3 "stretto follow-up of one that runs, or has nothing unfinished, is refused" stretto follow-up "$K"
wait_ensemble "$K" 40
status_is 2 "an ID, or --all" stretto follow-up
status_is 2 "not both" stretto follow-up --all "$K"
status_is 2 "nor states of all" stretto follow-up --all --state failed
status_is 3 "a walltime that is none is refused" stretto follow-up "$K" --state failed --walltime soon
like "$(cat "$T/err")" "spec_impossible_value at /resources/walltime" "with its place"
status_is 0 "nothing is unfinished" stretto follow-up --all --walltime 1h
is "$(cat "$T/out" "$T/err")" "" "and nothing is said"
: >"$T/fine"
status_is 0 "stretto follow-up" stretto follow-up "$K" --state failed --width 2 --pack 3 --walltime 1h --queue q --adapter local
L=$(get "$K" '.follow_ups[0]')
is "$(cat "$T/out")" "ensemble $L follows up $K: 3 members, running" "tells what was made"
is "$(db "SELECT width || json_extract(spec, '$.pack', '$.members.resources.walltime', '$.members.resources.queue') FROM ensemble
	WHERE id = $L")" '2[3,"1h","q"]' "as asked for"
wait_ensemble "$L" 40
like "$(stretto status "$K")" "family     1 follow-up, the last $L, complete: 3 succeeded" "the status of the first shows the family"
like "$(stretto status "$L")" "follows up $K" "that of the follow-up where it comes from"
is "$(stretto follow-up --all --json | jq -c $JQ_SORTS .)" '{"follow_ups":[],"next":null,"refused":[]}' "--json is what the daemon said"

# one that needs a follow-up which cannot be made
spec 1 'echo x >"$STRETTO_CHECKPOINT_DIR/x.ckpt"' '.members.success = {file: "result"} | .members.checkpoint = {glob: "*.ckpt"}'
M=$(submit "$T/spec.json")
wait_ensemble "$M" 40
is "$(get "$M" .members.unfinished)" 1 "one is out of time"
status_is 3 "stretto follow-up --all fails where one cannot be made" stretto follow-up --all --adapter nowhere
like "$(cat "$T/err")" "ensemble $M is not followed up: .*\(spec_unknown_adapter\)" "and says which, and why"
is "$(cat "$T/out")" "" "and that none was"

# --- a training
spec 2 false '.training = {command: ["true"], fields: {t: {dtype: "float32", shape: [1]}}, buffer: {policy: "fifo", capacity: 1}}'
jq '.follow_up.auto = true' "$T/spec.json" >"$T/auto.json"
is "$(api_status POST /v1/ensembles "@$T/auto.json") $(code) $(body .pointer)" '422 spec_impossible_value "/follow_up/auto"' \
	"members that stream cannot follow up by themselves"
is "$(db "SELECT count(*) FROM (SELECT coalesce(e.root, e.id) AS family, m.idx FROM member m JOIN ensemble e ON e.id = m.ensemble
	WHERE m.successor IS NULL GROUP BY family, m.idx HAVING count(*) > 1)")" 0 "nobody is newest twice"
done_testing
