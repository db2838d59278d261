/* Which file is run for a task, and with which arguments. */
#ifndef TASKS_RUNNER_PROGRAM_H
#define TASKS_RUNNER_PROGRAM_H
#include "common/error.h"
#include "tasks/proto/jobdesc.h"

struct program {
    char *file;  /* for execve() */
    char **argv; /* ended by NULL; the launcher's in front where there is one */
};

/* Look up the task's program, or its launcher, on `path` (the PATH that the task will see); a name with a slash is
 * relative to the task's directory. Fails with a sentence for people: `cannot start "heat2d": not found on PATH`.
 * launch: a command, ended by NULL, that stands for whatever launcher the task has, if any; NULL: there is none.
 * Where it goes on from a checkpoint (NULL: it does not), its arguments for that are added. */
int program_init(struct program *p, const struct jobdesc_task *task, const char *const *launch, const char *path,
                 const char *checkpoint, struct error *err);
void program_fini(struct program *p);

/* The same sentence for what execve() answered. */
int program_exec_error(const struct program *p, int exec_errno, struct error *err);

#endif
