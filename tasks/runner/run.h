/* The event loop of a runner: from the claimed job to the last process of its last task. */
#ifndef TASKS_RUNNER_RUN_H
#define TASKS_RUNNER_RUN_H
#include "tasks/proto/control.h"
#include "tasks/runner/task.h"

/* Runs all tasks of the job; started_ms is the monotonic time at which the runner was started. Returns 0 when every
 * exit record and ended.json are written and no process of the job is left, -1 when a record was lost. A daemon that
 * watches the runner gets the records through the job's descriptor instead of ended.json. */
int run_job(struct job *job, const char *jobdir, int signal_fd, int64_t started_ms, struct control_sender *control);

#endif
