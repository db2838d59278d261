#!/usr/bin/env bash
# Out of time is not failure: warnings before the end, checkpoints by name, unfinished members, and going on.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 8}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

# spec COUNT EPOCHS SECONDS [JQ]: COUNT trainings, which are warned after 15 s, and then have a minute; the parameter is
# i
spec() {
	jq -n --arg epochs "$srcdir/tests/t/epochs.sh" --argjson count "$1" --arg total "$2" --arg seconds "$3" '{name: "t", members: {
		command: [$epochs, $total, $seconds], parameters: {grid: {i: [range($count)]}}, retries: 0,
		resources: {walltime: "75s"}, success: {file: "result"},
		checkpoint: {before: "1m", signal: "USR1", grace: "2s", glob: "*.ckpt", resume: ["--restart", "{checkpoint}"]}}} | '"${4:-.}" \
		>"$T/spec.json"
}
member() { api GET "/v1/ensembles/$ID/members/$1" | jq -r "$2"; }
ended() { wait_ensemble "$ID" 60; jq -r "$1" "$T/ensemble.json"; }
again() { api POST "/v1/ensembles/$ID/resubmit" '{"states": ["unfinished"]}' >/dev/null; }
dir() { echo "$STATE/run/e$ID/members/0/$1"; }
refused() { # POINTER CODE NAME JQ: the spec is refused there
	spec 1 1 0 "$4"
	is "$(api_status POST /v1/ensembles "@$T/spec.json")" 422 "$3"
	is "$(jq -r '"\(.pointer) \(.code)"' "$T/api.body")" "$1 $2" "… and that is where"
}

refused /members/checkpoint/signal spec_impossible_value "an unknown signal is refused" '.members.checkpoint.signal = "KILL"'
refused /members/checkpoint/before spec_impossible_value "a warning before the start is refused" '.members.checkpoint.before = "75s"'
refused /members/checkpoint/before spec_missing_key "a signal that is never sent is refused" 'del(.members.checkpoint.before)'
refused /members/resources/walltime spec_missing_key "before an end that never comes, too" 'del(.members.resources)'
refused /members/checkpoint/glob spec_impossible_value "a glob that leaves the directory is refused" '.members.checkpoint.glob = "../*"'
refused /members/checkpoint/resume/0 spec_unfilled_placeholder "an unknown placeholder is refused" '.members.checkpoint.resume = ["{chekpoint}"]'
refused /members/command/1 spec_unfilled_placeholder "{checkpoint} has no value but in resume" '.members.command[1] = "{checkpoint}"'
refused /members/checkpoint/often spec_unknown_key "an unknown key is refused" '.members.checkpoint.often = true'

# Paths name the member's parameters, whose values are no patterns, and may be patterns themselves
cat >"$T/named" <<'X'
#!/bin/sh
mkdir -p out "$1-logs/version_1"
printf 'step,loss\n1,0.5\n' >"$1-logs/version_1/metrics.csv"
: >"$STRETTO_CHECKPOINT_DIR/$1-1.ckpt"
: >"out/$2-17.npz"
X
chmod +x "$T/named"
jq -n --arg named "$T/named" '{name: "named", members: {command: [$named, "{net}", "{writes}"],
	parameters: {grid: {net: ["a*b", "axb"], writes: ["a*b", "axb"]}}, retries: 0, success: {file: "out/{net}-*.npz"},
	artefacts: ["out/{writes}-1*.npz"], metrics: {file: "{net}-logs/*/metrics.csv"},
	checkpoint: {glob: "{net}-*.ckpt", attempts: 1}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
ok "members that are named by their parameters end" wait_ensemble "$ID" 60
is "$(api GET "/v1/ensembles/$ID/members?metrics=loss" | jq -c '[.members[] | [.parameters.net, .parameters.writes, .state, .metrics.loss.last]]')" \
	'[["a*b","a*b","succeeded",0.5],["a*b","axb","unfinished",0.5],["axb","a*b","unfinished",0.5],["axb","axb","succeeded",0.5]]' \
	"each is judged by its own file"
is "$(member 0 '"\(.attempts | length) \(.artefacts[0].path) \(.checkpoints[0].path | split("/") | last)"')" "1 out/a*b-17.npz a*b-1.ckpt" "at once, with its artefacts and checkpoints"
refused /members/success/file spec_unfilled_placeholder "an unknown placeholder in a path is refused" '.members.success.file = "{nett}.npz"'
refused /members/artefacts/0 spec_unfilled_placeholder "wherever it is" '.members.artefacts = ["{nett}.npz"]'

