/* Events in the order in which they happened. Their ids only grow and leave no gap; the oldest are removed after a
 * while. */
#ifndef DAEMON_STORE_EVENT_H
#define DAEMON_STORE_EVENT_H
#include "daemon/store/store.h"

#include <jansson.h>

struct event_row {
    int64_t id, time_ms, ensemble;
    int64_t index; /* -1 if it is not about a member */
    char kind[64];
    const char *detail; /* the text of a JSON object, or NULL; valid during the callback */
};

struct event_filter {
    int64_t ensemble; /* 0 for any */
    const char *kind; /* NULL for any */
};

/* Adds an event. `index` is -1 if it is not about a member; `detail` is the text of a JSON object, as compact as
 * jansson's, or NULL. The event is written with others before anything is read or the transaction is committed, so that
 * a failure shows only then. */
int store_event_put(struct store *store, int64_t time_ms, const char *kind, int64_t ensemble, int64_t index,
                    const char *detail, struct error *err);

/* Like store_event_put(), with an object or NULL, which is taken over (decref'd). */
int store_event_add(struct store *store, int64_t time_ms, const char *kind, int64_t ensemble, int64_t index,
                    json_t *detail, struct error *err);

/* Reads at most `limit` events that match the filter, with ids above `after` up to `upto`, until `each` returns
 * non-zero. */
int store_event_each(struct store *store, int64_t after, int64_t upto, const struct event_filter *filter, int limit,
                     int (*each)(void *arg, const struct event_row *row), void *arg, struct error *err);

/* Returns the id of the newest event that is on the disk, without asking the database. */
int64_t store_event_newest(const struct store *store);

/* Returns the id of the newest event of an ensemble that is kept, or 0 if there is none. */
int store_event_newest_of(struct store *store, int64_t ensemble, int64_t *id, struct error *err);

/* Returns the ids of the oldest event that is kept and of the newest ever made. If none is kept, *oldest is *newest
 * + 1. */
int store_event_bounds(struct store *store, int64_t *oldest, int64_t *newest, struct error *err);

/* Removes events from before a time, the oldest first, and looks at `step` events at most. *n is how many were
 * removed. */
int store_event_prune(struct store *store, int64_t before_ms, int64_t step, int64_t *n, struct error *err);
#endif
