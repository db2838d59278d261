/* stretto-run --rank: one of many runners of a job, each with one of its tasks. They are processes of one application
 * on the compute nodes, as `aprun -n 10 -N 10` starts them, and find their task by the number that it gives each of
 * them. */
#ifndef TASKS_RUNNER_RANK_H
#define TASKS_RUNNER_RANK_H
#include "common/error.h"

#include <stdint.h>

struct rank {
    int64_t number;
    char application[64]; /* "": there is none */
};

/* Reads which rank this process is from its environment (ALPS_APP_PE, ALPS_APP_ID). */
int rank_find(struct rank *rank, struct error *err);

/* Protects the application: aprun ends all of it as soon as one of its processes fails. So the process that aprun sees
 * stays here, passes signals on, and ends with status 0 when nothing that it started is left. The runner is its child,
 * in which this function returns. signal_fd: from run_signals(). */
void rank_guard(int signal_fd);

#endif
