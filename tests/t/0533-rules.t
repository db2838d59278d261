#!/usr/bin/env bash
# Rules: a spec may differ from its reference only in what they name; files are compared by SHA-256, which `stretto
# submit` computes.
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
mkdir project runs
echo 'print("training")' >project/train.py
sha=$(sha256sum project/train.py | cut -d ' ' -f 1)
jq -n '{name: "reference", members: {command: ["python3", "train.py", "{lr}", "{batch}"], env: {DIR: "project"},
	parameters: {grid: {lr: [0.1], batch: [64]}}, retries: 0}, rules: {files: ["train.py"]}}' >project/reference.json
jq '.name = "tuned" | .width = 2 | .members.parameters.grid = {lr: [0.1, 0.2], batch: [32]} |
	.rules = {reference: "../project/reference.json", may_vary: ["lr", "batch"], files: ["train.py"]}' project/reference.json >runs/tuned.json
cp project/train.py runs/train.py
status_is 0 "what the rules let vary may differ" stretto submit runs/tuned.json
id=$(api GET /v1/ensembles | jq '.ensembles[0].id')
is "$(api GET "/v1/ensembles/$id/spec" | jq -c .rules.files)" "[{\"path\":\"train.py\",\"sha256\":\"$sha\"}]" "SHA-256 of files are recorded"
is "$(api GET "/v1/ensembles/$id/spec" | jq -c '.rules.reference | [.name, .rules.files[0].sha256]')" "[\"reference\",\"$sha\"]" \
	"with the reference as it was"

# refused WHAT WANTED JQ: the tuned spec with a change
refused() {
	jq "$3" runs/tuned.json >runs/changed.json
	status_is 3 "$1 is refused" stretto submit runs/changed.json
	like "$(cat err)" "$2" "with the place and both values"
}
refused "a third parameter" 'no parameter "momentum" \(rules_broken at /members/parameters/grid/momentum\)' \
	'.members.parameters.grid.momentum = [0.9]'
refused "another command" '"adam.py" here and "train.py" in the reference.*rules_broken at /members/command/1' '.members.command[1] = "adam.py"'
refused "another batch, where only lr may vary" '"batch" is 32 for some member and 64 in the reference' '.rules.may_vary = ["lr"]'
echo '# changed' >>runs/train.py
refused "a changed program" "SHA-256 $(sha256sum runs/train.py | cut -d ' ' -f 1) here and $sha in the reference.*/rules/files/0" .
cp project/train.py runs/train.py
jq '.rules.files = ["nothing.py"]' runs/tuned.json >runs/changed.json
status_is 2 "a file that is not there" stretto submit runs/changed.json
like "$(cat err)" "/rules/files/0: .*/runs/nothing.py" "is told with its path"
is "$(api GET /v1/ensembles | jq '.ensembles | length')" 1 "nothing was stored"

# --- an ensemble as the reference is frozen
stretto submit project/reference.json >/dev/null
reference=$(api GET /v1/ensembles | jq '.ensembles[0].id')
jq --argjson id "$reference" '.rules.reference = $id' runs/tuned.json >runs/by-id.json
status_is 0 "an ensemble is a reference" stretto submit runs/by-id.json
id=$(api GET /v1/ensembles | jq '.ensembles[0].id')
is "$(api GET "/v1/ensembles/$id/spec" | jq -c '.rules | [.reference_ensemble, .reference.name, .reference.members.command[1]]')" \
	"[$reference,\"reference\",\"train.py\"]" "whose spec is put in its place"
refused "another command than the ensemble's" "/members/command/1" ".members.command[1] = \"adam.py\" | .rules.reference = $reference"
refused "an ensemble that is not there" "no ensemble 99 .*/rules/reference" '.rules.reference = 99'
refused "a reference that is no spec" "/rules/reference/members" '.rules.reference = {name: "x"}'
kill_daemon
start_daemon
is "$(api GET "/v1/ensembles/$id" | jq -r .name)" tuned "a daemon that comes back reads it"
stretto cancel "$id" >/dev/null
done_testing
