#!/bin/bash
# stretto-run --pilot alone: what a pilot finds of its node, how it gets onto the other nodes of its allocation, and
# when it gives one back. Batch systems and launchers are scripts here, which say what they are asked for. And a rank
# that aprun starts.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh"

while read -r name; do unset "$name"; done < <(compgen -e | grep -E '^(SLURM|PBS|ALPS|CUDA|NCPUS|STRETTO_(DEADLINE|GPUS|JOB_END|ALLOCATION_END))')
run=$builddir/stretto-run
# config NAME JQ: the file pilot.json in a new directory
config() { mkdir -p "$1" && jq -n "{version: 1, job: \"st-0408-$$\", ensemble: 7, nodes: 1, idle: 0, least: 0, flush: false} + $2" >"$1/pilot.json"; }
# found NAME CONFIG VARIABLE...: what a pilot with nothing to do says of its node, and why it gives it back
found() {
	config "$1" "$2"
	env "${@:3}" "$run" --pilot "$T/$1" 2>"$1/log"
	jq -r 'if .what == "ready" then "\(.cpus) \(.gpus) \(.memory) \(.deadline // "-")" else "\(.what) \(.why)" end' "$1/node0/journal.jsonl" | paste -s -d ' '
}
cpus=$(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | awk -F- '{ n += NF == 2 ? $2 - $1 + 1 : 1 } END { print n }')
memory=$(($(getconf _PHYS_PAGES) * $(getconf PAGE_SIZE)))

is "$(found set '{cpus: 8, memory: 1000}' SLURM_CPUS_ON_NODE=6 STRETTO_GPUS=a,b CUDA_VISIBLE_DEVICES=0,1,2)" "8 2 1000 - over idle" \
	"a pilot takes what its configuration says, and the GPUs that it was given"
is "$(found slurm '{}' SLURM_CPUS_ON_NODE=6 SLURM_MEM_PER_NODE=100 CUDA_VISIBLE_DEVICES=0,1,2 STRETTO_DEADLINE=4000000000)" \
	"6 3 104857600 4000000000 over idle" "or what Slurm says, where memory is in MiB"
is "$(found pbs '{}' PBS_JOBID=1 NCPUS=5 PBS_NUM_PPN=4 STRETTO_GPUS= CUDA_VISIBLE_DEVICES=0)" "5 0 $memory - over idle" "or PBS Pro"
is "$(found torque '{}' PBS_JOBID=1 PBS_NUM_PPN=4)" "4 0 $memory - over idle" "or Torque"
is "$(found alone '{}' NCPUS=5 PBS_NUM_PPN=4)" "$cpus 0 $memory - over idle" "or what it may use of the machine, outside of a batch system"
is "$(found narrow '{}' taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')")" "1 0 $memory - over idle" "which may be a part of it"
is "$(found late '{idle: 3600, least: 60}' STRETTO_DEADLINE=$(($(date +%s) + 30)) | cut -d ' ' -f 5-)" "over no member fits what is left of its time" \
	"it gives the node back when too little time is left"
"$run" --pilot "$T/alone" 2>log; is "$? $(sed 's/.*error: //' log)" "74 there are pilots on all 1 nodes already" "there is one pilot on each node"
config bad '{nodes: 0}'; "$run" --pilot "$T/bad" 2>log; is "$? $(sed 's/.*error: //' log)" "78 $T/bad/pilot.json is damaged" "a damaged configuration is refused"

