/* What became of a job's tasks, to the daemon that waits for the runner's end, so that it need not read any files. */
#ifndef TASKS_RUNNER_ANSWER_H
#define TASKS_RUNNER_ANSWER_H
#include "tasks/runner/task.h"

/* In its letter, once all exit records are written. False where it sent none, or is gone. */
bool answer_letter(const struct job *job, const struct task *tasks, size_t n);

#endif
