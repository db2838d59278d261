#!/usr/bin/env bash
# Files that must outlive a crash of the host are on the disk before anything relies on them: files before they get
# their names, names before the next step, the database's log before the database, and the database before its log
# begins again.
. "${srcdir:-.}/tests/t/lib.sh"

durable=$builddir/tests/t/.libs/durable.so
case ${STRETTO_SANITIZE:-no} in *address*) durable=$(gcc -print-file-name=libasan.so):$durable ;; esac
# what is done to files in $T by a program that is started with these goes to the log of that name
watch=("DURABLE_BELOW=$T" DURABLE_MARK=the-ensemble-of-rows "LD_PRELOAD=$durable")
judge() { python3 "$srcdir/tests/t/durable.py" "$@"; }

# --- a runner that is not the daemon's own, as batch systems start it; its task says in the log when it is there
mkdir "$T/job"
jq -n --arg dir "$T/job" --arg log "$T/runner" --arg member "$builddir/tests/t/checkpoint-member" '{version: 1, job: "st-0572-1",
	ensemble: 7, kind: "members", walltime: 3600, grace: 1, checkpoint: {before: 3600}, tasks: [{id: "7.0", dir: "\($dir)/7.0",
	argv: ["sh", "-c", "printf \"0\\t0\\ttold\\tthe task runs\\t0\\t0\\t0\\n\" >>\($log); exec \($member) 2 0"],
	env: {STRETTO_CHECKPOINT_DIR: "\($dir)/checkpoints", STRETTO_ENSEMBLE: "7", STRETTO_MEMBER: "0", STRETTO_ATTEMPT: "1"}}]}' \
	>"$T/job/job.json"
echo detect_leaks=1 >"$T/asan.checkpoint-member"
status_is 0 "a runner ends" env "DURABLE_LOG=$T/runner" "${watch[@]}" "$builddir/stretto-run" "$T/job"
is "$(judge names "$T/runner")" "claim.json flushed, in a flushed directory
the task runs
count-1 itself flushed
00000001.json flushed, in a flushed directory
exit.json flushed, in a flushed directory
ended.json flushed, in a flushed directory" "each file is on the disk before it has its name, and has it there before the next step"

# --- a runner of the daemon's own host, which makes its directory by itself: a crash of the host ends its job with all its effects
mkdir "$T/local"
jq -c --arg dir "$T/local" '.job = "st-0572-3" | .tasks[0].dir = "\($dir)/7.0" | .tasks[0].argv = ["true"] | .tasks[0].env = {}' \
	"$T/job/job.json" >"$T/job-fd"
status_is 0 "a local runner ends" env "DURABLE_LOG=$T/local.log" "${watch[@]}" "$builddir/stretto-run" --local --job-fd "$T/local/st-0572-3" 0<>"$T/job-fd"
is "$(cut -f 3,4 "$T/local.log" | grep -c "^made.*/local/st-0572-3\$")-$(cut -f 3 "$T/local.log" | grep -c flush)" 1-0 "it makes its directory, and flushes nothing"

# --- a pilot on another host: its journal, which the daemon reads there
mkdir "$T/pilot"
jq -n '{version: 1, job: "st-0572-2", ensemble: 7, nodes: 1, cpus: 1, memory: 0, idle: 3600, least: 0, flush: true}' >"$T/pilot/pilot.json"
env "DURABLE_LOG=$T/pilot.log" "${watch[@]}" "$builddir/stretto-run" --pilot "$T/pilot" &
wait_for 30 'grep -q ready "$T/pilot/node0/journal.jsonl"' || bail "no pilot"
kill -TERM $!
wait $!
is "$(judge order "$T/pilot.log" '/pilot$|/node0' | sed -n 1,6p)" "made node0
flush pilot
made inbox
flush node0
made journal.jsonl
flush node0" "the directory and the journal of a pilot have their names on the disk"
is "$(judge names "$T/pilot.log" journal | tail -n 1)" "journal.jsonl itself flushed" "and the journal is there as it is"

# --- job.json, which a runner on another host reads
mkdir "$T/batch"
program "$T/batch/sbatch" "sh -c 'printf \"0\\t0\\ttold\\tthe job is submitted\\t0\\t0\\t0\\n\" >>$T/daemon; exit 1' sbatch"
for name in squeue scancel; do program "$T/batch/$name" true; done
# --- a daemon: whose run directory it is, the copy of a parameter file, and checkpoints of the log, which takes 4 MB
jq -n --arg python "${STRETTO_PYTHON:-python3}" '{python: $python, adapters: {local: {slots: 4}, slurm: {}}}' >"$T/config.json"
env "PATH=$T/batch:$PATH" "DURABLE_LOG=$T/daemon" "${watch[@]}" "$builddir/strettod" --state-dir "$STATE" --config "$T/config.json" </dev/null >>"$DAEMON_LOG" 2>&1 &
DAEMON_PID=$!
wait_for 30 "is_ready || ! kill -0 $DAEMON_PID"
is_ready || bail "the daemon did not get ready"
is "$(judge names "$T/daemon" '/owner.json$')" "owner.json flushed, in a flushed directory" "whose the run directory is, is on the disk"
seq 0 50000 | sed '1s/.*/x/' >"$T/rows.csv"
jq -n --arg file "$T/rows.csv" '{name: "the-ensemble-of-rows", width: 1, members: {command: ["true"], parameters: {file: $file}}}' >"$T/spec.json"
ID=$(submit "$T/spec.json")
is "$(judge copies "$T/daemon" "$STATE/parameters")" "index flushed with its name
jsonl flushed with its name" "the copy of a parameter file is on the disk before the ensemble that refers to it"
api POST "/v1/ensembles/$ID/cancel" >/dev/null
jq '.adapter = "slurm" | .members.parameters = {grid: {x: [1]}}' "$T/spec.json" >"$T/slurm.json"
ID=$(submit "$T/slurm.json")
wait_for 30 'grep -q submitted "$T/daemon"' || bail "no job is submitted"
is "$(judge names "$T/daemon" 'job.json$')" "job.json flushed, in a flushed directory
the job is submitted" "job.json is on the disk before the job is submitted"
# the run directory is flushed for its mark, too, whenever that is written
is "$(judge order "$T/daemon" "run(/e$ID(/jobs(/st-[^/]*)?)?)?$" | sed 's/st-.*/JOB/' |
	awk -v made="^made (run|e$ID)\$" '$0 != "flush run" || before ~ made { print } { before = $0 }')" "made run
