#!/usr/bin/env bash
# Rules: a spec may differ from its reference only in what that lets vary, what attempts ran is hashed where they run,
# and the report says what differs and what was not compared. Each way around the rules is refused, or named.
TEST_LIMIT=240
. "${srcdir:-.}/tests/t/lib.sh"

# The program is a script that reports one loss. Its interpreter is found on PATH, in a folder of the test's own.
mkdir project runs tools
cat >tools/python9 <<'EOF'
#!/bin/sh
script=$1; shift
. "$script"
EOF
cat >project/train.py <<'EOF'
echo "{\"step\": 1, \"loss\": $1}" >>"$STRETTO_METRICS"
echo "{\"step\": 2, \"loss\": $1}" >>"$STRETTO_METRICS"
EOF
chmod +x tools/python9
export PATH=$T/tools:$PATH
start_daemon
sha=$(sha256sum project/train.py | cut -d ' ' -f 1)
jq -n --arg program "$T/project/train.py" '{name: "reference", members: {command: ["python9", $program, "{lr}", "{batch}"], env: {DIR: "project"},
	parameters: {grid: {lr: [0.1], batch: [64], workers: [1, 2]}}, retries: 0}, rules: {files: ["train.py"], may_vary: ["lr", "batch"]}}' >project/reference.json
jq '.name = "tuned" | .width = 2 | .members.parameters.grid = {lr: [0.1, 0.2], batch: [32], workers: [2, 1]} |
	.rules = {reference: 1, files: ["../project/train.py"]} | .rules.files = [{path: "train.py", sha256: $sha, at: $at}]' \
	--arg sha "$sha" --arg at "$T/project/train.py" project/reference.json >runs/tuned.json
# ends SPEC: submits a spec, waits for its end, and prints its id.
ends() {
	local id
	id=$(stretto --json submit "$1" | jq .id) && stretto wait "$id" >/dev/null 2>&1
	echo "$id"
}
is "$(ends project/reference.json)" 1 "the reference runs"
is "$(api GET /v1/ensembles/1/spec | jq -c '.rules.files[] | [.path, .sha256, .at]')" "[\"train.py\",\"$sha\",\"$T/project/train.py\"]" \
	"SHA-256 of files are recorded, and where they lie"
is "$(api GET /v1/ensembles/1/ran | jq -c '[.missing, (.ran | length), (.ran[0].attempts | length), [.ran[0].files[] | [.as, .path, .sha256]]]')" \
	"$(jq -c -n --arg t "$T" --arg a "$(sha256sum "$T/tools/python9" | cut -d ' ' -f 1)" --arg b "$(sha256sum /bin/sh | cut -d ' ' -f 1)" --arg c "$sha" \
		'[[], 1, 2, [["program", $t + "/tools/python9", $a], ["interpreter", "/bin/sh", $b], ["argument", $t + "/project/train.py", $c], ["file", $t + "/project/train.py", $c]]]')" \
	"and what each attempt ran, by its resolved path"

# --- a run by the rules
tuned=$(ends runs/tuned.json)
stretto report 1 "$tuned" --by last >report
like "$(cat report)" "$tuned +reference \(1\) +\[\"lr\",\"batch\"\] +train.py +$sha" "the report names the reference, what it lets vary, and its files"
like "$(cat report)" "$tuned +program +$T/tools/python9 .* 4 +as in the reference" "what ran"
like "$(cat report)" "$tuned +file +$T/project/train.py +$sha +4 +as in the rules" "and how it was compared"
like "$(cat report)" "Ensemble $tuned: nothing else differs" "and says so where nothing else differs"
is "$(stretto --json report "$tuned" --by last | jq -c '[.runs[].fate] | unique')" '["ranked"]' "its runs are ranked"
is "$(api GET "/v1/ensembles/$tuned/spec" | jq -c '.rules | [.reference_ensemble, .reference.name]')" '[1,"reference"]' "the reference is frozen"

# --- ways around that are refused: what, the place, and the change of the tuned spec
while IFS='|' read -r what place change; do
	jq --arg sha "$sha" "$change" runs/tuned.json >runs/changed.json
	status_is 3 "$what is refused" stretto submit runs/changed.json
	like "$(cat err)" "$place" "with its place"
