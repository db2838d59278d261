#!/bin/bash
# The example of trainings that outlive their jobs, as jobs of a real Slurm.
# shellcheck disable=SC2119 # slurm_start and slurm_config need no words
TEST_LIMIT=400
# shellcheck source=tests/t/lib.sh
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/rnn.sh
. "$srcdir/tests/t/rnn.sh"
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
slurm_start
n=${RNN_MEMBERS:-1} # 4 by hand, which is as many as a node has CPUs
slurm_config
rnn_family rnn-slurm.json "$n"
slurm_completes
is "$(squeue -h -a -r -t all -o '%T %D %C' | sort | uniq -c | xargs)" "2 COMPLETED 1 $n" "by two jobs, with a CPU for each"
stop_daemon
slurm_stop
done_testing
