/* Processes that tasks leave running when their first ones end: they do not outlive them by more than the grace. Those of which it is
 * not known which task has started them end with the last task. */
#ifndef TASKS_RUNNER_LEFTOVERS_H
#define TASKS_RUNNER_LEFTOVERS_H
#include "tasks/runner/task.h"
#include "tasks/runner/tree.h"

#include <stddef.h>
#include <stdint.h>

struct leftovers {
    struct task *tasks; /* the job's, borrowed */
    size_t ntasks;
    struct tree_task *marks; /* as many */
    size_t count; /* of tasks that have left processes behind which were told to end */
    int64_t grace_ms;
};

void leftovers_init(struct leftovers *l, struct task *tasks, size_t ntasks, int64_t grace_ms);
void leftovers_fini(struct leftovers *l);

/* Look at the processes of all tasks. Free the tree with tree_free(). */
void leftovers_look(struct leftovers *l, struct tree *tree);

/* The tasks with `new_end` have ended: tell what they left to end, if there is anything. Times are monotonic milliseconds. */
void leftovers_end(struct leftovers *l, int64_t now);

/* Tell all that belongs to a task to end, while its first process runs. */
void leftovers_end_running(struct leftovers *l, struct task *t, int64_t now);

/* Tell what no task is known to have started. Returns how many processes there were. */
int leftovers_end_unowned(struct leftovers *l);

/* SIGKILL for what has had its grace. */
void leftovers_kill(struct leftovers *l, int64_t now);

/* When leftovers_kill() has something to do next; INT64_MAX: never. */
int64_t leftovers_due(const struct leftovers *l);
#endif
