#include "tasks/runner/leftovers.h"

#include "common/log.h"
#include "tasks/runner/tree.h"

#include <signal.h>

#define SWEEP_MS 500

void leftovers_init(struct leftovers *l, struct task *tasks, size_t ntasks, int64_t grace_ms)
{
    *l = (struct leftovers){.tasks = tasks, .ntasks = ntasks, .grace_ms = grace_ms};
}

void leftovers_end(struct leftovers *l, struct task *t, int64_t now)
{
    int n = tree_signal_task(0, t->mark, SIGTERM);

    if (n <= 0)
        return;
    log_warn("task %s left %d process%s running: told to end", t->desc->id, n, n == 1 ? "" : "es");
    t->kill_at = now + l->grace_ms;
    l->count++;
}

void leftovers_kill(struct leftovers *l, int64_t now)
{
    for (size_t i = 0; l->count > 0 && i < l->ntasks; i++) {
        struct task *t = &l->tasks[i];

        if (now < t->kill_at)
            continue;
        if (tree_signal_task(0, t->mark, SIGKILL) > 0) {
            t->kill_at = now + SWEEP_MS;
        } else {
            t->kill_at = INT64_MAX;
            l->count--;
        }
    }
}

int64_t leftovers_due(const struct leftovers *l)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; l->count > 0 && i < l->ntasks; i++)
        if (l->tasks[i].kill_at < next)
            next = l->tasks[i].kill_at;
    return next;
}
