#!/bin/bash
# docs/follow-ups.md: its recipe, a program that knows nothing of stretto, is completed by its crontab line; its timer
# is one.
TEST_LIMIT=360
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/blocks.sh
. "$srcdir/tests/t/blocks.sh"
page=$srcdir/docs/follow-ups.md
block() { awk -v marker="<!-- $1 -->" '$0 == marker { getline; while (getline > 0 && $0 != "```") print; exit }' "$page"; }
command -v lmp >/dev/null || skip_all "no LAMMPS here"

# Several jobs' worth of steps, whatever this machine is: the page's number of them is the only thing that is not as it
# stands there.
mkdir speed
sed -n '/^cat >melt.in/,/^END$/{//!p}' "$page" >speed/melt.in
TIMEFORMAT=%U
{ time (cd speed && OMP_NUM_THREADS=1 OMPI_MCA_ess_singleton_isolated=1 timeout $((60 * PATIENCE)) lmp -in melt.in -log none -screen none -var dir . \
	-var total 10000000 -var limit 0:00:01 -var temperature 1.4 -var vseed 1 >log 2>&1); } 2>speed/seconds
steps=$(find speed -name 'melt.*.restart' | tr -c -d '0-9\n')
like "$steps" '^[1-9][0-9]*$' "LAMMPS stops when its second is over" || bail "$(cat speed/log)"
# By its CPU time: a job that has a CPU for itself gets no further in a second than that, whatever else ran while this
# was measured.
total=$(awk -v steps="$steps" '{ print int(6 * steps / ($1 > 0.01 ? $1 : 0.01)) }' speed/seconds)
sed "s/\"total\", \"[0-9]*\"/\"total\", \"$total\"/" "$page" >page.md
run_blocks page.md tested
line=$(block crontab)
like "$line" '^\*/10 \* \* \* \* stretto ' "it has a line for cron"
cron() { sh -c "${line#*/10 \* \* \* \* }" >>cron.out 2>cron.err; }
is_over() { [ "$(api GET /v1/ensembles/1 | jq -c '[(.family // .).state, (.family // .).members.succeeded]')" = '["complete",2]' ]; }
until is_over || [ $SECONDS -gt $((250 * PATIENCE)) ]; do
	cron || echo "exit status $?" >>cron.wrong
	cat cron.err >>cron.wrong
	wait_ensemble "$(api GET /v1/ensembles/1 | jq '.family.newest // 1')" 60
done
ok "all members have succeeded" is_over
is "$(cat cron.wrong)" "" "the line for cron has complained of nothing"
is "$(api GET /v1/ensembles/1 | jq -c .family.follow_ups)" "$(wc -l <cron.out)" "it has said a line for each follow-up"
state=$XDG_STATE_HOME/stretto
is "$(sqlite3 -readonly "$state/stretto.db" 'SELECT sum(failures) FROM member')" 0 "no retry was spent"
for i in 0 1; do # thermodynamic output is a line "STEP TEMPERATURE …", the first of the step at which a job begins
	for log in $(printf '%s\n' "$state"/run/e*/members/0/$i/a*/log | sort -V); do
		awk 'inside && $1 ~ /^[0-9]+$/ { print $1; exit } /^ *Step / { inside = 1 }' "$log"
	done >"begins.$i"
	is "$(cat "begins.$i")" "$(sqlite3 -readonly "$state/stretto.db" "SELECT coalesce(resumed, 'melt.0.restart') FROM attempt
		WHERE idx = $i ORDER BY ensemble, number" | tr -c -d '0-9\n')" "member $i: each job went on at the step of its restart file"
	ok "in several jobs, each further" bash -c '[ "$(wc -l <"$1")" -gt 1 ] && sort -n -u -c "$1"' - "begins.$i"
	like "$(cat "$log")" "$total +[0-9.]+ .*Loop time" "to the last step"
done
is "$(cron; wc -l <cron.out)" "$(api GET /v1/ensembles/1 | jq -c .family.follow_ups)" "cron has no more to say"

# --- stages
mkdir stages
block stages >stages/run.sh
status_is 0 "the page's stages are submitted at once, and complete" bash -e -c 'cd stages && . ./run.sh'
is "$(api GET '/v1/ensembles?limit=2' | jq -c '[.ensembles[] | [.name, .state, .members.succeeded]]')" '[["infer","complete",3],["train","complete",1]]' \
	"what one has left is found by the other"

# --- the timer
mkdir units
for unit in stretto-follow-up.service stretto-follow-up.timer; do block $unit >units/$unit; done
run=$(sed -n 's/^ExecStart=//p' units/stretto-follow-up.service)
status_is 0 "the service's command runs" sh -c "$run"
if command -v systemd-analyze >/dev/null; then
	sed -i "s,^ExecStart=,&$builddir/," units/stretto-follow-up.service
	is "$(systemd-analyze --user verify units/stretto-follow-up.service units/stretto-follow-up.timer 2>&1 |
		grep stretto-follow-up)" "" "systemd-analyze has nothing to say about the units"
else
	skip "no systemd-analyze here"
fi
kill %strettod
wait %strettod
done_testing
