/* The done record of a rank (docs/run-directory.md), which its library writes if the program says that it is
 * done, or unfinished. */
#ifndef TASKS_RUNNER_DONE_H
#define TASKS_RUNNER_DONE_H
#include "tasks/runner/task.h"

/* Returns whether the task is a rank whose done record is there. */
bool task_is_done(const struct task *t);
#endif
