/* The record of what a task ran: its program, its launcher, and files that it was given, by path and SHA-256, at its
 * start and at its end; and its environment. It is made if the spec has rules. */
#ifndef TASKS_RUNNER_RAN_H
#define TASKS_RUNNER_RAN_H
#include "tasks/runner/environment.h"
#include "tasks/runner/program.h"
#include "tasks/runner/task.h"

struct ran;

/* Reads the files, before the task's process is made. Returns NULL with *why if a signal, or the end of the
 * walltime, came meanwhile: the task is not to be started. */
struct ran *ran_begin(const struct task *t, const struct program *program, const struct task_environment *env,
                      enum stop *why);

/* Looks at the files once more, and returns the object for the exit record, which is borrowed. Files whose times and
 * sizes are those of the beginning are not read again. */
const json_t *ran_end(struct ran *ran);

void ran_destroy(struct ran *ran);
#endif
