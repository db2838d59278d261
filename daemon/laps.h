/* How long the loop is busy before it can wait again: for so long may whoever asks it have to wait. */
#ifndef DAEMON_LAPS_H
#define DAEMON_LAPS_H
#include <stdint.h>
#include <uv.h>

#define LAPS_BOUNDS 11

struct laps_counts {
    uint64_t within[LAPS_BOUNDS + 1]; /* turns up to laps_bounds[i], and above the one before; the last: above them all */
    uint64_t n, ns;                   /* all of them */
};

extern const double laps_bounds[LAPS_BOUNDS]; /* seconds */

struct laps;

/* The loop must have been configured with UV_METRICS_IDLE_TIME. */
struct laps *laps_create(uv_loop_t *loop);
/* Its handle is closed as the loop goes on. */
void laps_destroy(struct laps *laps);
const struct laps_counts *laps_counts(const struct laps *laps);
#endif
