#!/bin/bash
# Ten members a node by one aprun on an emulated ALPS: each process finds its own member, and none disturbs the others,
# whatever becomes of it. Programs of several nodes that aprun starts.
# shellcheck disable=SC2016 # for wait_for and for members
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/alps.sh
. "$srcdir/tests/t/alps.sh"
alps_start 3-6 40

# --- two nodes, ten members on each; some fail in ways of their own
alps_config cpus 40 most 2 pause '"300ms"'
start_daemon --config config.json
jq -n '{name: "ten a node", adapter: "alps", width: 60, pack: 20, members: {retries: 0, parameters: {method: "halton", count: 20, seed: 3, space: {x: [0, 1]}},
	resources: {walltime: "1h", nodes: 2, cpus_per_task: 4, memory: "10MiB", extra: ["-j", "1", "-e", "OMP_NUM_THREADS=1"]},
	command: ["sh", "-c", "echo {index} {x} $STRETTO_SEED $OMP_NUM_THREADS $ALPS_APP_PE >mine; echo {index} >>$HOME/ran
		case {index} in 0) exit 0 ;; 3) exit 7 ;; 4) kill -SEGV $$ ;; esac
		while ! test -e $HOME/go; do sleep 0.2; done; cat mine; [ {index} != 5 ] || exit 9"]}}' >spec.json
id=$(submit spec.json)
members() { api GET "/v1/ensembles/$id" | jq -c '[.members.running, .members.succeeded, .members.failed]'; }
ok "one that succeeds early and two that fail are known at once" wait_for 60 '[ "$(members)" = "[17,1,2]" ]'
is "$(grep -c '^aprun ' alps/counts)" 1 "by one aprun"
like "$(grep '^aprun ' alps/counts)" '^aprun -j 1 -e OMP_NUM_THREADS=1 -n 20 -N 10 -L 3,4 -d 4 -cc depth -m 10m /bin/sh ' "on two nodes"
is "$(apstat | awk 'NR > 2 { print $4, $5 }')" "20 2" "the other members' processes are left alone"

# a runner that is killed, as the kernel does for want of memory: its member is lost, and nothing else is
mark=$(sed -n 's/^application //p' <<<"$(jq -r '"application " + .application' "$STATE/run/e$id"/jobs/*/claim.json)")
is "$mark" "$(placed)" "the job is the application's"
kill -KILL "$(jq .pid "$STATE/run/e$id"/jobs/*/claim-7.json)"
# the same aprun once more, as a daemon does that was killed before it knew that it had started one
job=$(echo "$STATE/run/e$id"/jobs/*)
aprun -n 20 -N 20 -d 1 -L 6 "$builddir/stretto-run" --rank "$job" >again.out 2>again.err
is "$?,$(grep -c 'has this job' again.err)" "0,20" "a second aprun of the job finds it taken"
kill_daemon
start_daemon --config config.json
touch "$HOME/go"
ok "the others go on to their end" wait_for 60 '[ "$(members)" = "[0,16,3]" ] || [ "$(members)" = "[1,16,3]" ] || [ "$(members)" = "[0,17,3]" ]'
ok "and the one that was lost is run again" wait_ensemble "$id" 60
is "$(jq -c '[.members.succeeded, .members.failed]' ensemble.json)" "[17,3]" "all as they do"
is "$(sort -n "$HOME/ran" | xargs)" "0 1 2 3 4 5 6 7 7 8 9 10 11 12 13 14 15 16 17 18 19" "none twice, but the one"
outcome() { api GET "/v1/ensembles/$id/members/$1" | jq -r '[.attempts[] | .outcome + ": " + .reason] | join("; ")'; }
is "$(outcome 3)|$(outcome 4)|$(outcome 5)" "failed: exit status 7|failed: killed by signal 11 (Segmentation fault)|failed: exit status 9" \
	"each has an end of its own"
like "$(outcome 7)" '^lost: the runner was lost.*; succeeded: $' "the one that was killed costs no retry"
for i in $(seq 0 19); do cat "$STATE/run/e$id/members/0/$i/a1/mine"; done >mine
is "$(cut -d' ' -f1 mine | xargs),$(cut -d' ' -f2 mine | sort -u | wc -l),$(cut -d' ' -f3 mine | sort -u | wc -l)" \
	"$(seq 0 19 | xargs),20,20" "each has its own parameters and seed"
is "$(awk '$1 != $5 || $4 != 1' mine)" "" "in the order of ALPS's numbers, with the environment that was asked for"
is "$(stretto logs "$id.12")" "$(cat "$STATE/run/e$id/members/0/12/a1/mine")" "its own output"

# --- ranks that never start, and a node that dies: what is lost runs again, and costs no retry
rm "$HOME/go" "$HOME/ran"
echo 1,3-4 >alps/no-start
jq '.pack = 6 | .members.parameters.count = 6 | .members.command[2] = "echo {index} >>$HOME/ran; while ! test -e $HOME/go; do sleep 0.2; done" | .members.resources.memory = "1MiB"' spec.json >three.json
id=$(submit three.json)
ok "three of six processes start" wait_for 60 '[ "$(wc -l <"$HOME/ran")" = 3 ]'
rm alps/no-start
touch "$HOME/go"
ok "the others are run again" wait_ensemble "$id" 60
is "$(jq -c .members.succeeded ensemble.json),$(sort -n "$HOME/ran" | xargs)" "6,$(seq 0 5 | xargs)" "each once"
rm "$HOME/go" "$HOME/ran"
id=$(submit three.json)
ok "six processes on two nodes" wait_for 60 '[ "$(wc -l <"$HOME/ran")" = 6 ]'
wait_for 60 '[ "$(ls alps/claims | wc -l)" = 1 ]' # ALPS has the nodes of the former back
node=$(cat alps/claims/*/nids | tr , "\n" | tail -n 1)
echo "$node" >alps/lose-node
ok "one node dies, and the application with it: they run again" wait_for 60 '[ "$(wc -l <"$HOME/ran")" -gt 6 ]'
is "$(cat alps/claims/*/nids | tr , '\n' | grep -c -x "$node")" 0 "elsewhere"
touch "$HOME/go"
ok "to its end" wait_ensemble "$id" 60
is "$(jq -c .members.succeeded ensemble.json),$(sort -n "$HOME/ran" | uniq -c | awk '{ print $1 }' | sort -u)" 6,2 "all have succeeded"
like "$(outcome 5)" "^lost: .*failed or halted event for nid $node; succeeded: $" "the reason is told"
rm alps/lose-node

