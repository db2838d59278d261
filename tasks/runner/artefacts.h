/* Artefacts: files that a task which has succeeded leaves, such as a model. Each is read once for its size and SHA-256,
 * and linked into the task's directory of results, by a thread: the files may be large. */
#ifndef TASKS_RUNNER_ARTEFACTS_H
#define TASKS_RUNNER_ARTEFACTS_H
#include "tasks/runner/looker.h"
#include "tasks/runner/task.h"

#include <jansson.h>
#include <stdbool.h>

/* Finds the regular files below `dir` that match any of the patterns, and reads them. Returns an array of {path, size,
 * sha256}, by path; NULL with err, whose text says of which pattern there is none, or which file cannot be read. */
json_t *artefacts_find(const char *dir, const json_t *patterns, struct error *err);

/* Links them into the directory `results`, which it makes, in the place of those of an earlier attempt of the same
 * owner. Fails, and changes nothing, if the directory has the results of another owner. */
int artefacts_place(const char *dir, const json_t *artefacts, const char *results, const char *owner,
                    struct error *err);

/* Checks before a task starts whether its artefacts can be placed in `results`, as far as that can be told then. */
int artefacts_check(const char *results, const char *owner, struct error *err);

struct artefacts {
    struct looker *looker; /* NULL: the tasks of this job leave none, and no function here does anything */
    enum stop stopped;     /* why no more is read; STOP_NONE: it is */
    size_t open;           /* tasks whose artefacts are being read */
    void (*taken)(void *arg, struct task *t); /* called when a task's artefacts are read; its record has them */
    void *arg;
};

int artefacts_init(struct artefacts *artefacts, const struct job *job, void (*taken)(void *arg, struct task *t),
                   void *arg, struct error *err);
void artefacts_fini(struct artefacts *artefacts);

/* Begins to read those of a task that has ended. Returns false if there is nothing to do. */
bool artefacts_take(struct artefacts *artefacts, struct task *t);
/* Reads no more, because the job's time is over, or it was told to end: tasks whose artefacts are not read are out of
 * time, or cancelled. */
void artefacts_stop(struct artefacts *artefacts, enum stop why);
void artefacts_work(struct artefacts *artefacts);    /* takes over the results */
int artefacts_fd(const struct artefacts *artefacts); /* readable when there is something to take; -1: none */

#endif
