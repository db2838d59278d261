/* How fast an ensemble gets on: members that succeed a second, lately. */
#ifndef API_RATE_H
#define API_RATE_H
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* When the `nth` latest success was, from 1 on: 1 with *ms, 0 if there are fewer, or -1. */
typedef int rate_lookup(void *arg, int64_t nth, int64_t *ms, struct error *err);

/* Over the latest successes, or all `succeeded` (at least one) since `created_ms` where these are few. It falls while nothing
 * succeeds. 0 with *rate, or -1 with what `lookup` says. */
int rate_of(int64_t now_ms, int64_t created_ms, int64_t width, int64_t succeeded, rate_lookup *lookup, void *arg, double *rate,
            struct error *err);

/* The latest success was at last_ms, and members took took_ms from their submission to it: is it so long ago that nothing can be said of
 * when the rest will be done? They may be stopped, or hang. */
bool rate_is_stale(int64_t now_ms, int64_t last_ms, int64_t took_ms);

#endif