flush run
made e$ID
flush run
made jobs
flush e$ID
made JOB
flush jobs
flush JOB" "so are the directories in which it is"
api POST "/v1/ensembles/$ID/cancel" >/dev/null

# --- a backup, by the command line, and parameter files that come back from it
env "DURABLE_LOG=$T/backup.log" "${watch[@]}" "$builddir/stretto" backup "$T/first.db" >/dev/null || fail "a backup"
env "DURABLE_LOG=$T/backup.log" "${watch[@]}" "$builddir/stretto" backup --force "$T/first.db" >/dev/null || fail "a backup in its place"
is "$(judge names "$T/backup.log" 'first.db$')" "first.db flushed, in a flushed directory
first.db flushed, in a flushed directory" "a backup is on the disk, with its name"
# large ones, until the log has been written from its start again
jq -n '{name: "large", width: 1, members: {command: ["true"], parameters: {grid: {x: [range(90) | tostring + "y" * 50000]}}}}' >"$T/large.json"
begins() { grep -c $'\tbegin\t' "$T/daemon"; }
before=$(begins)
for ((i = 0; i < 20 && $(begins) == before; i++)); do
	ID=$(submit "$T/large.json")
	api POST "/v1/ensembles/$ID/cancel" >/dev/null
	wait_ensemble "$ID" 60
done
ok "the log is written from its start again" test "$(begins)" -gt "$before"
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
is "$(judge database "$T/daemon" | sort | uniq -c)" "" \
	"the log is on the disk before a checkpoint writes to the database, and that before the log is written from its start"

# --- a daemon on that backup
mkdir -m 700 "$T/second"
cp "$T/first.db" "$T/second/stretto.db"
STATE=$T/second SOCKET=$T/second/stretto.sock
env "DURABLE_LOG=$T/restored" "${watch[@]}" "$builddir/strettod" --state-dir "$STATE" </dev/null >>"$DAEMON_LOG" 2>&1 &
DAEMON_PID=$!
wait_for 30 "is_ready || ! kill -0 $DAEMON_PID"
is "$(judge order "$T/restored" '/parameters' | sed 's|[0-9a-f]*\.|*.|')" "made parameters
made *.index
flush *.index
flush parameters
made *.jsonl
flush *.jsonl
flush parameters" "parameter files that come back from a backup are on the disk, with their names"

# --- a member that streams, and leaves a checkpoint behind what it has sent
if [ -n "${STRETTO_PYTHON:-}" ]; then
	echo detect_leaks=1 >"$T/asan.held-member"
	cat >"$T/rank.py" <<-'END'
		import stretto.train
		with stretto.train.open() as rx:
		    for batch in rx.batches():
		        pass
		    rx.done()
	END
	jq -n --arg rank "$T/rank.py" --arg member "$builddir/tests/t/held-member" '{name: "held",
		members: {command: (["env", "DURABLE_LOG=member.log"] + $ARGS.positional + [$member, "reported", "6", "3", "8"]),
			parameters: {grid: {x: [0]}}, checkpoint: {before: "1h"}, resources: {walltime: "2h"}},
		training: {command: ["python3", $rank], fields: {data: {dtype: "uint8", shape: [8]}},
			buffer: {policy: "fifo", capacity: 100, threshold: 1, batch: 1}}}' --args "${watch[@]}" >"$T/held.json"
	ID=$(submit "$T/held.json")
	wait_ensemble "$ID" 60
	is "$(jq -c '[.state, .members.succeeded]' "$T/ensemble.json")" '["complete",1]' "a member streams, in two attempts"
	is "$(judge order "$STATE/run/e$ID/members/0/0/a1/member.log" '/checkpoint(/|$)')" "made stream.part
flush stream.part
name stream
flush .stretto
name step-3.reported
flush stream
flush step-3.reported
flush checkpoint
made 00000001.json.tmp
flush 00000001.json.tmp
name 00000001.json
flush .stretto" "the account of what it sent, and its checkpoint, are on the disk before the checkpoint is told of"
fi
done_testing
