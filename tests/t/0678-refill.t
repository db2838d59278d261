#!/usr/bin/env bash
# Packed jobs whose free places are taken by the next members, as long as there is time for them.
# shellcheck disable=SC2016 # for wait_for, and members' scripts
TEST_LIMIT=180
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 10}}}' >config.json
start_daemon --config config.json
sql() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
spec() { # COUNT SCRIPT [JQ]
	jq -n --arg script "$2" --argjson count "$1" '{name: "refill", pack: 10, width: 10, refill: true, members: {command: ["sh", "-c", $script],
		retries: 0, parameters: {method: "monte-carlo", count: $count, seed: 3, space: {x: [0, 1]}}}} | '"${3:-.}" >spec.json
}
ended() { wait_ensemble "$ID" 60; jq -r "$1" ensemble.json; }
pilots() { sql "SELECT count(*) FROM job WHERE ensemble = $ID AND kind = 'pilot'"; }

refused() { # JQ CODE POINTER NAME
	spec 3 true "$1"
	is "$(api_status POST /v1/ensembles @spec.json) $(jq -r '"\(.code) \(.pointer)"' api.body)" "422 $2 $3" "$4"
}
refused '.refill = 1' spec_wrong_type /refill "it is true or false"
refused '.allocation = {}' spec_impossible_value /refill "not with an allocation"
refused '.members.resources.nodes = 2' spec_unsupported /refill "nor where members want two nodes"
refused '.training = {command: ["true"], fields: {t: {dtype: "float32", shape: [1]}}}' spec_unsupported /refill "nor with a training"
refused '.members.resources.walltime = "1m"' spec_missing_key /members/checkpoint/before "nor where less than the walltime is of no use"
refused '.pack = 11' resources_impossible /pack "nor where the job would be too large"

# --- ten at once, which wait for each other, each with parameters of its own; the eleventh and those after it as places become free
mkdir now
spec 40 "echo \"\$STRETTO_PARAMS \$STRETTO_SEED\" >>$T/told; mkdir $T/now/{index}; ls $T/now | wc -l >>$T/wide
	if [ {index} = 0 ]; then until [ \$(wc -l <$T/told) = 40 ]; do sleep 0.1; done
	else until [ \$(wc -l <$T/wide) -ge 10 ]; do sleep 0.1; done; sleep 0.2; fi; rmdir $T/now/{index}; [ {index} != 7 ]"
ID=$(submit spec.json)
is "$(ended '"\(.state) \(.members.succeeded) \(.members.failed)"')" "complete 39 1" "all run while the first waits for the last, and one that fails disturbs none"
is "$(pilots)" 1 "in one job"
is "$(sort -n wide | tail -n 1)" 10 "ten at once"
is "$(cut -d ' ' -f 1 told | sort -u | wc -l) $(cut -d ' ' -f 2 told | sort -u | wc -l)" "40 40" "each with other parameters, and another seed"
ok "which is over with the ensemble" wait_for 20 '[ "$(api GET "/v1/ensembles/$ID" | jq -c .allocation)" = null ]'

# --- with a walltime: what is left of it is used, and that it was less is not held against a member
spec 2 "if [ {index} = 0 ]; then sleep 1; elif [ \$STRETTO_ATTEMPT = 1 ]; then echo \$STRETTO_DEADLINE >$T/deadline; sleep 100; fi; echo {index} >>$T/ran" \
	'.pack = 1 | .width = 1 | .members.resources.walltime = "25s" | .members.checkpoint = {before: "1s", grace: "1s", attempts: 1}'
ID=$(submit spec.json)
is "$(ended '"\(.state) \(.members.succeeded)"')" "complete 2" "one that was started late has another try"
like "$(api GET "/v1/ensembles/$ID/members/1" | jq -r '.attempts[0] | "\(.outcome) \(.reason)"')" "^timeout ended with what was left of its allocation's time" \
	"its attempt ended with the job"
end=$(jq -r 'select(.what == "ready").deadline' "$STATE/run/e$ID"/jobs/*/node0/journal.jsonl | sort -n | head -n 1)
is "$(jq -n --argjson its "$(cat deadline)" --argjson job "$end" '$its <= $job and $its > $job - 2')" true "as it was told"
is "$(pilots) $(sql "SELECT count(*) FROM attempt WHERE ensemble = $ID AND idx = 1")" "2 2" "the second try is in the next job"
done_testing
