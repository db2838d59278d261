/* Events: what happened, in order, with ids that only grow. */
#ifndef DAEMON_STORE_EVENT_H
#define DAEMON_STORE_EVENT_H
#include "daemon/store/store.h"

#include <jansson.h>

/* `index` -1: not about a member. `detail` is a JSON object or NULL, and is taken over (decref'd). */
int store_event_add(struct store *store, int64_t time_ms, const char *kind, int64_t ensemble, int64_t index,
                    json_t *detail, struct error *err);
#endif
