#!/usr/bin/env bash
# keep_output: captured output is removed some time after the end of its ensemble; what members own, never.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"keep_output": "failed", "keep_output_for": "1s"}' >"$T/failed.json"
echo '{"keep_output": "none", "keep_output_for": "1s"}' >"$T/none.json"
echo '{"keep_output": "some"}' >"$T/wrong.json"
status_is 1 "what is no such word is refused" timeout $((20 * PATIENCE)) strettod --state-dir "$STATE" --config "$T/wrong.json"
like "$(cat "$T/err")" '"some" is not one of all, failed, none.*/keep_output' "with the place"

submit() { api POST /v1/ensembles "$(jq -n --arg s "$1" --argjson w "${2:-4}" '{name: "k", width: $w, members: {command: ["sh", "-c", $s],
	parameters: {grid: {x: [0, 1, 2, 3]}}, retries: 0}}')" | jq .id; }
output() { api_status GET "/v1/ensembles/$1/members/$2/stdout"; }
mkfifo "$T/cancelled"
echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
script='echo out; echo result >result.txt; echo state >"$STRETTO_CHECKPOINT_DIR/c.ckpt"; [ {x} != 3 ] || exit 1
	if [ {x} = 2 ]; then rm stdout; ln -s result.txt stdout; fi'
is "$(submit "$script")" 1 "an ensemble"
ok "it ends" wait_ensemble 1 30
is "$(submit 'echo out; [ {x} = 0 ] || exit 0; read x <'"$T/never")" 2 "and one of which a member fails"
ok "it ends, too" wait_ensemble 2 30
is "$(submit "echo out; [ {x} != 0 ] || exit 0; read x <>$T/cancelled")" 3 "and one that is cancelled"
wait_for 30 '[ "$(api GET /v1/ensembles/3 | jq -c "[.members.running, .members.succeeded]")" = "[3,1]" ]' || bail "its members do not run"
is "$(api_status POST /v1/ensembles/3/cancel)" 202 "while its members run"
wait_for 30 '[ "$(api GET /v1/ensembles/3 | jq .members.cancelled)" = 3 ]' || bail "they do not end"
stop_daemon
before=$(find "$STATE/run" -name result.txt -o -name '*.ckpt' | sort)
is "$(find "$STATE/run" -name result.txt -o -name '*.ckpt' | wc -l)" 8 "members have written files of their own"

mkfifo "$T/go"
start_daemon --config "$T/failed.json"
id=$(submit "echo out; read x <>$T/go" 1) # one that is not over
wait_for 20 '[ "$(output "$id" 0)" = 200 ]'
wait_for 20 '[ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM ensemble WHERE swept = 1")" = 3 ]' || bail "nothing is removed"
is "$(output 1 0) $(jq -r .code "$T/api.body")" "410 output_released" "output of a member that succeeded is let go"
is "$(api_status GET "/v1/ensembles/1/members/1/stdout?follow=1")" 410 "for those who follow, too"
is "$(api GET /v1/ensembles/1/members/0 | jq '.attempts[0].output_released | type')" '"string"' "the attempt says when"
is "$(output 1 3) $(cat "$T/api.body")" "200 out" "that of one that failed is kept"
is "$(api GET /v1/ensembles/1/members/3 | jq '.attempts[0].output_released')" null "and says so"
is "$(output 2 0)" 200 "in another ensemble, too"
is "$(output 3 0) $(output 3 1) $(output 3 2) $(output 3 3)" "410 200 200 200" "that of members that were cancelled is kept, too"
is "$(find "$STATE/run" -name result.txt -o -name '*.ckpt' | sort)" "$before" "what members own is all there"
is "$(readlink "$STATE/run/e1/members/0/2/a1/stdout")" result.txt "so is what took the place of ours"
is "$(find "$STATE"/run/e[12] -name stdout -type f | wc -l) $(find "$STATE"/run/e[12] -name exit.json | wc -l)" "2 2" \
	"ours is gone but for the members that failed"
is "$(find "$STATE"/run/e[12]/jobs -mindepth 1 -maxdepth 1 | wc -l)" 2 "and so are the jobs"
ok "an empty directory goes" test ! -e "$STATE/run/e2/members/0/1"
is "$(output "$id" 0)" 200 "what is not over is not touched"

# A resubmission makes output that is kept again, until that is over.
echo >"$T/never"
api POST /v1/ensembles/2/members/0/resubmit >/dev/null
ok "a member goes again" wait_ensemble 2 30
wait_for 20 '[ "$(output 2 0)" = 410 ]'
is "$(output 2 0)" 410 "it has succeeded now, and its output goes"
is "$(api_status GET "/v1/ensembles/2/members/0/stdout?attempt=1")" 410 "that of its former attempt, too"

# Killed in the middle, again and again: all that is to go is gone in the end, and nothing else.
stop_daemon
for _ in 1 2 3 4; do
	start_daemon --config "$T/none.json"
	kill_daemon
done
start_daemon --config "$T/none.json"
wait_for 20 '[ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM ensemble WHERE swept = 2")" = 3 ]' || bail "nothing is removed"
is "$(output 1 3)" 410 "with keep_output none the rest goes"
is "$(find "$STATE"/run/e[12] -name stdout -type f -o -name exit.json | wc -l)" 0 "none of ours is left"
is "$(find "$STATE"/run/e[12]/jobs -mindepth 1 | wc -l)" 0 "nor of the jobs, also of those that failed"
is "$(find "$STATE/run" -name result.txt -o -name '*.ckpt' | sort)" "$before" "all of theirs is"
exec 9<>"$T/go"
yes | head -n 8 >&9
ok "the last one ends" wait_ensemble "$id" 30

# A member that goes on in a follow-up keeps the checkpoint directory that it has there, empty or not.
jq -n --arg go "$T/go" '{name: "f", members: {command: ["sh", "-c", "[ $STRETTO_ENSEMBLE = '"$((id + 1))"' ] && exit 1; read x <\($go)"],
	parameters: {grid: {i: [0]}}, retries: 0}}' >"$T/f.json"
while read -r -t 0.1 _ <&9; do :; done
id=$(submit "$T/f.json")
wait_ensemble "$id" 30
is "$(api_status POST "/v1/ensembles/$id/follow-up" '{"states": ["failed"]}')" 201 "a follow-up of one that failed"
wait_for 20 '[ "$(output "$id" 0)" = 410 ]'
wait_for 20 '[ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT swept FROM ensemble WHERE id = $id")" = 2 ]'
ok "it keeps its checkpoint directory" test -d "$STATE/run/e$id/members/0/0/checkpoint"
echo >&9
ok "it ends" wait_ensemble "$((id + 1))" 30
stop_daemon
done_testing
