/* Processes that a task leaves running when its first one ends: they do not outlive it by more than the grace. */
#ifndef TASKS_RUNNER_LEFTOVERS_H
#define TASKS_RUNNER_LEFTOVERS_H
#include "tasks/runner/task.h"

#include <stddef.h>
#include <stdint.h>

struct leftovers {
    struct task *tasks; /* the job's, borrowed */
    size_t ntasks;
    size_t count; /* of tasks that have left processes behind which were told to end */
    int64_t grace_ms;
};

void leftovers_init(struct leftovers *l, struct task *tasks, size_t ntasks, int64_t grace_ms);

/* `t` has ended: tell what it left to end, if there is anything. Times are monotonic milliseconds. */
void leftovers_end(struct leftovers *l, struct task *t, int64_t now);

/* SIGKILL for what has had its grace. */
void leftovers_kill(struct leftovers *l, int64_t now);

/* When leftovers_kill() has something to do next; INT64_MAX: never. */
int64_t leftovers_due(const struct leftovers *l);
#endif