# --- onto all nodes
for name in srun pbsdsh ours; do printf '#!/bin/sh\necho "%s $*"\n' $name >"bin/$name" && chmod +x "bin/$name"; done
config many '{nodes: 3}'
"$run" --pilot "$T/many" 2>log; is $? 78 "nobody can tell how to get onto several nodes"
like "$(cat log)" 'there are 3 nodes, and nothing says how to start programs on them' "which is said"
is "$(SLURM_JOB_ID=1 PBS_JOBID=1 "$run" --pilot "$T/many" 2>&1)" "srun --ntasks-per-node=1 --cpu-bind=none --kill-on-bad-exit=1 --mpi=none --input=none --quiet \
--nodes=3 --ntasks=3 $(realpath "$run") --pilot-node $T/many" "srun starts one on each"
ok "which hands the environment on itself" [ ! -e many/environment ]
is "$(PBS_JOBID=1 PBS_NUM_PPN=2 "$run" --pilot "$T/many" 2>&1)" "pbsdsh -u -- $(realpath "$run") --pilot-node $T/many" "so does pbsdsh of Torque"
is "$(PBS_JOBID=1 OURS=yes STRETTO_GPUS=a,b CUDA_VISIBLE_DEVICES=1 NCPUS=3 TMPDIR=/tmp HOSTNAME=me "$run" --pilot "$T/many" 2>&1)" \
	"pbsdsh -- $(realpath "$run") --pilot-node $T/many" "and that of PBS Pro"
is "$(tr '\0' '\n' <many/environment | grep -E '^(OURS|STRETTO_GPUS|CUDA_VISIBLE_DEVICES|NCPUS|TMPDIR|HOSTNAME|PBS_JOBID)=' | sort | xargs)" "OURS=yes STRETTO_GPUS=a,b" \
	"with the job's environment in a file, but for what is the first node's own"
is "$(stat -c %a many/environment)" 600 "that nobody else can read"
config ours '{nodes: 2, launcher: ["ours", "-x"]}'
is "$(SLURM_JOB_ID=1 "$run" --pilot "$T/ours" 2>&1)" "ours -x $(realpath "$run") --pilot-node $T/ours" "a launcher of the spec takes their place"
PBS_JOBID=1 NCPUS=7 "$run" --pilot-node "$T/many" 2>log && "$run" --pilot-node "$T/many" 2>log
is "$(jq -r 'select(.what == "ready") | "\(.cpus) \(.gpus)"' many/node0/journal.jsonl many/node1/journal.jsonl | head -n 1)" "7 2" "on a node it takes that environment over"
ok "nodes are numbered as they come" [ -d many/node1/inbox ]
ALPS_APP_PE=2 ALPS_APP_ID=46 "$run" --pilot "$T/many" 2>log
is "$? $(jq -r .what many/node2/journal.jsonl | xargs)" "0 ready over" "or as aprun numbers them"
ALPS_APP_PE=2 ALPS_APP_ID=46 "$run" --pilot "$T/many" 2>log; like "$? $(cat log)" "^74 .*there is a pilot on node 2 already" "which none takes twice"

# --- ranks of an application
mkdir ranks
jq -n --arg dir "$T/ranks" '{version: 1, job: "st-0408-ranks", ensemble: 7, kind: "members", walltime: 60, grace: 1,
	tasks: [range(2) | {id: "7.\(.)", dir: "\($dir)/7.\(.)", argv: ["true"]}]}' >ranks/job.json
for pe in '' x 1x -1; do
	ALPS_APP_PE=$pe ALPS_APP_ID=46 "$run" --rank "$T/ranks" 2>log; is $? 64 "ALPS_APP_PE=\"$pe\" is no rank"
done
ALPS_APP_PE=1 "$run" --rank "$T/ranks" 2>log; is $? 64 "nor is one without an application"
ALPS_APP_PE=1 ALPS_APP_ID=46 "$run" --rank "$T/ranks" 2>log
is "$(ls ranks | xargs) $(jq -r .outcome ranks/7.1/exit.json)" "7.1 claim-1.json claim.json job.json succeeded" "a rank runs its own task, and does not say that the job has ended"
ALPS_APP_PE=2 ALPS_APP_ID=46 "$run" --rank "$T/ranks" 2>log; is "$? $(ls ranks | xargs)" "0 7.1 claim-1.json claim.json job.json" "one without a task does nothing"
ALPS_APP_PE=0 ALPS_APP_ID=47 "$run" --rank "$T/ranks" 2>log; ok "nor does one of another application" [ ! -e ranks/7.0 ]

done_testing
