/* A thread that runs looks for checkpoints, one after the other: they read whole files, and the runner's loop must not
 * wait for that. */
#ifndef TASKS_RUNNER_LOOKER_H
#define TASKS_RUNNER_LOOKER_H
#include "tasks/runner/checkpoints.h"

struct looker;

/* NULL with err. The thread is started with the first look. */
struct looker *looker_create(struct error *err);

/* Called when every look was taken. */
void looker_destroy(struct looker *looker);

/* Readable when a look is done. */
int looker_fd(const struct looker *looker);

void looker_add(struct looker *looker, struct look *look);

/* Returns a look that is done, for look_taken(); NULL where there is none. */
struct look *looker_next(struct looker *looker);

#endif
