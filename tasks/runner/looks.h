/* Looks for checkpoints of a job's tasks: while they run, whenever the kernel tells of a new one, and once when each has ended. */
#ifndef TASKS_RUNNER_LOOKS_H
#define TASKS_RUNNER_LOOKS_H
#include "tasks/runner/looker.h"
#include "tasks/runner/task.h"
#include "tasks/runner/watch.h"

enum { LOOKS_FILES, LOOKS_RECORDS }; /* what is watched */

struct looks {
    struct watch *watch;
    struct looker *looker; /* NULL: the job's tasks leave no checkpoints, and nothing here does anything */
    struct task *tasks;
    size_t n;
    size_t ending; /* tasks that have ended, and whose last look is under way */
    int64_t linger_ms; /* when to look again whether something is left of them; INT64_MAX: nothing is */
    void (*looked)(void *arg, struct task *t); /* … is over */
    void *arg;
};

int looks_init(struct looks *looks, const struct job *job, struct task *tasks, void (*looked)(void *arg, struct task *t),
               void *arg, struct error *err);
void looks_fini(struct looks *looks);

/* A task's first process has ended: the last look for what it has left, as soon as nothing of it is left running, or has had
 * `grace_ms` to end. */
void looks_end(struct looks *looks, struct task *t, int64_t now_ms, int64_t grace_ms);

/* Do what is due; call it after either descriptor (-1: none) was readable. */
void looks_work(struct looks *looks, int64_t now_ms);
int64_t looks_due(const struct looks *looks);
int looks_watch_fd(const struct looks *looks);
int looks_done_fd(const struct looks *looks);

#endif
