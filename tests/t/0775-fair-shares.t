#!/usr/bin/env bash
# Several ensembles on one adapter: a late and small one is not starved by a huge one, by its share or evenly; no place
# is left empty; trainings that cannot run together with their members take turns.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

# spec COUNT SCRIPT [JQ]
spec() {
	jq -n --arg script "$2" --argjson count "$1" '{name: "f", members: {command: ["sh", "-c", $script],
		parameters: {grid: {i: [range($count)]}}, retries: 0}, width: 1000} | '"${3:-.}" >"$T/spec.json"
}
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
state() { api GET "/v1/ensembles/$1" | jq -c "$2"; }
count() { db "SELECT sum(n) FROM tally WHERE state = '$1'"; }
# let_one_end: one of the members that wait ends, and its place is taken again
let_one_end() {
	local ended
	ended=$(count succeeded)
	echo x >&9
	wait_for 20 "[ \$(count succeeded) -gt $ended ] && [ \$(count running) = 4 ]"
}

# --- a huge one, whose members wait until they are let go one by one
mkfifo "$T/go"
exec 9<>"$T/go"
spec 2000 "read x <$T/go"
HUGE=$(submit "$T/spec.json")
wait_for 20 '[ "$(state $HUGE .members.running)" = 4 ]' || bail "the huge one does not fill the slots"
is "$(state "$HUGE" '.members.submitted <= 2')" true "few more wait in the queue of the adapter, whatever the width"
spec 6 "exit 0"
SMALL=$(submit "$T/spec.json")
is "$(state "$SMALL" '[.members.pending, .members.submitted + .members.running + .members.succeeded > 0]')" "[6,false]" \
	"a late one waits while no place is free"
i=0
while [ "$(state "$SMALL" .state)" != '"complete"' ] && [ $i -lt 30 ]; do
	i=$((i + 1))
	let_one_end || break
done
is "$(state "$SMALL" '[.state, .members.succeeded]')" '["complete",6]' "the late one is through"
ok "long before the first: $i of its 2000 members had to end" test "$i" -le 10
ok "no place is left empty" wait_for 10 "[ \$(state $HUGE .members.running) = 4 ]"

# --- shares: of the 4 places, 3 and 1
spec 2000 "read x <$T/go" '.share = 3'
THREE=$(submit "$T/spec.json")
# Chance decides whose member reads the FIFO: there are many tries.
for ((i = 0; i < 60; i++)); do
	[ "$(state "$THREE" .members.running)" = 3 ] && break
	let_one_end
done
is "$(state "$THREE" .members.running) $(state "$HUGE" .members.running)" "3 1" "a share of 3 has three times the places"
# a paused one gives its places up, as they come free
api POST "/v1/ensembles/$THREE/pause" >"$T/out"
for ((i = 0; i < 60; i++)); do
	[ "$(state "$HUGE" .members.running)" = 4 ] && break
	let_one_end
done
is "$(state "$HUGE" .members.running)" 4 "the places of a paused one go to the other"
api POST "/v1/ensembles/$THREE/cancel" >"$T/out"
api POST "/v1/ensembles/$HUGE/cancel" >"$T/out"
ok "both end" wait_for 30 "[ \$(db \"SELECT count(*) FROM job WHERE state <> 'ended'\") = 0 ]"

# --- trainings: 3 of 4 slots each, so only one at a time; a job of all 4 slots fits beside none of them
training='.training = {streams: "optional", command: ["sh", "-c", $rank], resources: {tasks: 3}, fields: {u: {dtype: "float32", shape: [1]}}}'
cat >"$T/rank.sh" <<'END'
printf '{"version": 1}' >"$STRETTO_STREAM/g1-rank$STRETTO_RANK.json.tmp"
mv "$STRETTO_STREAM/g1-rank$STRETTO_RANK.json.tmp" "$STRETTO_STREAM/g1-rank$STRETTO_RANK.json"
until [ -e "$STRETTO_TRAINING_DIR/reception.json" ]; do sleep 0.1; done
printf '{"version": 1, "generation": 1, "rank": 0, "state": "done"}' >"$STRETTO_TRAINING_DIR/done-rank0.tmp"
mv "$STRETTO_TRAINING_DIR/done-rank0.tmp" "$STRETTO_TRAINING_DIR/done-rank0.json"
END
training=${training/\$rank/\"exec sh $T/rank.sh\"}
ids=
for _ in 1 2 3; do
	spec 3 "sleep 0.2" "$training"
	ids="$ids $(submit "$T/spec.json")"
	spec 2 "sleep 0.2" '.members.resources.tasks = 4'
	ids="$ids $(submit "$T/spec.json")"
done
for id in $ids; do
	ok "ensemble $id, of trainings that take turns and jobs that fill the machine, ends" wait_ensemble "$id" 60
	is "$(jq -r '"\(.state) \(.members.succeeded)"' "$T/ensemble.json")" \
		"complete $(jq -r .count "$T/ensemble.json")" "with every member"
done
is "$(db "SELECT count(*) FROM job a JOIN job b ON a.id < b.id AND a.started < b.ended AND b.started < a.ended
	WHERE a.kind = 'training' AND b.kind = 'training'")" 0 "no two trainings ran at once"

# --- max_jobs, in the configuration of any adapter
stop_daemon
echo '{"adapters": {"local": {"slots": 8, "max_jobs": 0}}}' >"$T/config.json"
status_is 1 "max_jobs: 0 is refused" strettod --state-dir "$STATE" --config "$T/config.json"
like "$(cat "$T/err")" "max_jobs" "and the key is named"
echo '{"adapters": {"local": {"slots": 8, "max_jobs": 2}}}' >"$T/config.json"
start_daemon --config "$T/config.json"
spec 3 "read x <$T/go"
LIMITED=$(submit "$T/spec.json")
wait_for 20 '[ "$(state $LIMITED .members.running)" = 2 ]'
sleep 0.5
is "$(state "$LIMITED" '[.members.running, .members.submitted, .members.pending]')" "[2,0,1]" "no more than max_jobs in flight"
printf 'x\nx\nx\n' >&9
ok "and all of them in the end" wait_ensemble "$LIMITED" 20
done_testing
