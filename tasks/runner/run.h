/* The event loop of a runner: from the claimed job to the last process of its last task. */
#ifndef TASKS_RUNNER_RUN_H
#define TASKS_RUNNER_RUN_H
#include "tasks/runner/task.h"

#include <sys/types.h>

/* Runs all tasks of the job; started_ms is the monotonic time at which the runner was started. Returns 0 when every
 * exit record and ended.json are written and no process of the job is left, -1 when a record was lost. A daemon that
 * watches the runner gets the records through the job's descriptor instead of ended.json. */
int run_job(struct job *job, const char *jobdir, int signal_fd, int64_t started_ms);

/* main.c: runs a job like `stretto-run --local --job-fd [--gpus=…] JOBDIR`, in a copy of the starter or of a pilot.
 * `parent` is the process that watches it; gpus NULL: GPUs are not counted. Its time is over at `until_ms` (monotonic;
 * INT64_MAX: no limit) at the latest. Returns the exit status. */
int run_job_in_copy(const char *jobdir, int jobfd, const char *gpus, pid_t parent, int64_t started_ms,
                    int64_t until_ms);

#endif
