/* Removes rows that only matter for a while: events, replies to Idempotency-Keys, sessions. It does so in small steps,
 * so that no loop turn is long. */
#ifndef DAEMON_PRUNE_H
#define DAEMON_PRUNE_H
#include "daemon/store/store.h"

#include <uv.h>

struct prune;

struct prune *prune_create(uv_loop_t *loop, struct store *store, int64_t keep_events_ms);
/* Ends it. The loop closes its handle later. */
void prune_destroy(struct prune *prune);
#endif
