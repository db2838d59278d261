#!/bin/bash
# Every limit that Slurm's accounts can set on jobs is waited for, with its reason in the status, and all members
# succeed once it is lifted: by sbatch, and by slurmrestd. So is a refusal in words that nobody knows, once others of the
# ensemble were accepted.
# shellcheck disable=SC2016,SC2119 # for wait_for; restd_stop needs no word
TEST_LIMIT=300
MANY_RUNNERS=1
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
# shellcheck source=tests/t/slurmrestd.sh
. "$srcdir/tests/t/slurmrestd.sh"
for program in slurmdbd mariadbd mariadb-install-db sacctmgr; do
	command -v $program >/dev/null || skip_all "no accounts here ($program is missing)"
done
compgen -G "/usr/lib*/*/slurm*/openapi_dbv0_0_38.so" >/dev/null || skip_all "no slurmrestd that tells accounts here"
slurm_start --db AccountingStorageEnforce=associations,limits,qos MaxArraySize=9
me=$(id -un)

# Each limit has an account or a QOS of its own. NAME KIND LIMIT REASON: "full" limits have one job of a colleague's,
# and no room for a second one.
limits='accountfull account GrpSubmitJobs=1 AssocGrpSubmitJobsLimit
userfull account MaxSubmitJobs=1 AssocMaxSubmitJobLimit
qosfull qos GrpSubmitJobs=1 QOSGrpSubmitJobsLimit
qosuserfull qos MaxSubmitJobsPerUser=1 QOSMaxSubmitJobPerUserLimit
qosaccountfull qos MaxSubmitJobsPerAccount=1 MaxSubmitJobsPerAccount
jobs account GrpJobs=0 AssocGrpJobsLimit
userjobs account MaxJobs=0 AssocMaxJobsLimit
cpus account GrpTRES=cpu=0 AssocGrpCpuLimit
minutes account GrpTRESMins=cpu=0 AssocGrpCPUMinutesLimit
qosjobs qos GrpJobs=0 QOSGrpJobsLimit
qosuserjobs qos MaxJobsPerUser=0 QOSMaxJobsPerUserLimit
qoscpus qos GrpTRES=cpu=0 QOSGrpCpuLimit
qosusercpus qos MaxTRESPerUser=cpu=0 QOSMaxCpuPerUserLimit'
accounts=$(awk '$2 == "account" { print $1 }' <<<"$limits")
qos=$(awk '$2 == "qos" { print $1 }' <<<"$limits")
for name in mine short $accounts; do sacctmgr -i add account "$name" >/dev/null; done
for name in deny $qos; do sacctmgr -i add qos "$name" >/dev/null; done
# shellcheck disable=SC2086
sacctmgr -i add user "$me" account="$(echo mine short $accounts | tr ' ' ,)" defaultaccount=mine qos="$(echo normal deny $qos | tr ' ' ,)" >/dev/null
changes=0
# known: returns when Slurm has taken up all changes so far, which come to it in their order
known() {
	changes=$((changes + 1))
	sacctmgr -i modify account mine set GrpJobs=$((1000 + changes)) >/dev/null
	wait_for 20 'scontrol show assoc_mgr flags=assoc accounts=mine | grep -q "GrpJobs=$((1000 + changes))("' || bail "Slurm does not take up its accounts"
}
known
wait_for 20 'scontrol show assoc_mgr flags=qos | grep -q "^ *QOS=qosusercpus("' || bail "Slurm does not take up its QOS"
program sbatch "$(command -v sbatch)"
sed -i "1a if [ -e $T/closed ] && case \"\$*\" in *--comment=closed*) ;; *) false ;; esac; then echo 'sbatch: error: no more jobs this week, says the director' >&2; exit 1; fi" sbatch
restd_start "unix:$T/restd.sock" -a rest_auth/local -s openapi/v0.0.38,openapi/dbv0.0.38 || bail "slurmrestd did not start: $(tail -n 5 restd.out)"
restd_config "unix:$T/restd.sock"
jq --arg conf "$SLURM_CONF" --arg sbatch "$T/sbatch" '.adapters.slurm = (.adapters.slurmrestd | del(.url)) + {conf: $conf, sbatch: $sbatch}' config.json >both.json
# The daemon's environment has variables that stand for options: none reaches a command.
SBATCH_CLUSTERS=b SLURM_CLUSTERS=b SBATCH_JOB_NAME=x SBATCH_WAIT=1 SBATCH_TEST_ONLY=1 SBATCH_QUIET=1 SBATCH_ARRAY_INX=0-3 SBATCH_ACCOUNT=nobody \
	SQUEUE_FORMAT=%i SQUEUE_STATES=CG SQUEUE_USERS=nobody SACCT_FORMAT=JobID SCANCEL_STATE=SUSPENDED SINFO_FORMAT=%n start_daemon --config both.json

# --- options that would lead jobs away from the daemon
jq -n '{name: "options", adapter: "slurm", members: {command: ["true"], parameters: {grid: {x: [0]}}, resources: {walltime: "10m"}}}' >spec.json
while read -r filter where; do
	jq "$filter" spec.json >never.json
	is "$(api POST /v1/ensembles @never.json | jq -r '.pointer')" "$where" "refused: $filter"
