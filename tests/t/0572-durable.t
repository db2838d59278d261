#!/usr/bin/env bash
# What must outlive a crash of the host is on the disk before anything relies on it: files before they get their names, names before
# the next step, the database's log before the database, and the database before its log begins anew.
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

# --- a daemon: whose run directory it is, the copy of a parameter file, and checkpoints of the log, which takes 4 MB
echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"
env "DURABLE_LOG=$T/daemon" "${watch[@]}" "$builddir/strettod" --state-dir "$STATE" --config "$T/config.json" </dev/null >>"$DAEMON_LOG" 2>&1 &
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
done_testing
