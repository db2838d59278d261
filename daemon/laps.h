/* Measures how long the loop is busy before it waits again, which is how long a request may have to wait. */
#ifndef DAEMON_LAPS_H
#define DAEMON_LAPS_H
#include <stdint.h>
#include <uv.h>

#define LAPS_BOUNDS 11

struct laps_counts {
    /* turns of at most laps_bounds[i] but above [i - 1]; the last counts the longest */
    uint64_t within[LAPS_BOUNDS + 1];
    uint64_t n, ns;                   /* number and sum of all turns */
};

extern const double laps_bounds[LAPS_BOUNDS]; /* seconds */

struct laps;

/* Begins to measure. The loop must have been configured with UV_METRICS_IDLE_TIME. */
struct laps *laps_create(uv_loop_t *loop);
/* Ends measuring. The loop closes its handle later. */
void laps_destroy(struct laps *laps);
const struct laps_counts *laps_counts(const struct laps *laps);
#endif