spec 4 5 0.1 '.members.env = {EPOCHS_WAIT: "3"}'
ID=$(submit "$T/spec.json")
is "$(ended '"\(.state) \(.members.unfinished) \(.members.failed)"')" "complete 4 0" "members that stop at the warning are unfinished"
is "$(member 0 '.attempts[0] | "\(.outcome) \(.exit_code)"')" "timeout 0" "their attempts are out of time"
like "$(member 0 .reason)" 'stopped near the end.*its checkpoint is epoch-[0-9]+.ckpt' "the reason says what there is to go on from"
is "$(ls "$(dir 0)/checkpoint" | wc -l)" 2 "two checkpoints are kept"
is "$(member 0 '.checkpoints | length')" 2 "and known"
last=$(member 0 '.checkpoints[1].path')
is "$(stat -c %s "$last")" "$(member 0 '.checkpoints[1].size')" "with their sizes"
is "$(api GET "/v1/checkpoints?ensemble=$ID&limit=3" | jq '.checkpoints | length')" 3 "a page of all"
next=$(jq -r .next "$T/api.body")
is "$(api GET "/v1/checkpoints?ensemble=$ID&limit=100&cursor=$next" | jq '.checkpoints | length')" 5 "and the next"
is "$(api GET "/v1/checkpoints?ensemble=$ID&member=2" | jq -r '[.checkpoints[].member] | unique | tostring')" '[2]' "one member's"

# the command
stretto checkpoints "$ID" >"$T/table"
like "$(head -n 1 "$T/table")" '^of +step +bytes +time +checkpoint$' "stretto checkpoints has a table"
is "$(awk 'NR > 1 {print $1}' "$T/table" | uniq -c | xargs)" "2 $ID.0 2 $ID.1 2 $ID.2 2 $ID.3" "of all members, by member"
is "$(stretto checkpoints "$ID.0" | awk 'END {print NR, $2, $3, $NF}')" "3 $(member 0 '.checkpoints[1] | "\(.step) \(.size) \(.path)"')" \
	"and of one, its newest last"
is "$(stretto checkpoints "$ID.2" --json)" "$(api GET "/v1/checkpoints?ensemble=$ID&member=2")" "--json is what the API answers"
status_is 0 "of nobody" stretto checkpoints "$ID.4"
is "$(wc -l <"$T/out")" 1 "there are none"
status_is 3 "there is no training" stretto checkpoints "$ID.training"

# the newest of one is cut in half, of another gone, of the third everything is broken
halve() { head -c $(($(stat -c %s "$1") / 2)) "$1" >"$T/half" && cat "$T/half" >"$1"; }
halve "$last"
before=$(basename "$(member 0 '.checkpoints[0].path')")
rm "$(member 1 '.checkpoints[1].path')"
for file in "$(dir 2)"/checkpoint/*.ckpt; do halve "$file"; done
again
is "$(ended '"\(.state) \(.members.succeeded + .members.unfinished)"')" "complete 4" "they are resubmitted"
is "$(member 0 '.attempts[1].resumed')" "$before" "one that was cut in half is not taken, and the one before is"
like "$(member 1 '.attempts[1].resumed')" '^epoch-' "nor is one that is gone"
is "$(member 2 '.attempts[1].resumed')" null "with nothing whole it begins at the start"
again
is "$(ended .members.succeeded)" 4 "all are finished in the end"
for i in 0 1 2 3; do cat "$(dir $i)"/a*/result; done | sort -n | uniq -c | sort -u -k1,1 | awk '{print $1}' >"$T/each"
is "$(cat "$T/each")" 4 "their histories are without gap or repeat"
is "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT sum(failures) FROM member WHERE ensemble = $ID")" 0 "and no retry was spent"

# killed at the walltime, while it goes on writing
ends_soon='.members.resources.walltime = "15s" | .members.checkpoint.before = "1s"'
spec 1 1000 0.2 '.members.env = {EPOCHS_IGNORE: "1"} | '"$ends_soon"
ID=$(submit "$T/spec.json")
is "$(ended .members.unfinished)" 1 "one that is ended at the walltime is unfinished, too"
like "$(member 0 .reason)" 'ended at the walltime' "as the reason says"
like "$(member 0 '.attempts[0].ended')" . "it was recorded"

# from the start
is "$(stretto resubmit --from start "$ID.0")" "ensemble $ID: 1 members resubmitted" "it can be resubmitted from the start"
is "$(ended .members.unfinished) $(member 0 '.attempts[1].resumed')" "1 null" "and begins there"
api POST "/v1/ensembles/$ID/members/0/resubmit" >/dev/null
is "$(ended .members.unfinished)" 1 "and then goes on"
like "$(member 0 '.attempts[2].resumed')" '^epoch-' "from what it left since"
like "$(stretto members "$ID.0")" 'step +bytes +time +checkpoint.*/checkpoint/epoch-' "the command line lists its checkpoints"
status_is 3 "and goes from nowhere else" stretto resubmit --from end "$ID.0"
is "$(api_status POST "/v1/ensembles/$ID/resubmit" '{"from": "end"}')" 422 "from nowhere else"

# no progress
spec 1 100 1000 '.members.retries = 3 | .members.resources.walltime = "2s" | .members.checkpoint.before = "1s"'
ID=$(submit "$T/spec.json")
is "$(ended '"\(.members.failed)"') $(member 0 '.attempts | length')" "1 3" "without a checkpoint three attempts are enough"
like "$(member 0 .reason)" '^stalled: 3 attempts in a row left no checkpoint' "and the reason says so"

