/* Looks for checkpoints of a job's tasks: while they run, whenever the kernel reports a new file, and once when each
 * task has ended. */
#ifndef TASKS_RUNNER_LOOKS_H
#define TASKS_RUNNER_LOOKS_H
#include "tasks/runner/looker.h"
#include "tasks/runner/task.h"
#include "tasks/runner/watch.h"

enum { LOOKS_FILES, LOOKS_RECORDS }; /* the directories that are watched */

struct looks {
    struct watch *watch;
    struct looker *looker; /* NULL: the job's tasks leave no checkpoints, and no function here does anything */
    struct task *tasks;
    size_t n;
    size_t ending;     /* tasks that have ended, and whose last look is under way */
    int64_t linger_ms; /* when to check again whether processes are left of ended tasks; INT64_MAX: there are none */
    void (*looked)(void *arg, struct task *t); /* called when a task's last look is over */
    void *arg;
};

int looks_init(struct looks *looks, const struct job *job, struct task *tasks,
               void (*looked)(void *arg, struct task *t), void *arg, struct error *err);
/* Reads no more of large files: checkpoints that are not read by now do not count. */
void looks_stop(struct looks *looks);
void looks_fini(struct looks *looks);

/* A task's first process has ended: starts its last look as soon as none of its processes is left running, or they have
 * had `grace_ms` to end. */
void looks_end(struct looks *looks, struct task *t, int64_t now_ms, int64_t grace_ms);

/* Does what is due; called when a descriptor (-1: none) has become readable, too. */
void looks_work(struct looks *looks, int64_t now_ms);
int64_t looks_due(const struct looks *looks);
int looks_watch_fd(const struct looks *looks);
int looks_done_fd(const struct looks *looks);

#endif
