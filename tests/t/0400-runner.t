#!/bin/sh
# stretto-run alone: exit records, packed tasks, walltime, cancelling, and that nothing is left behind.
set -u
run=$builddir/stretto-run
tmp=$(mktemp -d /tmp/stretto-0400-XXXXXX)
mark=st-0400-$$-$(basename "$tmp")
n=0 failed=0
if command -v gojq >/dev/null; then jq() { gojq "$@"; }; fi # as lib.sh does

cleanup() { grep -lzE "^(STRETTO_JOB|MARK)=$mark" /proc/[0-9]*/environ 2>/dev/null |
    while IFS=/ read -r _ _ pid _; do kill -9 "$pid" 2>/dev/null; done; rm -rf "$tmp"; }
trap cleanup EXIT
trap 'exit 1' INT TERM

ok() { # ok STATUS NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=1; tail -n 15 "$tmp/log" 2>/dev/null | sed 's/^/# /'; fi
}
# is JSONFILE JQ-EXPRESSION NAME
is() {
    jq -e "$2" "$1" >"$tmp/jq" 2>&1; is_status=$?
    ok $is_status "$3"; [ $is_status -eq 0 ] || sed 's/^/# /' "$1"
}
marked() { grep -lz "^STRETTO_JOB=$mark-$1\$" /proc/[0-9]*/environ 2>/dev/null | wc -l; }
# job NAME WALLTIME GRACE TASKS: the tasks are a jq array; "dir" is filled in from the id
job() {
    mkdir "$tmp/$1"
    jq -n --arg job "$mark-$1" --arg dir "$tmp/$1" --argjson walltime "$2" --argjson grace "$3" \
        '{version: 1, job: $job, ensemble: 7, kind: "members", walltime: $walltime, grace: $grace, tmpdir: ($job | endswith("-packed")),
          tasks: ('"$4"' | map({dir: ($dir + "/" + .id)} + .))}' >"$tmp/$1/job.json"
}
# start NAME: in the background, pid in $runner; its log in $tmp/log
start() { timeout -k 1 300 "$run" "$tmp/$1" 2>"$tmp/log" & runner=$!; }
run() { start "$1"; wait $runner; }
# the runner's own pid, not timeout's
claimed() { jq .pid "$tmp/$1/claim.json"; }

mkdir "$tmp/refused"; echo '{}' >"$tmp/jobfd"
"$run" --job-fd "$tmp/refused" <"$tmp/jobfd" >/dev/null 2>"$tmp/log"
test $? -eq 64 && test -z "$(ls "$tmp/refused")" && test "$(cat "$tmp/jobfd")" = '{}'
ok $? 'a jobfd without a daemon on this host is refused: the files that nobody would answer for would be missed'
"$run" --starter </dev/null >/dev/null 2>"$tmp/log"
test $? -eq 64; ok $? 'nor is it a starter for anybody but a daemon'

job ends 60 2 '[{id: "7.0", argv: ["true"]}, {id: "7.1", argv: ["sh", "-c", "echo first >&2; echo mesh.dat lost >&2; exit 3"]},
  {id: "7.2", argv: ["sh", "-c", "kill -SEGV $$"]}, {id: "7.3", argv: ["sh", "-c", "echo out; echo more >>stdout; echo end; echo x > r.npz"], success_file: "r.npz"},
  {id: "7.4", argv: ["true"], success_file: "r.npz"}, {id: "7.5", argv: ["no-such-program"]},
  {id: "7.6", argv: ["/etc/passwd"]}, {id: "7.7", argv: ["'"$tmp"'/script"]},
  {id: "7.8", argv: ["sh"], launcher: "no-such-launcher"}]'
printf '#!/no/such/interpreter\n' >"$tmp/script"; chmod +x "$tmp/script"
run ends; ok $? 'the runner of a job whose tasks fail exits 0'
r=$tmp/ends
is "$r/7.0/exit.json" '.outcome == "succeeded" and .exit_code == 0 and .signal == null and .id == "7.0"
  and .job == "'"$mark"'-ends" and .ended >= .started and .max_rss > 0 and .reason == ""' 'exit 0 is success'
