/* Measures how long the loop is busy before it waits again, which is how long a request may have to wait. */
#ifndef DAEMON_LOOP_LATENCY_H
#define DAEMON_LOOP_LATENCY_H
#include <stdint.h>
#include <uv.h>

#define LOOP_LATENCY_BOUNDS 11

struct loop_latency_counts {
    /* turns of at most loop_latency_bounds[i] but above [i - 1]; the last counts the longest */
    uint64_t within[LOOP_LATENCY_BOUNDS + 1];
    uint64_t n, ns; /* number and sum of all turns */
};

extern const double loop_latency_bounds[LOOP_LATENCY_BOUNDS]; /* seconds */

struct loop_latency;

/* Begins to measure. The loop must have been configured with UV_METRICS_IDLE_TIME. */
struct loop_latency *loop_latency_create(uv_loop_t *loop);
/* Ends measuring. The loop closes its handle later. */
void loop_latency_destroy(struct loop_latency *latency);
const struct loop_latency_counts *loop_latency_counts(const struct loop_latency *latency);
#endif
