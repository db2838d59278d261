/* A thread that runs errands, one after the other: they read whole files (looks for checkpoints, artefacts), and the
 * runner's loop must not wait for that. */
#ifndef TASKS_RUNNER_LOOKER_H
#define TASKS_RUNNER_LOOKER_H
#include "common/error.h"

#include <stdbool.h>

/* The first member of what is to be done. */
struct errand {
    struct errand *next;
    void (*run)(struct errand *errand); /* called on the thread */
};

struct looker;

/* NULL with err. The thread is started with the first errand. */
struct looker *looker_create(struct error *err);

/* Called when every errand was taken. */
void looker_destroy(struct looker *looker);

/* Errands that read files stop doing so, from now on. */
void looker_stop(struct looker *looker);

/* Returns whether the errand that this thread runs is to stop. */
bool looker_is_stopped(void);

/* Readable when an errand is done. */
int looker_fd(const struct looker *looker);

void looker_add(struct looker *looker, struct errand *errand);

/* Returns an errand that is done; NULL if there is none. */
struct errand *looker_next(struct looker *looker);

#endif