is "$r/7.1/exit.json" '.outcome == "failed" and .exit_code == 3 and .reason == "exit status 3: mesh.dat lost"' 'exit status, with the last line of stderr'
is "$r/7.2/exit.json" '.outcome == "failed" and .exit_code == null and .signal == 11' 'death by signal'
is "$r/7.3/exit.json" '.outcome == "succeeded"' 'success file there'
[ "$(cat "$r/7.3/stdout" | tr '\n' ' ')" = 'out more end ' ]; ok $? 'stdout is captured, behind what others have written there'
is "$r/7.4/exit.json" '.outcome == "failed" and .exit_code == 0 and (.reason | contains("\"r.npz\" is missing"))' 'exit 0 without the success file is failure'
is "$r/7.5/exit.json" '.outcome == "failed" and .exit_code == null and .reason == "cannot start \"no-such-program\": not found on PATH"' 'a program that is not there'
is "$r/7.6/exit.json" '.reason | contains("not executable")' 'a file that is no program'
is "$r/7.7/exit.json" '.reason | contains("interpreter is missing")' 'a script without its interpreter'
is "$r/7.8/exit.json" '.reason == "cannot start \"no-such-launcher\": not found on PATH"' 'a launcher that is not there'
is "$r/ended.json" '.version == 1 and .time > 0' 'ended.json'
[ "$(stat -c %a "$r/7.0" "$r/7.0/exit.json" | tr '\n' ' ')" = '700 600 ' ]; ok $? 'directories are 0700, records 0600'

# Files that a task leaves may lie behind links, but nothing is reported of a link that has taken the place of its
# output.
mkdir "$tmp/there"; echo x >"$tmp/there/r.npz"; echo secret >"$tmp/there/said"
job links 60 2 '[{id: "7.0", argv: ["ln", "-s", "'"$tmp"'/there/r.npz", "r.npz"], success_file: "r.npz"},
  {id: "7.1", argv: ["ln", "-s", "'"$tmp"'/there", "out"], success_file: "out/r.npz"},
  {id: "7.2", argv: ["ln", "-s", "'"$tmp"'/there", "out"], success_file: "out/*.npz"},
  {id: "7.3", argv: ["ln", "-s", "nowhere", "r.npz"], success_file: "r.npz"},
  {id: "7.4", argv: ["sh", "-c", "ln -s '"$tmp"'/there out; echo step,loss >out/log.csv; echo 1,0.5 >>out/log.csv"], metrics_file: "out/log.csv"},
  {id: "7.5", argv: ["sh", "-c", "echo why >&2; rm stderr; mkfifo stderr; exit 3"]},
  {id: "7.6", argv: ["sh", "-c", "echo why >&2; rm stderr; ln -s '"$tmp"'/there/said stderr; exit 3"]}]'
run links; r=$tmp/links
for i in 0 1 2; do is "$r/7.$i/exit.json" '.outcome == "succeeded"' "a success file behind a link, case $i"; done
is "$r/7.3/exit.json" '.outcome == "failed" and (.reason | contains("\"r.npz\" is missing"))' 'but not where the link leads nowhere'
is "$r/7.4/exit.json" '.points > 0' 'metrics behind a link'
for i in 5 6; do is "$r/7.$i/exit.json" '.reason == "exit status 3"' "no last line of what is no output any more, case $i"; done
r=$tmp/ends

before=$(find "$r" -printf '%p %T@ %s\n' | sort)
run ends; [ $? -eq 75 ] && [ "$(find "$r" -printf '%p %T@ %s\n' | sort)" = "$before" ]
ok $? 'a second runner exits 75 and touches nothing'

