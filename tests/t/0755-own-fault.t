#!/usr/bin/env bash
# Damage that a member does to itself costs it retries, so that it is not tried again and again: it removes its
# directory, or kills its runner. A runner that is stopped is killed, with what it has started, before the member runs
# again.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 4, "stopped": "2s"}}}' >config.json
start_daemon --config config.json
sql() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
# member RETRIES COMMAND: an ensemble of one, until it is over; what became of its attempts is in $T/said
member() {
	jq -n --argjson retries "$1" --arg command "$2" '{name: "x", members: {command: ["sh", "-c", $command], retries: $retries,
		parameters: {grid: {i: [1]}}}}' >spec.json
	ID=$(submit spec.json)
	ok "a member: $2" wait_ensemble "$ID" 60
	api GET "/v1/ensembles/$ID/members/0" | jq -r '.attempts | sort_by(.number)[] | "\(.outcome): \(.reason)"' >said
}

member 1 'rm -r "$PWD"'
is "$(cat said)" "failed: its directory was removed while it ran
failed: its directory was removed while it ran" "has failed, and cost its retry"
member 0 'mkdir ../x && rm -r "$PWD" && exit 3'
is "$(cat said)" "failed: its directory was removed while it ran" "whatever its exit status"

member 0 'rm -r "$(dirname "$STRETTO_CHECKPOINT_DIR")"'
is "$(cat said)" "failed: its directory was removed while it ran" "also where its checkpoints go with it"
member 0 'rm -r "$(dirname "$STRETTO_CHECKPOINT_DIR")/../../0"'
is "$(cat said)" "failed: its directory was removed while it ran" "or its neighbours"

member 0 'kill -KILL $PPID; sleep 1000'
is "$(jq .members.failed ensemble.json)" 1 "that kills its runner is given up"
is "$(cut -d: -f1 said | uniq -c | xargs)" "4 lost" "after three attempts that cost nothing, and one"
is "$(sql "SELECT failures || ' ' || losses FROM member WHERE ensemble = $ID")" "1 4" "which is what the books say"

member 0 'kill -KILL $$'
is "$(cut -d: -f1 said | uniq -c | xargs)" "4 failed" "that is killed is given up likewise, since nobody can tell by whom"
is "$(sql "SELECT failures || ' ' || losses FROM member WHERE ensemble = $ID")" "1 4" "and costs as much"
member 0 'kill -SEGV $$'
is "$(cut -d: -f1 said | uniq -c | xargs)" "1 failed" "a signal that only an error of its own brings costs a retry at once"

# --- a runner that is stopped: the member meets what is left of its first attempt, or does not
member 0 '[ $STRETTO_ATTEMPT = 1 ] || exec flock -n $HOME/lock true; exec 9>$HOME/lock; flock 9; kill -STOP $PPID; sleep 1000'
is "$(cat said)" "lost: the runner was lost: no exit record was left; its runner was stopped and did not go on
succeeded: null" "runs again, once nothing of it is left"
is "$(sql "SELECT failures || ' ' || losses FROM member WHERE ensemble = $ID")" "0 1" "at no cost, the first time"

done_testing
