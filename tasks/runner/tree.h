/* Process trees of tasks. Every process of a job carries STRETTO_JOB, and every process of a task STRETTO_TASK, in the
 * environment it was started with; what gave that up is still found as a child of the runner, which adopts orphans. */
#ifndef TASKS_RUNNER_TREE_H
#define TASKS_RUNNER_TREE_H
#include <sys/types.h>

/* Signal a task's processes, each once: its process group, and those that left it. leader is 0 once the task's first
 * process was waited for: its number may belong to others by then. Returns how many were found outside the group. */
int tree_signal_task(pid_t leader, const char *mark, int sig);

/* How many children the caller, which has one thread, has, those that were not waited for included; -1 where the kernel
 * does not tell. */
ssize_t tree_children(void);

/* Signal the children of the caller, whatever they carry. Returns their number. */
int tree_signal_children(int sig);

#endif
