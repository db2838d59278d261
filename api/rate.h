/* Measures how many members of an ensemble succeed a second, from the latest successes. */
#ifndef API_RATE_H
#define API_RATE_H
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds the time of the `nth`-latest success, counted from 1. Returns 1 with *ms, 0 if there are fewer, or -1. */
typedef int rate_lookup(void *arg, int64_t nth, int64_t *ms, struct error *err);

/* Finds for how long nothing ran from since_ms to now_ms. Returns 0, or -1. */
typedef int rate_idle(void *arg, int64_t since_ms, int64_t now_ms, int64_t *idle_ms, struct error *err);

/* Measures the rate over the latest successes, or over all `succeeded` (at least one) since `created_ms` if they are
 * few. It falls while members run and none succeeds; time in which none runs does not count. Returns 0 with *rate, or
 * -1 with the error of `lookup` or `idle`. */
int rate_of(int64_t now_ms, int64_t created_ms, int64_t width, int64_t succeeded, rate_lookup *lookup, rate_idle *idle,
            void *arg, double *rate, struct error *err);

/* Returns whether the latest success, at last_ms, is so long ago that nothing can be said about the end: members may be
 * stopped, or hang. took_ms is how long members took from their submission to their success. */
bool rate_is_stale(int64_t now_ms, int64_t last_ms, int64_t took_ms);

#endif