done <<'EOF'
a third parameter|no parameter "momentum" \(rules_broken at /members/parameters/grid/momentum\)|.members.parameters.grid.momentum = [0.9]
another command|"adam.py" here .*rules_broken at /members/command/1|.members.command[1] = "adam.py"
another seed|rules_broken at /members/parameters/seed|.members.parameters.seed = 3
a subset of the scales|rules_broken at /members/parameters/grid/workers|.members.parameters.grid.workers = [1]
a combination left out|rules_broken at /members/parameters|.members.parameters.exclude = [{workers: 1}]
arguments in a parameter|rules_broken at /members/parameters/grid/lr|.members.parameters.grid.lr = ["0.1 --epochs 9"]
a may_vary of its own|at /rules/may_vary|.rules.may_vary = ["lr", "batch", "workers"]
more follow-ups|rules_broken at /follow_up|.follow_up = {auto: true, max: 99}
another program than the reference's|rules_broken at /rules/files/0|.rules.files[0].sha256 = ($sha | explode | reverse | implode)
a relative place|/rules/files/0/at|del(.rules.files[0].at) | .rules.files[0].at = "train.py"
a reference that is another's|rules_broken at /rules/reference_ensemble|.rules.reference = {name: "x", members: .members} | .rules.reference_ensemble = 1 | del(.rules.files)
a reference that is not there|no ensemble 99 .*/rules/reference|.rules.reference = 99
a reference that is no spec|/rules/reference/members|.rules.reference = {name: "x"}
EOF
jq '.rules = {reference: "../project/reference.json", files: ["train.py"]}' runs/tuned.json >runs/changed.json
cp project/train.py runs/train.py
status_is 2 "a reference in a file whose programs have no SHA-256 is refused" stretto submit runs/changed.json
like "$(cat err)" "/rules/reference: .*reference.json does not say the SHA-256 of \"train.py\"" "since that of now proves nothing"
jq '.rules.files = ["nothing.py"]' runs/tuned.json >runs/changed.json
status_is 2 "a file that is not there" stretto submit runs/changed.json
like "$(cat err)" "/rules/files/0: .*/runs/nothing.py" "is told with its path"

# --- ways around that the report names
# against WHAT ID WANTED: no run of the ensemble is ranked, each for that reason
against() {
	is "$(stretto --json report "$2" --by last | jq -c '[.runs[] | .fate] | unique')" '["against the rules"]' "$1: no run is ranked"
	like "$(stretto --json report "$2" --by last | jq -r '.runs[0].reason')" "$3" "for that reason"
	is "$(stretto report "$2" --by last | grep -c "nothing else differs")" 0 "and the report does not say that nothing else differs"
}
cp project/train.py train.kept
# a program edited after the submission
hold=$(stretto --json submit runs/tuned.json | jq .id)
stretto wait "$hold" >/dev/null 2>&1
jq '.name = "late"' runs/tuned.json >runs/late.json
echo '# faster' >>project/train.py
edited=$(ends runs/late.json)
against "a program that was edited after the submission" "$edited" "train.py is not the train.py of the rules"
like "$(stretto report "$edited" --by last)" "$(sha256sum project/train.py | cut -d ' ' -f 1)" "and the report has the SHA-256 of what ran"
cp train.kept project/train.py
# a program that edits itself
echo "echo '# later' >>$T/project/train.py" >>project/train.py
own=$(sha256sum project/train.py | cut -d ' ' -f 1)
jq '.members.parameters.grid = {lr: [0.1], batch: [64]} | .rules.files = ["train.py"]' project/reference.json >project/self.json
self=$(ends project/self.json)
is "$(api GET "/v1/ensembles/$self/ran" | jq -c --arg own "$own" '[.ran[0].files[] | select(.as == "file") | .sha256 == $own, .touched, .end != $own]')" \
	"[true,true,true]" "a program that changes while it runs: both SHA-256 are there"
against "a program that changes while it runs" "$self" "train.py was changed while it ran"
cp train.kept project/train.py
# an unedited copy beside the spec, and the command runs another one
mkdir elsewhere copy
{ cat project/train.py; echo '# faster'; } >elsewhere/train.py
cp project/train.py copy/train.py
jq --arg p "$T/elsewhere/train.py" '.members.command[1] = $p' project/reference.json >copy/reference.json
copy=$(ends copy/reference.json)
against "an unedited copy of the program beside the spec" "$copy" "elsewhere/train.py is not the train.py of the rules"
# another interpreter first on PATH, and another environment of the daemon
kill_daemon
mkdir other
{ cat tools/python9; echo '# another'; } >other/python9
chmod +x other/python9
PATH=$T/other:$PATH FASTER=yes start_daemon
path=$(ends runs/tuned.json)
against "another interpreter first on PATH" "$path" "program $T/other/python9 is not that of the reference"
like "$(stretto report "$path" --by last)" "Ensemble $path differs: the environment: .*FASTER" "variables of the daemon's environment that differ are named"
kill_daemon
FASTER=yes start_daemon
env=$(ends runs/tuned.json)
is "$(stretto --json report "$env" --by last | jq -c '[.runs[].fate] | unique')" '["ranked"]' "with another environment alone, runs are ranked"
is "$(stretto report "$env" --by last | grep -c "nothing else differs") $(stretto report "$env" --by last | grep -c "environment: FASTER")" "0 1" \
	"but its variables are named"
