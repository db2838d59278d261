#!/bin/bash
# What became of jobs that Slurm has forgotten is asked of its accounts over REST, too: by ids, which it may have used
# again since. And what its limits and accounts refuse is told, as by sbatch.
# shellcheck disable=SC2016,SC2034,SC2119,SC2317 # for wait_for; restd_stop needs no word
TEST_LIMIT=200
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
# shellcheck source=tests/t/slurmrestd.sh
. "$srcdir/tests/t/slurmrestd.sh"
for program in slurmdbd mariadbd mariadb-install-db sacct sacctmgr; do
	command -v $program >/dev/null || skip_all "no accounts here ($program is missing)"
done
compgen -G "/usr/lib*/*/slurm*/openapi_dbv0_0_38.so" >/dev/null || skip_all "no slurmrestd that tells accounts here"
slurm_start --db JobCompType=jobcomp/none MinJobAge=2 MaxJobId=5 AccountingStorageEnforce=associations,limits,qos
me=$(id -un)
sacctmgr -i add account mine >/dev/null
sacctmgr -i add qos brief set MaxWall=5 flags=DenyOnLimit >/dev/null
sacctmgr -i add user "$me" account=mine defaultaccount=mine qos=normal,brief >/dev/null
limit() { # JOBS: how many this user may have
	sacctmgr -i modify user "$me" set MaxSubmitJobs="$1" >/dev/null
	wait_for 20 "scontrol show assoc_mgr flags=assoc users=$me | grep -q 'MaxSubmitJobs=$1('"
}
limit 20 || bail "Slurm does not take up its accounts"
wait_for 20 'scontrol show assoc_mgr flags=qos | grep -q "^ *QOS=brief("' || bail "Slurm does not take up its QOS"
restd_start "unix:$T/restd.sock" -a rest_auth/local -s openapi/v0.0.38,openapi/dbv0.0.38 || bail "slurmrestd did not start: $(tail -n 5 restd.out)"
restd_config "unix:$T/restd.sock"
start_daemon --config config.json
# members COUNT: each writes itself down, and ends when nobody holds it
members() {
	jq -n --argjson n "$1" '{name: "accounts", adapter: "slurmrestd", width: $n, members: {retries: 0, parameters: {grid: {x: [range($n)]}},
		resources: {walltime: "10m", cpus_per_task: 4},
		command: ["sh", "-c", "echo {x} >>$HOME/ran; while test -e $HOME/hold; do sleep 0.1; done"]}}' >spec.json
	: >"$HOME/ran"
	touch "$HOME/hold"
	submit spec.json
}
kill_work() { slurm work | while read -r pid _; do kill -KILL "$pid" 2>/dev/null; done; }
forgotten() { ok "$1" wait_for 60 '[ -z "$(slurm_jobs)" ]'; }
accounts() { sacct -n -X -D -P -S now-1hours -o JobIDRaw,JobName,State | cut -d" " -f1; }
succeeded() { # ID COUNT WHAT
	ok "$3: it ends" wait_ensemble "$1" 100
	is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" "[\"complete\",$2]" "$3: every member has succeeded"
}

# --- three jobs, of which none leaves a word behind: killed, lost with its node, and cancelled before it has started
two=$(members 2)
ok "two members run, as an array" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ] && slurm_jobs | grep -q "+ [0-9]*_1 RUNNING"'
one=$(members 1)
ok "one waits" wait_for 30 'slurm_jobs | grep -q " PENDING$"'
known() { api GET "/v1/jobs?ensemble=$1" | jq -e "[.jobs[] | select(.scheduler_id != null)] | length == $2"; } # else it cannot be asked for by its id
ok "the daemon knows their ids" wait_for 30 'known "$two" 2 && known "$one" 1'
kill_daemon
scancel "$(slurm_jobs | awk '$3 == "PENDING" { print $2 }')"
slurm kill-node n2
scontrol update nodename=n2 state=down reason=test
ok "one is lost with its node" wait_for 30 'slurm_jobs | grep -q " NODE_FAIL$" || accounts | grep -q "|NODE_FAIL$"' # before its end is told by what is left of it there
kill_work
forgotten "Slurm forgets them"
ok "the accounts have them" wait_for 30 '[ "$(accounts | cut -d"|" -f3 | sort | xargs)" = "CANCELLED FAILED NODE_FAIL" ]'
for _ in 1 2 3 4; do sbatch -p slots3 -J theirs -o /dev/null --wrap true >/dev/null; done
ok "their ids are used again" wait_for 30 '[ "$(accounts | grep -c "^[123]|theirs|COMPLETED")" = 3 ]'
forgotten "by jobs that are forgotten, too"
is "$(grep -c "GET /slurmdb/" restd.out)" 0 "nobody has asked for accounts"
rm "$HOME/hold"
start_daemon --config config.json
succeeded "$two" 2 "of two"
succeeded "$one" 1 "of one"
reasons() { for member in $(seq 0 $(($2 - 1))); do api GET "/v1/ensembles/$1/members/$member" | jq -r '.attempts[0] | .outcome + ": " + .reason'; done | sort; }
is "$(reasons "$two" 2)" "lost: the runner was lost: no exit record was left; Slurm: FAILED
lost: the runner was lost: no exit record was left; Slurm: NODE_FAIL" "why their first jobs ended"
# If the accounts gave no answer when it was first missed, nobody knew of an end, and the same attempt was submitted
# again.
unanswered=$(grep -c 'what became of jobs that Slurm has forgotten cannot be looked up' "$DAEMON_LOG")
like "$(reasons "$one" 1)" "^lost: the job ended before it started: cancelled before it started\$$([ "$unanswered" = 0 ] || echo '|^succeeded: $')" "why its did"

