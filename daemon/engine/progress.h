/* The checkpoints that an attempt left. */
#ifndef DAEMON_ENGINE_PROGRESS_H
#define DAEMON_ENGINE_PROGRESS_H
#include <stdbool.h>

struct engine;
struct error;
struct live_job;
struct outcome;
struct slot;

struct progress {
    bool made;        /* the newest checkpoint is the attempt's own, and further than the one that it began with */
    char newest[208]; /* the path of the newest; "" if there is none */
};

/* Stores the checkpoints that an attempt left. */
int progress_take(struct engine *engine, const struct live_job *job, const struct slot *slot, const struct outcome *out,
                  struct progress *progress, struct error *err);

#endif
