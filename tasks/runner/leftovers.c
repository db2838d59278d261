#include "tasks/runner/leftovers.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <signal.h>
#include <stdlib.h>

#define SWEEP_MS 500

void leftovers_init(struct leftovers *l, struct task *tasks, size_t ntasks, int64_t grace_ms)
{
    *l = (struct leftovers){.tasks = tasks, .ntasks = ntasks, .grace_ms = grace_ms};
    l->marks = xcalloc(ntasks, sizeof *l->marks);
}

void leftovers_fini(struct leftovers *l)
{
    free(l->marks);
}

void leftovers_look(struct leftovers *l, struct tree *tree)
{
    for (size_t i = 0; i < l->ntasks; i++)
        l->marks[i] = (struct tree_task){l->tasks[i].mark, l->tasks[i].session};
    tree_look(tree, l->marks, l->ntasks);
}

static void leftovers_told(struct leftovers *l, struct task *t, int64_t now)
{
    if (t->kill_at != INT64_MAX)
        return;
    t->kill_at = now + l->grace_ms;
    l->count++;
}

void leftovers_end(struct leftovers *l, int64_t now)
{
    struct tree tree;

    leftovers_look(l, &tree);
    for (size_t i = 0; i < l->ntasks; i++) {
        struct task *t = &l->tasks[i];
        bool untold = t->pid <= 0 && t->kill_at == INT64_MAX;
        int n = t->new_end || untold ? tree_signal(&tree, i, SIGTERM) : 0;

        if (n <= 0)
            continue;
        log_warn("task %s left %d process%s running: told to end", t->desc->id, n, n == 1 ? "" : "es");
        leftovers_told(l, t, now);
    }
    tree_free(&tree);
}

void leftovers_end_running(struct leftovers *l, struct task *t, int64_t now)
{
    tree_signal_running(t->pid, t->mark, SIGTERM);
    leftovers_told(l, t, now);
}

int leftovers_end_unowned(struct leftovers *l)
{
    struct tree tree;
    int n;

    leftovers_look(l, &tree);
    n = tree_signal(&tree, TREE_UNOWNED, SIGTERM);
    if (n > 0)
        log_warn("%d process%s left that the tasks have started without their environment: told to end", n,
                 n == 1 ? " is" : "es are");
    tree_free(&tree);
    return n;
}

void leftovers_kill(struct leftovers *l, int64_t now)
{
    struct tree tree;

    if (now < leftovers_due(l))
        return;
    leftovers_look(l, &tree);
    for (size_t i = 0; i < l->ntasks; i++) {
        struct task *t = &l->tasks[i];

        if (now < t->kill_at)
            continue;
        if (tree_signal(&tree, i, SIGKILL) > 0) {
            t->kill_at = now + SWEEP_MS;
        } else {
            t->kill_at = INT64_MAX;
            l->count--;
        }
    }
    tree_free(&tree);
}

int64_t leftovers_due(const struct leftovers *l)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; l->count > 0 && i < l->ntasks; i++)
        if (l->tasks[i].kill_at < next)
            next = l->tasks[i].kill_at;
    return next;
}
