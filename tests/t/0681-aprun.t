#!/bin/bash
# Ten members a node by one aprun on an emulated ALPS: each process finds its own member, and none disturbs the others, whatever
# becomes of it. Programs of several nodes that aprun starts.
# shellcheck disable=SC2016 # for wait_for and for members
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/alps.sh
. "$srcdir/tests/t/alps.sh"
alps_start 3-6 40

# --- two nodes, ten members on each; some fail in ways of their own
alps_config cpus 40 most 2
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
echo 3,5-6 >alps/no-start
jq '.members.command[2] = "echo {index} >>$HOME/ran; while ! test -e $HOME/go; do sleep 0.2; done" | .members.resources.memory = "1MiB"' spec.json >three.json
id=$(submit three.json)
ok "17 of 20 processes start" wait_for 60 '[ "$(wc -l <"$HOME/ran")" = 17 ]'
rm alps/no-start
touch "$HOME/go"
ok "the others are run again" wait_ensemble "$id" 60
is "$(jq -c .members.succeeded ensemble.json),$(sort -n "$HOME/ran" | xargs)" "20,$(seq 0 19 | xargs)" "each once"
rm "$HOME/go" "$HOME/ran"
id=$(submit three.json)
ok "20 processes on two nodes" wait_for 60 '[ "$(wc -l <"$HOME/ran")" = 20 ]'
echo 4 >alps/lose-node
ok "one node dies, and the application with it: they run again" wait_for 60 '[ "$(wc -l <"$HOME/ran")" -gt 20 ]'
is "$(cat alps/claims/*/nids | tr , '\n' | grep -c -x 4)" 0 "elsewhere"
touch "$HOME/go"
ok "to its end" wait_ensemble "$id" 60
is "$(jq -c .members.succeeded ensemble.json),$(sort -n "$HOME/ran" | uniq -c | awk '{ print $1 }' | sort -u)" 20,2 "all have succeeded"
like "$(outcome 15)" '^lost: .*failed or halted event for nid 4; succeeded: $' "the reason is told"
rm alps/lose-node

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
ok "nothing is left on the nodes" wait_for 10 '[ -z "$(placed)" ]'
done_testing
