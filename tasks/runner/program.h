/* Finds the file to run for a task, and its arguments. */
#ifndef TASKS_RUNNER_PROGRAM_H
#define TASKS_RUNNER_PROGRAM_H
#include "common/error.h"
#include "tasks/proto/jobdesc.h"

/* The text that takes the place of another one, wherever that stands. */
struct program_word {
    const char *mark, *text;
};

struct program {
    char *file;  /* for execve() */
    char **argv; /* ended by NULL; begins with the launcher if there is one */
    size_t n, room;
};

/* Looks up the task's program, or its launcher, on `path` (the PATH that the task will see). A name with a slash is
 * relative to the task's directory. Fails with a sentence for people: `cannot start "heat2d": not found on PATH`.
 *
 * - launch: a command, ended by NULL, that replaces the task's launcher, if it has one; NULL: there is none.
 * - words: the values of the placeholders of a launcher of several words; the last one has no mark.
 *
 * If the task goes on from a checkpoint (NULL: it does not), the arguments for that are added. */
int program_init(struct program *p, const struct jobdesc_task *task, const char *const *launch, const char *path,
                 const struct program_word *words, const char *checkpoint, struct error *err);
/* Returns the file for a name, to be freed, as program_init() finds it; NULL with err. */
char *program_find(const char *name, const char *path, const char *dir, struct error *err);
void program_fini(struct program *p);

/* Writes the same sentence for an error of execve(). */
int program_exec_error(const struct program *p, int exec_errno, struct error *err);

#endif
