/* The history of a training in moments, each of which has the counters of all its ranks together. */
#ifndef DAEMON_STORE_MOMENT_H
#define DAEMON_STORE_MOMENT_H
#include "daemon/store/store.h"

struct moment_row {
    int64_t time_ms, generation, ranks;                      /* how many ranks have said anything: all that follows is theirs */
    int64_t received, unique, drawn, repeats, batches;       /* since the generation began */
    int64_t population, unseen, capacity;                    /* samples in the buffer */
    double room_wait, sample_wait;                           /* seconds, summed over the ranks */
};

int store_moment_put(struct store *store, int64_t training, const struct moment_row *row, struct error *err);
/* The latest: 1, 0 where there is none, -1. */
int store_moment_last(struct store *store, int64_t training, struct moment_row *row, struct error *err);
/* All, the oldest first. `each` returning non-zero stops. */
int store_moment_each(struct store *store, int64_t training, int (*each)(void *arg, const struct moment_row *row), void *arg,
                      struct error *err);
#endif