kill_daemon
start_daemon
# a reference that never ran here
stretto spec 1 >runs/reference.json
jq '.rules.reference = "reference.json"' runs/tuned.json >runs/by-file.json
file=$(ends runs/by-file.json)
is "$(stretto report "$file" --by last | grep -c "nothing else differs")" 0 "with a reference that is a file, nobody says that nothing else differs"
like "$(stretto report "$file" --by last)" "Ensemble $file was not compared: programs, launchers, arguments and environment" "but what was not compared"
# a program that the command does not name
jq --arg p "$T/project/train.py" '.members.command = ["sh", "-c", ". " + $p + "; :"] | .members.parameters.grid = {lr: [0.1]}' project/reference.json >project/shell.json
jq '.rules.may_vary = ["lr"] | .members.command[3] = "sh" | .members.command[4] = "{lr}"' project/shell.json >project/shell-2.json
shell=$(ends project/shell-2.json)
like "$(stretto report "$shell" --by last)" "was not compared: whether the program loads train.py" "a program that the command does not name is named"

# --- a cancel, and the walltime, end the reading of a file that never ends
truncate -s 1T endless
jq --arg p "$T/endless" --arg sha "$sha" '.rules = {files: [{path: $p, sha256: $sha}]}' project/reference.json >endless.json
id=$(stretto --json submit endless.json | jq .id)
ok "a member whose files are read is running" wait_for 60 "api GET /v1/jobs?ensemble=$id | jq -e '[.jobs[].state] | all(. == \"running\")'"
stretto cancel "$id" >/dev/null
ok "a cancel ends the reading" wait_ensemble "$id" 60
jq '.members.resources.walltime = "1s" | .members.parameters.grid.workers = [1]' endless.json >short.json
is "$(api GET "/v1/ensembles/$(ends short.json)/members/0" | jq -r '.attempts[0] | "\(.outcome), \(.reason)"')" "timeout, the walltime was over before it started" \
	"and so does the walltime"
rm endless

# --- a walltime that a follow-up changes
jq '.members.command = ["false"] | .members.parameters.grid = {lr: [0.1]} | .rules = {may_vary: ["lr"]} | .members.resources.walltime = "1m"' \
	project/reference.json >project/false.json
false=$(ends project/false.json)
jq --argjson id "$false" '.rules = {reference: $id}' project/false.json >runs/false.json
own=$(ends runs/false.json)
status_is 3 "a follow-up with another walltime is refused" stretto follow-up "$own" --state failed --walltime 1h
like "$(cat err)" "rules_broken at /resources/walltime" "with its place"
status_is 0 "one with the same walltime is not" stretto follow-up "$own" --state failed

# --- a reference that begins after another ensemble, as the spec does
jq '.members.command = ["test", "-e", "{after}/none"] | .members.parameters.grid = {lr: [0.1]} | .rules = {may_vary: ["lr"]}' \
	project/reference.json >project/stage.json
stretto submit project/stage.json --after 1 >/dev/null
stage=$(api GET "/v1/ensembles?limit=1" | jq '.ensembles[0].id')
stretto spec "$stage" >runs/stage-spec.json
for reference in "$stage" '"../project/stage.json"' '"stage-spec.json"'; do
	jq --argjson reference "$reference" '.members.parameters.grid.lr = [0.2] | .rules = {reference: $reference}' project/stage.json >runs/stage.json
	status_is 0 "{after} in the command of the reference $reference" stretto submit runs/stage.json --after "$tuned"
	jq '.members.command[2] = "{after}/other"' runs/stage.json >runs/changed.json
	status_is 3 "another file there is refused" stretto submit runs/changed.json --after "$tuned"
	like "$(cat err)" "rules_broken at /members/command/2" "with its place"
done
stage=$(api GET "/v1/ensembles?limit=1" | jq '.ensembles[0].id')
is "$(api GET "/v1/ensembles/$stage/spec" | jq -r '.members.command[2]')" "$(api GET "/v1/ensembles/$tuned" | jq -r .dir)/none" "each has the directory of its own"
stretto wait "$stage" >/dev/null 2>&1
status_is 0 "and is followed up" stretto follow-up "$stage" --state failed
done_testing
