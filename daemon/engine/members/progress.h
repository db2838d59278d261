/* The checkpoints that an attempt left. */
#ifndef DAEMON_ENGINE_MEMBERS_PROGRESS_H
#define DAEMON_ENGINE_MEMBERS_PROGRESS_H
#include <stdbool.h>
#include <stddef.h>

struct engine;
struct error;
struct live_job;
struct attempt_end;
struct slot;

struct progress {
    bool made;        /* the newest checkpoint is the attempt's own, and further than the one that it began with */
    char newest[208]; /* the path of the newest; "" if there is none */
};

/* Stores the checkpoints that an attempt left. */
int progress_take(struct engine *engine, const struct live_job *job, const struct slot *slot,
                  const struct attempt_end *out, struct progress *progress, struct error *err);

/* Adds to the notice of an attempt that it began at its start, although a checkpoint was known to go on from: somebody
 * has removed that, or it is damaged. To be called before progress_take(). */
void progress_note_purged(struct engine *engine, const struct live_job *job, const struct slot *slot,
                          const struct attempt_end *out, char *notice, size_t size);

#endif