# --- programs of two nodes, which aprun starts: a process of ALPS's for each task, a runner on this side
launched() { # COMMAND JQ: submits it
	jq -n --arg command "$1" '{name: "solver", adapter: "alps", members: {retries: 0, command: ["sh", "-c", $command], parameters: {grid: {x: [0]}},
		resources: {nodes: 2, tasks: 4, cpus_per_task: 2, memory: "9MiB", walltime: "1h", launcher: "aprun"},
		checkpoint: {before: "5s", signal: "USR1", grace: "4s", glob: "*.none"}}}' | jq "${2:-.}" >launched.json
	id=$(submit launched.json)
	[ "$id" != null ] || bail "$(stretto submit launched.json 2>&1)"
	dir=$STATE/run/e$id/members/0/0/a1
}
echo "apsched: claim exceeds reservation's node-count" >alps/refuse
launched 'echo $ALPS_APP_PE $STRETTO_NTASKS >>ranks; echo x $ALPS_APP_PE'
ok "a program of four processes" wait_ensemble "$id" 60
is "$(jq -c .members.succeeded ensemble.json),$(api GET "/v1/ensembles/$id/members/0" | jq '.attempts | length')" 1,1 \
	"it has waited for nodes that ALPS did not give at first"
like "$(grep '^aprun ' alps/counts | tail -n 1)" '^aprun -N 2 -L [3-6],[3-6] -d 2 -cc depth -m 3m -n 4 sh -c echo' "on two nodes"
is "$(sort "$dir/ranks" | xargs),$(grep -c ^x "$dir/stdout")" "0 4 1 4 2 4 3 4,4" "each of them once, with their output"
launched '[ $ALPS_APP_PE != 2 ] || exit 3; echo up >>ranks; while :; do sleep 0.2; done'
ok "another, of which one process fails" wait_ensemble "$id" 60
like "$(outcome 0)" '^failed: exit status [0-9]+: .*Apid [0-9]+: initiated application termination' "aprun ends and tells"
like "$(cat "$dir/stdout")" 'Application [0-9]+ exit codes: 3' "its last words are kept"
launched 'trap "echo \$ALPS_APP_PE >>warned" USR1; echo up >>ranks; while :; do sleep 0.2; done'
ok "another" wait_for 60 '[ "$(wc -l <"$dir/ranks")" = 4 ]'
api POST "/v1/ensembles/$id/cancel" >/dev/null
ok "it is cancelled" wait_ensemble "$id" 60
ok "with all its processes, as they are" wait_for 30 '[ "$(outcome 0 | cut -d: -f1)" = cancelled ]'
is "$(sort "$dir/warned" | xargs)" "0 1 2 3" "which were warned first"
launched 'echo up >>$HOME/solver; while ! test -e $HOME/solved; do sleep 0.2; done'
ok "another" wait_for 60 '[ "$(wc -l <"$HOME/solver")" = 4 ]'
kill -KILL "$(jq .pid "$STATE/run/e$id"/jobs/*/claim.json)"
ok "whose runner is killed: it runs again" wait_for 60 '[ "$(wc -l <"$HOME/solver")" = 8 ]'
is "$(placed | wc -l)" 1 "of the first nothing is left on the nodes"
touch "$HOME/solved"
ok "to its end" wait_ensemble "$id" 60
is "$(jq -c .members.succeeded ensemble.json)" 1 "which is good"

