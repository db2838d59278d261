#!/bin/bash
# The example of trainings that outlive their jobs, as apruns of an emulated ALPS: the trainings of a job by one aprun.
TEST_LIMIT=400
# shellcheck source=tests/t/lib.sh
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/rnn.sh
. "$srcdir/tests/t/rnn.sh"
# shellcheck source=tests/t/alps.sh
. "$srcdir/tests/t/alps.sh"
alps_start 3-4 40
alps_config cpus 40
n=${RNN_MEMBERS:-2} # 10 by hand
rnn_family rnn-alps.json "$n"
is "$(grep -c '^aprun ' alps/counts)" 2 "by two apruns"
is "$(grep -c -E "^aprun -j 1 -e OMP_NUM_THREADS=1 -n $n -N $n -L [34] -d 4 -cc depth /bin/sh " alps/counts)" 2 "with a process for each"
PYTHONPATH=$builddir/python "$STRETTO_PYTHON" -m stretto.examples.rnn_report "$root" >report
is "$? $(awk 'NR > 1 { print $3 }' report | sort -n | xargs)" "0 $(seq 0 $((n - 1)) | xargs)" "they are ranked"
stop_daemon
done_testing
