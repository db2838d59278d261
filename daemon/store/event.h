/* Events: what happened, in order, with ids that only grow and leave no gap; the oldest are forgotten after a while. */
#ifndef DAEMON_STORE_EVENT_H
#define DAEMON_STORE_EVENT_H
#include "daemon/store/store.h"

#include <jansson.h>

struct event_row {
    int64_t id, time_ms, ensemble;
    int64_t index; /* -1: not about a member */
    char kind[64];
    const char *detail; /* a JSON object's text or NULL; valid during the callback */
};

struct event_filter {
    int64_t ensemble; /* 0: any */
    const char *kind; /* NULL: any */
};

/* `index` -1: not about a member. `detail` is a JSON object's text, as compact as jansson's, or NULL. It is written with others of
 * the same transaction, before anything is read or it is committed: only then is it known whether that could be done. */
int store_event_put(struct store *store, int64_t time_ms, const char *kind, int64_t ensemble, int64_t index,
                    const char *detail, struct error *err);

/* The same with an object or NULL, which is taken over (decref'd). */
int store_event_add(struct store *store, int64_t time_ms, const char *kind, int64_t ensemble, int64_t index,
                    json_t *detail, struct error *err);

/* Events after id `after` up to id `upto` that the filter lets pass, at most `limit`, until `each` returns non-zero. */
int store_event_each(struct store *store, int64_t after, int64_t upto, const struct event_filter *filter, int limit,
                     int (*each)(void *arg, const struct event_row *row), void *arg, struct error *err);

/* The id of the newest ever made that is on disk, without asking the database. */
int64_t store_event_newest(const struct store *store);

/* The newest that is kept of an ensemble; 0: none is. */
int store_event_newest_of(struct store *store, int64_t ensemble, int64_t *id, struct error *err);

/* The ids of the oldest kept and of the newest ever made; oldest is newest + 1 where none is kept. */
int store_event_bounds(struct store *store, int64_t *oldest, int64_t *newest, struct error *err);

/* Forget events from before a time, the oldest first, looking at no more than `step`; *n is how many went. */
int store_event_prune(struct store *store, int64_t before_ms, int64_t step, int64_t *n, struct error *err);
#endif