# --- an aprun that does not listen is killed, by apkill; meanwhile others, at most two at once, and not all at the same time
rm -f "$HOME/go" "$HOME/ran"
touch "$HOME/ran" alps/stubborn
jq '.pack = 2 | .width = 2 | .members.parameters.count = 2 | .members.resources.nodes = 1 | .members.checkpoint = {before: "1s", grace: "1s"}' three.json >deaf.json
deaf=$(submit deaf.json)
ok "two that will not end" wait_for 60 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
apid=$(placed)
api POST "/v1/ensembles/$deaf/cancel" >/dev/null
: >alps/most
jq '.pack = 2 | .members.parameters.count = 8 | .members.resources.nodes = 1 | .members.command[2] = "sleep 0.5"' three.json >few.json
id=$(submit few.json)
ok "eight more" wait_ensemble "$id" 90
is "$(jq .members.succeeded ensemble.json),$(cat alps/most)" 8,2 "by two apruns at once"
starts=$(for job in "$STATE/run/e$id"/jobs/*/aprun; do sed -n '2s/.*) //p' "$job" | cut -d' ' -f20; done | sort -n)
ok "which start with a pause between them" awk -v hz="$(getconf CLK_TCK)" 'NR > 1 && $1 - last < 0.3 * hz - 1 { exit 1 } { last = $1 } END { exit NR != 4 }' <<<"$starts"
ok "the deaf ones are ended" wait_for 60 '[ "$(api GET "/v1/ensembles/$deaf" | jq .members.cancelled)" = 2 ]'
is "$(grep -c "^apkill -KILL $apid\$" alps/counts)" 1 "by apkill"
rm alps/stubborn

# --- free places that the next members take: one aprun for all, whose ranks' ends are not awaited
rm -f "$HOME/ran"
touch "$HOME/ran"
before=$(grep -c '^aprun ' alps/counts)
jq '.pack = 4 | .width = 4 | .refill = true | del(.members.resources.walltime) | .members.resources.nodes = 1 | .members.parameters.count = 12 |
	.members.command[2] = "echo {index} >>$HOME/ran; [ {index} != 0 ] || while [ $(wc -l <$HOME/ran) -lt 12 ]; do sleep 0.1; done"' three.json >refill.json
id=$(submit refill.json)
ok "members take the places of others that have ended, while one runs on" wait_ensemble "$id" 60
is "$(jq -c .members.succeeded ensemble.json),$(sort -n "$HOME/ran" | xargs)" "12,$(seq 0 11 | xargs)" "each once"
is "$(($(grep -c '^aprun ' alps/counts) - before))" 1 "in one aprun"

# --- what a node has not, which is not known before ALPS says so, is not asked for for ever; nor are nodes that others keep
stop_daemon
printf '#!/bin/sh\nexec /bin/sleep 0.05\n' >alps/bin/sleep # or it would take minutes
chmod +x alps/bin/sleep
alps_config
start_daemon --config config.json
apruns() { grep -c '^aprun ' alps/counts; }
before=$(apruns)
jq '.pack = 1 | .members.resources.nodes = 1 | .members.parameters.count = 2 | .members.resources.cpus_per_task = 41 | .members.retries = 5' three.json >large.json
id=$(submit large.json)
ok "a member that wants too many CPUs" wait_ensemble "$id" 60
like "$(jq -r '.state + ": " + .reason' ensemble.json)" "^failed: the job can never run: apsched: claim exceeds reservation's CPUs" "is given up with its ensemble"
like "$(api GET "/v1/ensembles/$id/members?state=failed" | jq -r '.members[].reason')" "claim exceeds reservation's CPUs" "with ALPS's words"
ok "after a few tries" test $(($(apruns) - before)) -le 10
jobs_are_over() { [ "$(sqlite3 -readonly "$STATE/stretto.db" "SELECT count(*) FROM job WHERE state <> 'ended'")" = 0 ]; }
ok "all jobs have ended" wait_for 60 jobs_are_over
before=$(apruns)
launched 'echo never' '.members.resources.cpus_per_task = 41'
ok "likewise a program" wait_ensemble "$id" 60
like "$(outcome 0),$(($(apruns) - before))" "^failed: exit status 1: apsched: claim exceeds reservation's CPUs,5$" "has failed, with ALPS's words"
before=$(apruns)
aprun -n 4 -N 1 sh -c 'while ! test -e '"$T"'/enough; do sleep 0.05; done' & # all nodes
ok "somebody else has all nodes" wait_for 20 '[ "$(cat alps/claims/*/nids)" = 3,4,5,6 ]'
launched 'echo never'
ok "a program that waits for nodes in vain" wait_ensemble "$id" 60
like "$(outcome 0),$(($(apruns) - before))" "^failed: exit status 1: apsched: claim exceeds reservation's node-count,13$" "has failed, too"
touch enough
wait $!

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
ok "nothing is left on the nodes" wait_for 10 '[ -z "$(placed)" ]'
done_testing