mkdir "$tmp/bin"; printf '#!/bin/sh\nenv > env; stat -c %%a "$STRETTO_TMPDIR" > mode; pwd > pwd; echo x > "$STRETTO_TMPDIR/x"\n' >"$tmp/bin/show"; chmod +x "$tmp/bin/show"
job packed 600 2 '[range(10) | {id: "7.\(.)", argv: ["show"], path: ["'"$tmp"'/bin"], ntasks: 3, env: {STRETTO_MEMBER: "\(.)", STRETTO_SEED: "5"}}]'
now=$(date +%s)
unset SLURM_JOB_ID PBS_JOBID
STRETTO_TOKEN=secret STRETTO_RESUME=/other STRETTO_UNTIL=3 STRETTO_FAILURE_AFTER_MS=1 STRETTO_JOB=other run packed
then=$(date +%s)
bad=0
for i in 0 1 2 3 4 5 6 7 8 9; do
    d=$tmp/packed/7.$i
    grep -qx "STRETTO_MEMBER=$i" "$d/env" && grep -qx "STRETTO_JOB=$mark-packed" "$d/env" && grep -qx 'STRETTO_NTASKS=3' "$d/env" &&
        [ "$(cat "$d/pwd")" = "$d" ] && jq -e '.outcome == "succeeded"' "$d/exit.json" >/dev/null || bad=1