# preempted: the runner is told to end
spec 1 1000 0.3 '.members.resources.walltime = "5m" | .members.checkpoint.grace = "1m"'
ID=$(submit "$T/spec.json")
wait_for 20 "ls $(dir 0)/checkpoint/epoch-2.ckpt"
kill -TERM "$(jq .pid "$STATE/run/e$ID"/jobs/*/claim.json)"
is "$(ended .members.unfinished)" 1 "one whose runner is told to end is warned, and unfinished"
is "$(member 0 '.attempts[0] | "\(.outcome) \(.exit_code)"')" "cancelled 0" "it stopped by itself"

# killed with its runner, which leaves no record of its end
spec 1 1000 0.3 '.members.resources.walltime = "5m"'
ID=$(submit "$T/spec.json")
wait_for 20 "ls $(dir 0)/checkpoint/.stretto/*.json"
kill -KILL "$(jq .pid "$STATE/run/e$ID"/jobs/*/claim.json)"
is "$(ended .members.unfinished) $(member 0 '.attempts[0].outcome')" "1 lost" "of one that is lost, the daemon finds the checkpoints"
like "$(member 0 '.checkpoints[-1].path')" '/epoch-[0-9]+.ckpt$' "that were recorded while it ran"

# a writer that hangs
spec 1 1 1 '.members.checkpoint = {glob: "*.ckpt"} | .members.resources.walltime = "5m" | .members.command = ["sh", "-c",
	"cd \"$STRETTO_CHECKPOINT_DIR\"; echo 1 >a-1.ckpt; exec 3>a-2.ckpt; echo half >&3; echo 3 >a-3.ckpt; sleep 1000"]'
ID=$(submit "$T/spec.json")
wait_for 30 '[ "$(ls "$(dir 0)"/checkpoint/.stretto/*.json | wc -l)" = 2 ]' || bail "what has come to rest is not recorded"
kill -TERM "$(jq .pid "$STATE/run/e$ID"/jobs/*/claim.json)"
is "$(ended .members.unfinished)" 1 "one that is ended while it holds a file open"
is "$(member 0 '[.checkpoints[].path | split("/")[-1]] | join(" ")')" "a-1.ckpt a-3.ckpt" "has whole checkpoints, but not that"
is "$(cat "$(dir 0)/checkpoint/a-2.ckpt")" half "which is left alone"

# many, and another one's
spec 6 1 1 '.members.checkpoint = {glob: "*.ckpt", keep: 90, resume: ["{checkpoint}"]} | .members.command = ["sh", "-c",
	"[ $# = 1 ] || for i in $(seq 90); do echo $i >$STRETTO_CHECKPOINT_DIR/a-$i.ckpt; done", "sh"]'
ID=$(submit "$T/spec.json")
is "$(ended .members.unfinished)" 6 "some of many checkpoints"
is "$(stretto checkpoints "$ID" | awk 'NR > 1 {print $2}' | xargs)" "$(for _ in 1 2 3 4 5 6; do seq 90; done | xargs)" "have them all listed, over pages"
is "$(stretto checkpoints --json | jq -c "[(.checkpoints | map(select(.ensemble == $ID)) | length), .next]")" '[540,null]' "in one document, too"
figures() { api GET /metrics | awk '$1 == "stretto_families_unfinished" {n = $2} $1 == "stretto_follow_ups_total" {m = $2} END {print n, m}'; }
unfinished=$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(DISTINCT ensemble) FROM member WHERE state = 'unfinished'")
is "$(figures)" "$unfinished 0" "/metrics tells how many families have unfinished members"
next=$(stretto follow-up "$ID" --json | jq .id)
is "$(figures)" "$((unfinished - 1)) 1" "and that there is a follow-up, which has taken them over"
is "$(stretto checkpoints "$next.3" | tail -n 1 | awk '{print $1, $2}')" "$ID.3 90" "they are its follow-up's, too"
is "$(stretto checkpoints "$next" --json | jq '.checkpoints | length')" 540 "all of them"

# checkpoints that somebody has removed before the follow-up
spec 1 1 0 ".members.command = [\"sh\", \"-c\", \"[ ! -e $T/removed ] || exec touch result; echo 1 >\$STRETTO_CHECKPOINT_DIR/a1.ckpt\"] |
	.members.checkpoint = {glob: \"*.ckpt\"} | del(.members.resources)"
ID=$(submit "$T/spec.json")
is "$(ended .members.unfinished)" 1 "a member is unfinished, with a checkpoint"
rm -r "$(dirname "$(stretto checkpoints "$ID" --json | jq -r '.checkpoints[0].path')")"
touch removed
ID=$(stretto follow-up "$ID" --json | jq .id)
is "$(ended .members.succeeded)" 1 "its follow-up runs without it"
like "$(member 0 '.attempts[0].notice')" 'began at its start, since its checkpoint a1.ckpt was not there any more' "and says that it had to begin at its start"

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
done_testing
