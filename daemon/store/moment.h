/* The history of a training in moments. Each moment has the counters of all its ranks together. */
#ifndef DAEMON_STORE_MOMENT_H
#define DAEMON_STORE_MOMENT_H
#include "daemon/store/store.h"

struct moment_row {
    /* ranks: those that have reported; all counters are theirs */
    int64_t time_ms, generation, ranks;
    int64_t received, unique, drawn, repeats, batches; /* counted since the generation began */
    int64_t population, unseen, capacity;              /* samples in the buffer */
    double room_wait, sample_wait;                     /* seconds, summed over the ranks */
};

int store_moment_put(struct store *store, int64_t training, const struct moment_row *row, struct error *err);
/* Reads the latest moment. Returns 1 if there is one, 0 if not, -1 on error. */
int store_moment_last(struct store *store, int64_t training, struct moment_row *row, struct error *err);
/* Reads all moments, the oldest first, until `each` returns non-zero. */
int store_moment_each(struct store *store, int64_t training, int (*each)(void *arg, const struct moment_row *row),
                      void *arg, struct error *err);
#endif
