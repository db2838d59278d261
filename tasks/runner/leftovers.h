/* Processes that tasks leave running when their first processes end: they may outlive these by the grace. Processes of
 * which it is not known which task has started them end with the last task. */
#ifndef TASKS_RUNNER_LEFTOVERS_H
#define TASKS_RUNNER_LEFTOVERS_H
#include "tasks/runner/task.h"
#include "tasks/runner/tree.h"

#include <stddef.h>
#include <stdint.h>

struct leftovers {
    struct task *tasks; /* the job's, borrowed */
    size_t ntasks;
    struct tree_task *marks; /* one for each task */
    size_t count;            /* tasks that left processes which were told to end */
    int64_t grace_ms;
};

void leftovers_init(struct leftovers *l, struct task *tasks, size_t ntasks, int64_t grace_ms);
void leftovers_fini(struct leftovers *l);

/* Looks at the processes of all tasks. The caller frees the tree by tree_free(). */
void leftovers_look(struct leftovers *l, struct tree *tree);

/* Tells the processes to end that are left of tasks with `new_end`, or of ended tasks of which none was told yet. Times
 * are monotonic milliseconds. */
void leftovers_end(struct leftovers *l, int64_t now);

/* Tells all processes of a task to end while its first process runs. */
void leftovers_end_running(struct leftovers *l, struct task *t, int64_t now);

/* Tells processes to end that no task is known to have started. Returns how many there were. */
int leftovers_end_unowned(struct leftovers *l);

/* Sends SIGKILL to processes whose grace is over. */
void leftovers_kill(struct leftovers *l, int64_t now);

/* Returns when leftovers_kill() is due next; INT64_MAX: never. */
int64_t leftovers_due(const struct leftovers *l);
#endif
