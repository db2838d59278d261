/* Stopping the youngest jobs of an ensemble whose width was reduced. */
#ifndef DAEMON_ENGINE_MEMBERS_YOUNGEST_H
#define DAEMON_ENGINE_MEMBERS_YOUNGEST_H
#include <stdint.h>

struct engine;
struct live_ensemble;

/* Stops the youngest jobs beyond the wished width, at most `limit` of them. If the width has grown since, that much may
 * stay. Returns 1 if there are more to stop, else 0. */
int youngest_stop(struct engine *engine, struct live_ensemble *ens, int64_t width, int limit);
/* Returns how many attempts are beyond the width. */
int64_t youngest_beyond(struct engine *engine, struct live_ensemble *ens, int64_t width);

#endif