# --- what a QOS refuses that others would let wait for ever: over REST nobody is told of which limit, and all the same it is told at once
# that the job is refused, as sbatch's is; and the same where a limit on how many jobs there may be has not been reached
jq '.adapters.slurm = (.adapters.slurmrestd | del(.url)) + {conf: env.SLURM_CONF}' config.json >both.json
stop_daemon
start_daemon --config both.json
long() { # ADAPTER [FILTER]
	jq -n --arg adapter "$1" '{name: "long", adapter: $adapter, members: {retries: 0, parameters: {grid: {x: [range(4)]}}, command: ["true"],
		resources: {walltime: "10m", extra: ["--qos=brief"]}}}' | jq "${2:-.}" >spec.json
}
for adapter in slurm slurmrestd; do
	long "$adapter"
	refused "too long for its QOS, by $adapter" . 'Job violates accounting/QOS policy'
	refused "no such account, by $adapter" '.members.resources.account = "nobody"' 'Invalid account'
	long "$adapter" '.members.resources.walltime = "3m"'
	id=$(submit spec.json)
	succeeded "$id" 4 "one that is not, by $adapter"
done
stop_daemon
start_daemon --config config.json

# --- accounts that do not answer change nothing, nor do more jobs than this user may have; by hand, with STRETTO_SLURM_LONG=1
if [ -n "${STRETTO_SLURM_LONG:-}" ]; then
	limit 1
	limited=$(members 3)
	ok "one runs" wait_for 30 '[ -s "$HOME/ran" ]'
	ok "others are too many" wait_for 60 'grep -q "submissions were not accepted for now, and are tried again: .*accounting/QOS policy" "$DAEMON_LOG"'
	is "$(api GET "/v1/ensembles/$limited" | jq -c '[.state, .members.failed, .members.cancelled]')" '["running",0,0]' "and wait"
	ok "its id is known" wait_for 30 'api GET "/v1/jobs?ensemble=$limited" | jq -e "any(.jobs[]; .state == \"running\" and .scheduler_id != null)"'
	limit 20
	slurm freeze-db
	kill_daemon
	kill_work
	rm "$HOME/hold"
	forgotten "its job is killed and forgotten"
	start_daemon --config config.json
	succeeded "$limited" 3 "all the same"
	is "$(sort "$HOME/ran" | uniq -c | sort -rn | awk '{ print $1 }' | xargs)" "2 1 1" "the killed one ran again, the others once"
	is "$(grep -c "what became of jobs that Slurm has forgotten cannot be looked up" "$DAEMON_LOG")" 1 "one line in the log tells of it"
	ok "the adapter is well" adapter_is '.failing_since == null'
	slurm thaw-db
fi
stop_daemon
restd_stop
slurm_stop
done_testing
