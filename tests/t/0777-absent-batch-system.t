#!/bin/bash
# A batch system that is not installed, or does not answer: who asks is told so everywhere in the same words, what was
# never submitted ends at once when it is cancelled, and what may have been submitted is looked up as soon as that can
# be done.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

# Commands of a Slurm that is not there yet. The daemon looks for them by these paths.
FAKE=$T/fake
mkdir "$FAKE"
jq -n --arg fake "$FAKE" '{adapters: {slurm: ({gather: "0s", poll: "1s"} + ([("sbatch", "squeue", "scancel", "scontrol", "sacct", "sinfo") | {(.): "\($fake)/\(.)"}] | add)),
	pbs: {gather: "0s", poll: "1s", qsub: "\($fake)/qsub", qstat: "\($fake)/qstat", qdel: "\($fake)/qdel", qsig: "\($fake)/qsig"}}}' >config.json
# fake NAME... : reads the script that all of them are to be; each is there whole at once
fake() {
	local name
	cat >"$T/script"
	chmod +x "$T/script"
	for name; do cp "$T/script" "$FAKE/.$name" && mv "$FAKE/.$name" "$FAKE/$name"; done
}
silent() {
	fake sbatch squeue scancel scontrol sacct sinfo <<-'END'
		#!/bin/sh
		echo "${0##*/}: error: Unable to contact slurm controller (connect failure)" >&2
		exit 1
	END
}
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
adapter() { api GET /v1/adapters | jq -c ".adapters[] | select(.name == \"$1\") | $2"; }
notice() { api GET "/v1/ensembles/$1" | jq -c "[.notice.code, .notice.text]"; }

start_daemon --config config.json
for adapter in slurm pbs; do
	jq -n --arg adapter $adapter '{name: "away", adapter: $adapter, members: {command: ["true"], parameters: {grid: {i: [0, 1, 2]}}}}' >$adapter.json
done

# --- its programs are not there
status_is 0 "adapters that nobody needs may be missing" stretto adapters
like "$(cat out)" $'\n''local +not asked yet ' "one that had nothing to do was not asked yet"
like "$(cat out)" $'\n''slurm +not set up .*'"$FAKE/sbatch is not there" "one that lacks a program is not set up, and says which"
MISSING="slurm is not set up: $FAKE/sbatch is not there, or is not a program"
status_is 0 "a spec for it is accepted" stretto submit slurm.json
is "$(cat err)" "stretto: warning: $MISSING; ensemble 1 waits until that has changed" "with a warning"
is "$(notice 1)" "$(jq -nc --arg t "$MISSING" '["adapter_not_set_up", $t]')" "the ensemble says why it does not go on"
like "$(stretto status 1)" "waiting +$MISSING" "status says the same"
is "$(adapter slurm '[.state, .ensembles]') $(adapter slurm .sentence)" "[\"not_set_up\",1] \"$MISSING\"" "so does the adapter"
status_is 1 "adapters: one that is needed is missing" stretto adapters
stretto wait 1 >waited.out 2>waited.err &
waiter=$!
ok "wait says it, too" wait_for 20 'grep -q -F "ensemble 1 waits: $MISSING" waited.err'
is "$(db 'SELECT count(*) FROM job')" 0 "no job is made that nobody could submit"
ok "it is cancelled" stretto cancel 1
wait $waiter
is $? 1 "which ends it at once, and wait with it"
is "$(api GET /v1/ensembles/1 | jq -c '[.state, .members.cancelled, .notice]')" '["cancelled",3,null]' "its members are cancelled"

# --- its programs come; that one submission was refused proves that they were used
ok "a second ensemble waits" stretto submit slurm.json
fake sbatch squeue scancel scontrol sacct sinfo <<-'END'
	#!/bin/sh
	[ "${0##*/}" != sbatch ] || { echo "sbatch: error: invalid partition specified: none" >&2; exit 1; }
END
ok "the second is submitted once they are there" wait_ensemble 2 60
like "$(jq -r .reason ensemble.json)" "invalid partition" "by the new sbatch"
is "$(adapter slurm .state)" '"answers"' "the adapter answers now"