done <<<'.members.resources.extra=["--qos=normal","--clu=b"] /members/resources/extra/1
.adapter="slurmrestd"|.members.resources.extra=["-Mb"] /members/resources/extra/0
.training={command:["true"],fields:{f:{dtype:"float32",shape:[1]}},resources:{extra:["-J","x"]}} /training/resources/extra/0
.allocation={nodes:1,count:1,cpus:1,walltime:"10m",extra:["--wrap=x"]} /allocation/extra/0'
is "$(api POST /v1/ensembles @never.json | jq -r .detail | grep -c "\"command\" in \"members\" is what runs")" 1 "the message names the key that does it"

declare -A ids
# members NAME ADAPTER FILTER: twelve, of which each writes itself down once the file is gone that holds them
members() {
	jq -n --arg name "$1" --arg adapter "$2" --arg home "$HOME" '{name: $name, adapter: $adapter, members: {retries: 0, resources: {walltime: "10m"},
		parameters: {grid: {x: [range(12)]}}, command: ["sh", "-c", "while test -e \($home)/hold-\($name); do sleep 0.1; done; echo {x} >>\($home)/ran-\($name)-\($adapter)"]}}' |
		jq "$3" >spec.json
	ids[$1-$2]=$(submit spec.json)
}
notice() { api GET "/v1/ensembles/$1" | jq -r '.notice.text'; }
tells() { # NAME-ADAPTER REASON
	id=${ids[$1]} reason=$2
	ok "$1: its status tells of $2" wait_for 60 'notice "$id" | grep -q -F -e "$reason"' || diag "$(notice "$id")"
}
succeed() { # NAME-ADAPTER
	ok "$1: it ends" wait_ensemble "${ids[$1]}" 200
	is "$(jq -c '[.state, .members.succeeded]' ensemble.json) $(sort -n "$HOME/ran-$1" | xargs)" "[\"complete\",12] $(seq 0 11 | xargs)" "$1: each member has succeeded, and ran once"
}
asks() { if [ "$2" = account ]; then echo ".members.resources.account = \"$1\""; else echo ".members.resources.extra = [\"--qos=$1\"]"; fi; }
violates='Job violates accounting/QOS policy' # over REST nobody is told of which limit

# --- limits that are reached before the first job
while read -r name kind limit _; do
	case $name in *full) sbatch --hold "--$kind=$name" -J theirs -o /dev/null --wrap true >/dev/null || fail "$name: a colleague's job" ;; esac
	sacctmgr -i modify "$kind" "$name" set "$limit" >/dev/null
done <<<"$limits"
known
while read -r name kind _; do
	members "$name" slurm "$(asks "$name" "$kind")"
	case $name in *full) members "$name" slurmrestd "$(asks "$name" "$kind")" ;; esac
done <<<"$limits"
while read -r name _ _ reason; do
	tells "$name-slurm" "$reason"
	case $name in *full) tells "$name-slurmrestd" "$violates" ;; esac
done <<<"$limits"
is "$(api GET /v1/ensembles | jq '[.ensembles[] | .members.succeeded + .members.failed + .members.cancelled] | add')" 0 "no member has ended yet"
while read -r name kind limit _; do sacctmgr -i modify "$kind" "$name" set "${limit%=*}=-1" >/dev/null; done <<<"$limits"
known
while read -r name _; do
	succeed "$name-slurm"
	case $name in *full) succeed "$name-slurmrestd" ;; esac
done <<<"$limits"

# --- limits that are set once the first jobs run, and are not about how many there are; and the site's own rules
width='.width = 1'
touch "$HOME/hold-short" "$HOME/hold-deny" "$HOME/hold-closed"
for adapter in slurm slurmrestd; do
	members short $adapter "$width | $(asks short account)"
	members deny $adapter "$width | $(asks deny qos)"
done
members closed slurm "$width | .members.resources.extra = [\"--comment=closed\"]"
running() { api GET "/v1/ensembles/$1" | jq -e '.members.running > 0'; }
for which in "${!ids[@]}"; do
	id=${ids[$which]}
	case $which in short-* | deny-* | closed-*) ok "$which: it runs" wait_for 60 'running "$id"' ;; esac
done
sacctmgr -i modify account short set MaxWall=1 >/dev/null
sacctmgr -i modify qos deny set MaxWall=1 flags=DenyOnLimit >/dev/null
known
touch closed
rm "$HOME"/hold-*
tells short-slurm AssocMaxWallDurationPerJobLimit
tells short-slurmrestd AssocMaxWallDurationPerJobLimit
tells deny-slurm QOSMaxWallDurationPerJobLimit
tells deny-slurmrestd "$violates"
tells closed-slurm 'no more jobs this week, says the director'
tells closed-slurm 'others like it were accepted, so it is submitted again until 20'
sacctmgr -i modify account short set MaxWall=-1 >/dev/null
sacctmgr -i modify qos deny set MaxWall=-1 >/dev/null
known
rm closed
for which in short-slurm short-slurmrestd deny-slurm deny-slurmrestd closed-slurm; do succeed $which; done

# --- the same limits are final for the first job
sacctmgr -i modify account short set MaxWall=1 >/dev/null
sacctmgr -i modify qos deny set MaxWall=1 >/dev/null
known
members spec slurm "$(asks short account)"
refused "too long for its account" . AssocMaxWallDurationPerJobLimit
members spec slurm "$(asks deny qos)"
refused "too long for its QOS" . QOSMaxWallDurationPerJobLimit
scancel -n theirs
stop_daemon
restd_stop
slurm_stop
done_testing
