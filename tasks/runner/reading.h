/* Reads what tasks have left when they have ended, before their ends are recorded: checkpoints first (looks.h), then
 * metrics, and of a task that has succeeded its artefacts (artefacts.h). */
#ifndef TASKS_RUNNER_READING_H
#define TASKS_RUNNER_READING_H
#include "tasks/runner/artefacts.h"
#include "tasks/runner/looks.h"

#include <poll.h>

enum { READING_FDS = 3 };

struct reading {
    const struct job *job;
    struct task *tasks;
    size_t ntasks;
    size_t metrics; /* tasks whose metrics are being read */
    struct looks looks;
    struct artefacts artefacts;
    enum stop why; /* why the job was told to end; STOP_NONE: it was not */
    int64_t until; /* monotonic ms when reading of checkpoints and metrics stops; INT64_MAX: it goes on */
    bool enough;   /* it has stopped */
    void (*over)(void *arg, struct task *t); /* called when all of a task is read, and its outcome is known */
    void *arg;
};

int reading_init(struct reading *reading, struct job *job, struct task *tasks, void (*over)(void *arg, struct task *t),
                 void *arg, struct error *err);
void reading_fini(struct reading *reading);

/* Reads what this task has left, which has ended. */
void reading_take(struct reading *reading, struct task *t);
/* Returns whether something is still to be read. */
bool reading_is_busy(const struct reading *reading);
/* The job was told to end: checkpoints and metrics are read for a while, and artefacts no more. */
void reading_stop(struct reading *reading, enum stop why, int64_t now_ms);

/* Does what is due; called when a descriptor has become readable, too. */
void reading_work(struct reading *reading, int64_t now_ms);
int64_t reading_due(const struct reading *reading);
/* Fills in the descriptors to poll; -1: none. */
void reading_poll(const struct reading *reading, struct pollfd fds[READING_FDS]);
#endif
