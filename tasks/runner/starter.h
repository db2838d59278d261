/* stretto-run --starter: stands by for the daemon that started it, and makes each runner as a copy of itself. Starting
 * a program anew costs more than the runner of a short job does. A copy that has run a short job may run the next one,
 * too, since making a copy is most of what is left (tasks/proto/starter.h). */
#ifndef TASKS_RUNNER_STARTER_H
#define TASKS_RUNNER_STARTER_H
#include <stdbool.h>
#include <sys/types.h>

/* Runs until the daemon is gone, or needs it no more. Returns an exit status, in the starter. */
int starter_main(int argc, char **argv);

struct starter_job {
    const char *dir, *gpus; /* gpus NULL: GPUs are not counted */
    int jobfd;
    pid_t daemon;
};

/* main.c: runs a job like `stretto-run --local --job-fd [--gpus=…] JOBDIR`, in a copy of the starter; signal_fd is from
 * run_signals(). Returns the exit status. again: set to whether this process is as it was before, so that it can run
 * another job. */
int starter_run_job(const struct starter_job *job, int signal_fd, bool *again);

#endif
