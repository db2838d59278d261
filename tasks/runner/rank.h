/* stretto-run --rank: one of many runners of a job, each with one of its tasks. They are processes of one application on the
 * compute nodes, as `aprun -n 10 -N 10` starts them, which find their task by the number that it gives each of them. */
#ifndef TASKS_RUNNER_RANK_H
#define TASKS_RUNNER_RANK_H
#include "common/error.h"

#include <stdint.h>

struct rank {
    int64_t number;
    char application[64]; /* "": this is none */
};

/* Which this process is, by its environment (ALPS_APP_PE, ALPS_APP_ID). */
int rank_find(struct rank *rank, struct error *err);

/* What started the application ends all of it as soon as one of its processes fails. So the process that it sees stays behind here,
 * passes signals on, and ends with status 0, once nothing that it started is left; the runner, to which this returns, is its
 * child, however it ends. signal_fd: of run_signals(). */
void rank_guard(int signal_fd);

#endif