done
ok $bad 'packed tasks have their own directories and environment'
e=$tmp/packed/7.3/env
grep -q 'STRETTO_TOKEN\|STRETTO_RESUME\|STRETTO_UNTIL\|STRETTO_FAILURE' "$e"; [ $? -eq 1 ]; ok $? 'what belongs to another task, or the user, is not handed on'
deadline=$(sed -n 's/^STRETTO_DEADLINE=//p' "$e"); [ "$deadline" -ge $((now + 598)) ] && [ "$deadline" -le $((then + 600)) ]; ok $? 'STRETTO_DEADLINE'
t=$(sed -n 's/^STRETTO_TMPDIR=//p' "$e"); [ "$(cat "$tmp/packed/7.3/mode")" = 700 ] && [ ! -e "$t" ] && [ ${#t} -lt 80 ]; ok $? 'STRETTO_TMPDIR is private, and removed'
is "$tmp/ends/claim.json" 'has("tmpdir") | not' 'and where the descriptor asks for none, there is none'

mkdir -p "$tmp/first/tell" "$tmp/second"; touch "$tmp/second/tell"; printf '#!/bin/sh\necho told\n' >"$tmp/bin/tell"; chmod +x "$tmp/bin/tell"
job hidden 60 1 '[{id: "7.0", argv: ["tell"], path: ["'"$tmp"'/first", "'"$tmp"'/second", "'"$tmp"'/bin"]}]'
run hidden
[ "$(cat "$tmp/hidden/7.0/stdout")" = told ]; ok $? 'a directory, and a file that is not executable, hide no program that is later on PATH'

# A process tree that ignores SIGTERM, leaves its session and its environment. Every process of it holds descriptor 9
# open: reading the fifo to its end waits until the last is gone.
cat >"$tmp/stubborn" <<'END'
#!/bin/sh
trap '' TERM
(trap '' TERM; while :; do sleep 100; done) &
setsid sh -c "trap '' TERM; while :; do sleep 100; done" &
[ -n "${NO_ENV_I:-}" ] || env -i MARK=@MARK@ setsid sh -c "trap '' TERM; while :; do sleep 100; done" &
echo ready >&9
while :; do sleep 100; done
END
sed -i "s/@MARK@/$mark/" "$tmp/stubborn"; chmod +x "$tmp/stubborn"; mkfifo "$tmp/fifo"
job late 14 1 '[{id: "7.0", argv: ["true"]}, {id: "7.1", argv: ["sh", "-c", "exec '"$tmp"'/stubborn 9>'"$tmp"'/fifo"]},
  {id: "7.2", argv: ["sh", "-c", "trap \"exit 0\" TERM; echo last words >&2; sleep 100 & wait"]},
  {id: "7.3", argv: ["sh", "-c", "trap \"echo x > r; exit 0\" TERM; sleep 100 & wait"], success_file: "r"}]'
began=$(date +%s.%N)
start late
timeout 300 cat "$tmp/fifo" >"$tmp/said"
wait $runner; ok $? 'a job that does not end by itself is ended'
r=$tmp/late
is "$r/7.0/exit.json" '.outcome == "succeeded"' 'a task that ended before the walltime keeps its outcome'
is "$r/7.1/exit.json" '.outcome == "timeout" and .signal == 9 and .ended - '"$began"' > 14.9' 'at the walltime SIGTERM, after the grace SIGKILL'
is "$r/7.2/exit.json" '.outcome == "timeout" and .exit_code == 0 and .reason == "ended at the walltime of 14 s: last words"' 'exit 0 because of SIGTERM is no success'
is "$r/7.3/exit.json" '.outcome == "succeeded"' 'unless the success file is there'
[ "$(marked late)" -eq 0 ] && [ "$(cat "$tmp/said")" = ready ]; ok $? 'no process is left, wherever it went'

job short 90 1 '[{id: "7.0", argv: ["sleep", "80"]}]'
export STRETTO_JOB_END=$(($(date +%s) + 26)) # of which 11 s are for the grace and the records
run short; ok $? 'a job that its scheduler ends before the walltime is over'
unset STRETTO_JOB_END
is "$tmp/short/7.0/exit.json" '.outcome == "timeout" and .reason == "ended before the batch system would end the job"' 'is ended in time for its records'

# as many tasks as there are CPUs here, and as many more
cpus=$(nproc) gpus=$(seq -s , 10 $((9 + 2 * cpus)))
job bound 60 1 '[range('"$cpus"') | {id: "7.\(.)", argv: ["sh", "-c", "nproc; taskset -cp $$; echo $CUDA_VISIBLE_DEVICES"], env: {OMP_NUM_THREADS: ""}}]'
if [ "$cpus" -gt 1 ]; then
    SLURM_JOB_ID=1 SLURM_CPUS_ON_NODE=$cpus CUDA_VISIBLE_DEVICES=$gpus run bound
    [ "$(cat "$tmp"/bound/7.*/stdout | grep -c -x 1)" -eq "$cpus" ] &&
        [ "$(sed -n 's/.*list: //p' "$tmp"/bound/7.*/stdout | sort -u | wc -l)" -eq "$cpus" ]
    ok $? 'CPUs that are the job'"'"'s alone are divided among its tasks'
    [ "$(tail -q -n 1 "$tmp"/bound/7.*/stdout | grep -E '^[0-9]+,[0-9]+$' | tr , '\n' | sort -u | wc -l)" -eq $((2 * cpus)) ]
    ok $? 'so are the GPUs that the batch system names'
else
    for i in 1 2; do ok 0 '# SKIP one CPU'; done
fi
job shared 60 1 '[range('"$cpus"') | {id: "7.\(.)", argv: ["nproc"], env: {OMP_NUM_THREADS: ""}}]'
SLURM_JOB_ID=1 SLURM_CPUS_ON_NODE=$((cpus - 1)) run shared
[ "$(cat "$tmp"/shared/7.*/stdout | sort -u)" = "$cpus" ]; ok $? 'CPUs that others use, too, are not'

job odd 60 1 '[range(2) | {id: "7.\(.)", argv: ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]}]'
CUDA_VISIBLE_DEVICES=0,1,2 run odd
[ "$(sort -u "$tmp"/odd/7.*/stdout)" = 0,1,2 ]; ok $? 'GPUs that cannot be divided evenly are seen by all'

job cancel 0 1 '[{id: "7.0", argv: ["sh", "-c", "exec '"$tmp"'/stubborn 9>'"$tmp"'/fifo"]}]'
start cancel
{ read -r _; kill -TERM "$(claimed cancel)"; timeout 300 cat >/dev/null; } <"$tmp/fifo"
wait $runner; ok $? 'a runner that is told to end exits 0'
is "$tmp/cancel/7.0/exit.json" '.outcome == "cancelled"' 'its tasks are cancelled'
is "$tmp/cancel/ended.json" '.reason == "told to end"' 'ended.json says so'
[ "$(marked cancel)" -eq 0 ]; ok $? 'no process of a cancelled job is left'

# A batch system tells all processes of a job at once, as it seems, and some hear of it sooner. Here a runner hears of
# it within 1 s of its task, or else, on a machine that was held up for so long, it is tried again with another.
task() { grep -lz "^STRETTO_TASK=$mark-$1\$" /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3 | head -n 1; }
gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
sooner() { # NAME JQ-PROGRAM-OF-TASK: $again is the job's name, its task 7.0 was told first
    again=$1 tries=0
    while
        job "$again" 0 2 '[{id: "7.0", argv: '"$2"'}, {id: "7.1", argv: ["sh", "-c", "kill -TERM $$"]}]'
        start "$again"
        until [ -e "$tmp/$again/7.0/ready" ] && [ -s "$tmp/$again/7.1/exit.json" ]; do sleep 0.05; done
        pid=$(task "$again/7.0") its=$(claimed "$again"); from=$(date +%s%3N)
        kill -TERM "$pid"; until gone "$pid"; do :; done; kill -TERM "$its"
        took=$(($(date +%s%3N) - from)); wait $runner; [ "$took" -gt 1000 ]
    do tries=$((tries + 1)) again=$1-$tries; done
}
sooner told '["sh", "-c", "touch ready; exec sleep 100"]'
is "$tmp/$again/7.0/exit.json" '.outcome == "cancelled" and .signal == 15' 'one that was told to end just before its runner was has not failed'
is "$tmp/$again/7.1/exit.json" '.outcome == "failed" and .signal == 15' 'one that died so by itself has'
sooner trapped '["sh", "-c", "trap '"'exit 1'"' TERM; touch ready; while :; do sleep 0.01; done"]'
is "$tmp/$again/7.0/exit.json" '.outcome == "cancelled" and .exit_code == 1' 'nor has one that ends in its own way'
job polite 0 2 '[{id: "7.0", argv: ["sh", "-c", "trap '"'exit 0'"' TERM; touch ready; while :; do sleep 0.01; done"]}]'
start polite
until [ -e "$tmp/polite/7.0/ready" ]; do sleep 0.05; done
pid=$(task polite/7.0) its=$(claimed polite)
kill -STOP "$its"; kill -TERM "$pid"; until gone "$pid"; do sleep 0.01; done; kill -TERM "$its"; kill -CONT "$its"; wait $runner
is "$tmp/polite/7.0/exit.json" '.outcome == "cancelled" and .exit_code == 0' 'and exit status 0 is no success, where the runner hears of both at once'

# the second task's output is a pipe, of which the first is the reader: until then no other is started
job early 0 1 '[{id: "7.0", argv: ["sh", "-c", "kill -TERM $PPID; exec cat ../7.1/stdout"]}] + [range(1; 100) | {id: "7.\(.)", argv: ["sleep", "100"]}]'
mkdir "$tmp/early/7.1"; mkfifo "$tmp/early/7.1/stdout"
run early
[ "$(cat "$tmp"/early/7.*/exit.json | jq -s 'length == 100 and all(.outcome == "cancelled")')" = true ]; ok $? 'cancelled while tasks start: every task has its record'
is "$tmp/early/7.99/exit.json" '.reason == "cancelled before it started"' 'tasks that never started say so'

job stray 60 1 '[{id: "7.0", argv: ["sh", "-c", "NO_ENV_I=1 '"$tmp"'/stubborn 9>'"$tmp"'/fifo & read x < '"$tmp"'/go.0"]}, {id: "7.1", argv: ["sh", "-c", "read x < '"$tmp"'/go.1"]}]'
mkfifo "$tmp/go.0" "$tmp/go.1"
start stray
{ read -r _; echo >"$tmp/go.0"; timeout 300 cat >/dev/null; } <"$tmp/fifo"
ok $? 'what a task left running is ended with it'
is "$tmp/stray/7.0/exit.json" '.outcome == "succeeded"' 'a task that leaves processes behind has its record'
[ ! -e "$tmp/stray/7.1/exit.json" ]; ok $? 'while the other tasks go on'
timeout 300 sh -c 'echo >"$1"' sh "$tmp/go.1"; wait $runner; ok $? 'and the job goes on to its end'

# what others have left is moved aside only below the directory of the job's ensemble
mkdir -p "$tmp/e7/jobs" "$tmp/e7/members" "$tmp/theirs"
job aside 60 1 '[{id: "7.0", dir: "'"$tmp"'/e7/members/0", argv: ["true"]}, {id: "7.1", dir: "'"$tmp"'/theirs", argv: ["true"]}]'
mv "$tmp/aside" "$tmp/e7/jobs/aside"
mkdir "$tmp/e7/members/0"; echo old >"$tmp/e7/members/0/result"; echo precious >"$tmp/theirs/file"
run e7/jobs/aside; ok $? 'a job whose directories have files of others'
[ "$(ls -d "$tmp"/e7/members/0/result "$tmp"/e7/members/0.before-*/result 2>/dev/null)" = "$tmp/e7/members/0.before-$mark-aside/result" ]
ok $? 'those in its ensemble are moved aside'
[ "$(cat "$tmp/theirs/file"; ls -d "$tmp"/theirs*)" = "precious
$tmp/theirs" ]; ok $? 'all others stay where they are'
is "$tmp/theirs/exit.json" '.outcome == "succeeded"' 'and the task runs there'

mkfifo "$tmp/up"
job usr1 60 1 '[{id: "7.0", argv: ["sh", "-c", "trap \"echo got > usr1; exit 0\" USR1; echo ready > '"$tmp"'/up; sleep 100 & wait"]}]'
start usr1; read -r _ <"$tmp/up"; kill -USR1 "$(claimed usr1)"; wait $runner
[ "$(cat "$tmp/usr1/7.0/usr1")" = got ]; ok $? 'SIGUSR1 goes on to the tasks'

job killed 60 1 '[{id: "7.0", argv: ["sh", "-c", "echo ready > '"$tmp"'/up; exec sleep 100 9> '"$tmp"'/fifo"]}]'
start killed; read -r _ <"$tmp/up"
{ kill -KILL "$(claimed killed)"; timeout 300 cat >/dev/null; } <"$tmp/fifo"
ok $? 'a killed runner takes its task along'
wait $runner; [ ! -e "$tmp/killed/ended.json" ]; ok $? 'and says nothing more'

mkdir "$tmp/broken"; echo '{"version": 1, "job": "x", "ensemble": 7, "kind": "members", "walltime": 1, "grace": 1, "tasks": [{"id": "a"}]}' >"$tmp/broken/job.json"
run broken; [ $? -eq 78 ] && grep -q '/tasks/0/dir' "$tmp/log" && [ ! -e "$tmp/broken/claim.json" ]; ok $? 'a broken descriptor is refused with the place'
run nowhere; [ $? -eq 78 ]; ok $? 'a missing one, too'

if [ -n "${STRETTO_MPIEXEC:-}" ]; then
    job mpi 60 1 '[{id: "7.0", argv: ["sh", "-c", "echo rank $PMI_RANK of $PMI_SIZE"], launcher: "mpiexec", ntasks: 2}, {id: "7.1", argv: ["no-such-program"], launcher: "mpiexec", ntasks: 2}]'
    run mpi
    [ "$(sort "$tmp/mpi/7.0/stdout")" = "rank 0 of 2
rank 1 of 2" ] && grep -qF "$STRETTO_MPIEXEC" "$tmp/log"; ok $? 'mpiexec is the one found at build time'
    is "$tmp/mpi/7.1/exit.json" '.reason == "cannot start \"no-such-program\": not found on PATH"' 'under a launcher, too'
    job mpicancel 60 1 '[{id: "7.0", argv: ["sh", "-c", "exec '"$tmp"'/stubborn 9>'"$tmp"'/fifo"], launcher: "mpiexec", ntasks: 2}]'
    start mpicancel
    { read -r _; read -r _; kill -TERM "$(claimed mpicancel)"; timeout 300 cat >/dev/null; } <"$tmp/fifo"
    wait $runner; [ "$(marked mpicancel)" -eq 0 ]; ok $? 'the ranks of a cancelled job are ended'
    is "$tmp/mpicancel/7.0/exit.json" '.outcome == "cancelled"' 'and the record says so'
else
    for i in 1 2 3 4; do ok 0 '# SKIP no MPI'; done
fi
echo "1..$n"
exit $failed
