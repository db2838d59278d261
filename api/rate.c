#include "api/rate.h"

/* The rate is measured over two waves of a full width, so that members which begin and end together do not make it
 * jump. It is measured over LEAST members and a second at least, since a shorter time says little, and its ends are
 * rounded. */
#define LEAST 20
#define MOST 1000
#define SECOND_MS 1000
#define STALE_TIMES 3        /* a rate is stale after this many times as long as members take, without a success, */
#define STALE_MS 60000       /* but not before this time */
#define LOOKED_AT_MOST 16000 /* members, since each of them costs time to look up */

int rate_of(int64_t now_ms, int64_t created_ms, int64_t width, int64_t succeeded, rate_lookup *lookup, rate_idle *idle,
            void *arg, double *rate, struct error *err)
{
    int64_t n = 2 * width < LEAST ? LEAST : 2 * width > MOST ? MOST : 2 * width, since, idle_ms = 0, busy;

    for (;; n *= 4) {
        int rc = lookup(arg, n, &since, err);

        if (rc < 0)
            return -1;
        if (rc == 0) {
            n = succeeded;
            since = created_ms;
        }
        if (rc == 0 || now_ms - since >= SECOND_MS || n >= LOOKED_AT_MOST)
            break;
    }
    if (idle(arg, since, now_ms, &idle_ms, err) < 0)
        return -1;
    busy = now_ms - since - idle_ms;
    *rate = (double)n * 1000 / (double)(busy > 0 ? busy : 1);
    return 0;
}

bool rate_is_stale(int64_t now_ms, int64_t last_ms, int64_t took_ms)
{
    int64_t patience = took_ms < INT64_MAX / STALE_TIMES ? STALE_TIMES * took_ms : INT64_MAX;

    return now_ms - last_ms > (patience > STALE_MS ? patience : STALE_MS);
}
