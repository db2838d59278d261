#!/bin/bash
# docs/instrument.md: LAMMPS as it is streams into a training, and computes what it computes without.
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/blocks.sh
. "$srcdir/tests/t/blocks.sh"
command -v lmp >/dev/null || skip_all "no LAMMPS here"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
"$STRETTO_PYTHON" -c 'import lammps' || skip_all "no python3-lammps here"

sed "s|^strettod 2>|strettod --config $T/config.json 2>|" "$srcdir/docs/instrument.md" >page.md
jq -n --arg python "$STRETTO_PYTHON" '{python: $python}' >config.json
run_blocks page.md tested
state=$XDG_STATE_HOME/stretto
is "$(api GET /v1/ensembles/1 | jq -c '[.members.succeeded, .training.unique, .training.drawn]')" "[6,240,240]" "all steps of all members have arrived"
slope=$(api GET /v1/ensembles/1 | jq '.training.metrics.slope')
ok "the line rises as it does" awk -v slope="$slope" 'BEGIN { exit !(slope > 0.5 && slope < 0.75) }' # 0.613 of all samples; some count more
# Open MPI, which LAMMPS starts with, now and then fails to where other programs of this user start or end with it at
# that moment ("Local abort before MPI_INIT"): such a member is tried again.
is "$(cat "$state"/run/e1/members/0/*/a*/stdout | sort | uniq -c | xargs)" "6 done at 1000" "each went as far as it should"

# --- the same numbers as by lmp
cat >keep.py <<'END'
import sys
import numpy
import stretto.train

with stretto.train.open() as rx:
    for batch in rx.batches():
        for i in range(len(batch.step)):
            if batch.step[i] == 39:
                numpy.savetxt(sys.argv[1], batch.fields["positions"][i], fmt="%.6f")
    rx.done()
END
jq --arg dir "$PWD" '.members.parameters.grid.temperature = [1.5] | .training.command = ["python3", $dir + "/keep.py", $dir + "/streamed"] |
	.training.buffer = {policy: "fifo", capacity: 100, threshold: 1, batch: 8}' melt.json >one.json
status_is 0 "one more" stretto submit one.json --wait
{ cat melt.in && printf '%s\n' "run 1000" "write_dump all custom dumped id x y z modify sort id format float %.6f"; } >alone.in
OMP_NUM_THREADS=1 OMPI_MCA_ess_singleton_isolated=1 timeout $((60 * PATIENCE)) lmp -in alone.in -log none -screen none -var temperature 1.5 -var vseed 87287 >log 2>&1
sed '1,/^ITEM: ATOMS/d' dumped | cut -d' ' -f2-4 >alone
is "$(wc -l <streamed),$(wc -l <alone)" "256,256" "both have run"
ok "what arrived is what lmp computes" bash -c 'paste -d" " streamed alone | awk "NF != 6 { exit 1 } { for (i = 1; i <= 3; i++) { d = \$i - \$(i + 3); if (d * d > 4e-12) exit 1 } }"'
kill %strettod
wait %strettod
is $? 0 "the daemon ends well"
done_testing
