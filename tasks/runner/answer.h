/* Hands the exit records of a job's tasks to the daemon that waits for the runner's end, so that it need not read any
 * files. */
#ifndef TASKS_RUNNER_ANSWER_H
#define TASKS_RUNNER_ANSWER_H
#include "tasks/runner/task.h"

/* Writes the records, once they are all written as files, into the descriptor from which the job came. False if the
 * daemon sent none, or is gone. */
bool answer_jobfd(const struct job *job, const struct task *tasks, size_t n);

#endif