# --- a program that cannot be started has submitted nothing
fake sbatch <<<'#!/no/such/interpreter'
ok "a third ensemble" stretto submit slurm.json
ok "its jobs could not be submitted" wait_for 60 'api GET "/v1/jobs?ensemble=3" | jq -e "[.jobs[].waits_for | test(\"/sbatch: no such file\")] == [true, true, true]"'
like "$(notice 3)" 'not_submitted","its jobs are not submitted yet: .*/sbatch: no such file' "the ensemble says so"
ok "it is cancelled" stretto cancel 3
ok "none of its jobs stays" wait_for 60 '[ "$(db "SELECT group_concat(DISTINCT state) FROM job WHERE ensemble = 3")" = ended ]'
is "$(db 'SELECT sum(submissions) FROM job WHERE ensemble = 3')" 0 "none of them counts as submitted"
fake qsub qstat qdel qsig <<<'#!/no/such/interpreter'
ok "PBS: an ensemble, where even qstat cannot be started" stretto submit pbs.json
ok "PBS: its jobs could not be submitted" wait_for 60 'api GET "/v1/jobs?ensemble=4" | jq -e "[.jobs[].waits_for | test(\"qstat: no such file\")] == [true, true, true]"'
ok "PBS: it is cancelled" stretto cancel 4
ok "PBS: none of its jobs stays" wait_for 60 '[ "$(db "SELECT group_concat(DISTINCT state) FROM job WHERE ensemble = 4")" = ended ]'

# --- one that does not answer may have taken a job
silent
ok "a fifth ensemble" stretto submit slurm.json
ok "it is told that Slurm does not answer" wait_for 60 'adapter slurm .sentence | grep contact'
SILENT='slurm has not answered since 20[0-9TZ:.-]+: .*contact'
like "$(notice 5)" "\"adapter_silent\",\"$SILENT" "the ensemble says so"
SAID='slurm has not answered since .*[0-9]{2}:[0-9]{2} \(.*\): .*contact' # by the clock of the reader
like "$(stretto status 5)" "waiting +$SAID" "status says so"
like "$(stretto jobs 5)" "intent .*it is not known whether it was submitted: .*contact" "its jobs say what is not known"
status_is 0 "a spec is accepted" stretto submit slurm.json
like "$(cat err)" "warning: $SAID" "with a warning"
ok "both are cancelled" stretto cancel 5
ok "both are cancelled" stretto cancel 6
like "$(stretto status 5)" "waiting +it is not known whether job st-.* was submitted, and so whether it is over: $SAID" "why it is not over"
rm "$FAKE"/s*
kill_daemon
start_daemon --config config.json
like "$(stretto status 5)" "not known whether job .* $MISSING" "after a restart without Slurm's programs, too"
like "$(stretto jobs 5)" "intent .*it is not known whether it was submitted: $MISSING" "and of its jobs"
status_is 1 "adapters: they are needed" stretto adapters
fake sbatch squeue scancel scontrol sacct sinfo <<<'#!/bin/sh'
ok "once Slurm says that it has none, all of them end" wait_for 60 '[ "$(db "SELECT group_concat(DISTINCT state) FROM job")" = ended ]'
for id in 5 6; do
	is "$(api GET "/v1/ensembles/$id" | jq -c '[.state, .members.cancelled, .notice]')" '["cancelled",3,null]' "ensemble $id is over"
done
is "$(stretto adapters --json | jq -c '.adapters[] | select(.name == "slurm") | .state')" '"answers"' "the adapter answers"

# --- Slurm's programs are there, and know no Slurm, as where only its packages were installed
fake sbatch squeue scancel scontrol sacct sinfo <<-'END'
	#!/bin/sh
	echo "${0##*/}: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host" >&2
	echo "${0##*/}: fatal: Could not establish a configuration source" >&2
	exit 1
END
ok "a seventh ensemble" stretto submit slurm.json
ok "it says why its jobs are not submitted" wait_for 60 'notice 7 | grep -q "configuration source"'
ok "it is cancelled" stretto cancel 7
ok "none of its jobs stays" wait_for 60 '[ "$(db "SELECT group_concat(DISTINCT state) FROM job WHERE ensemble = 7")" = ended ]'

# --- jobs of an adapter that there never was
status_is 3 "jobs of an unknown adapter are refused" stretto jobs --adapter foo
like "$(cat err)" 'must be local, .*slurm.*, not "foo"' "with the names that there are"
is "$(api_status GET '/v1/jobs?adapter=foo') $(jq -r .code api.body)" "400 query_wrong_value" "over HTTP, too"
status_is 0 "those of one that is not set up are listed" stretto jobs --adapter pbs
done_testing
