/* The end of a job by its runner: the tasks are warned, get SIGTERM, and are killed if they do not end in their
 * grace. */
#ifndef TASKS_RUNNER_ENDING_H
#define TASKS_RUNNER_ENDING_H
#include "tasks/runner/task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All times are monotonic ms; INT64_MAX: never. */
struct ending {
    const struct job *job;
    struct task *tasks; /* the job's, borrowed */
    enum stop stop;     /* STOP_NONE: the job is not ended */
    int64_t warn_at;    /* a little before the deadline; INT64_MAX once it is done, too */
    int64_t term_at;    /* SIGTERM, after the tasks were first warned that the job is to end */
    int64_t kill_at;    /* SIGKILL for processes that did not end in their grace, once the whole job is to end */
    int64_t sweep_ms;   /* until the next check whether killing has helped */
};

void ending_init(struct ending *e, const struct job *job, struct task *tasks);

/* The tasks begin again: plans for their former processes are dropped. */
void ending_begin_again(struct ending *e);

/* A phrase for people. */
const char *ending_reason(enum stop why);

/* Passes a signal on to the first process of each running task. */
void ending_forward(const struct ending *e, int sig);

/* Ends the job, which is not ended yet. Tasks that are warned only now, because a signal ends the job, get half of the
 * grace for it, since the sender of the signal gives no more time. */
void ending_stop(struct ending *e, enum stop why, bool by_signal, int64_t now);

/* Has processes killed at that time, if not earlier. */
void ending_kill_by(struct ending *e, int64_t at);

/* Does the steps that are due. `children`: processes are left; `left`: tasks that have not ended. */
void ending_work(struct ending *e, bool children, size_t left, int64_t now);
int64_t ending_due(const struct ending *e, bool children, size_t left);

#endif
