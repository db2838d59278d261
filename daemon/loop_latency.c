#include "daemon/loop_latency.h"

#include "common/xalloc.h"

#include <stdlib.h>

const double loop_latency_bounds[LOOP_LATENCY_BOUNDS] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                         0.01,   0.025,   0.05,   0.1,   1};

struct loop_latency {
    uv_prepare_t prepare;
    uint64_t at, idle; /* the time at the end of the last turn, and how long the loop had waited until then */
    struct loop_latency_counts counts;
};

static void count_wait(struct loop_latency_counts *counts, uint64_t ns)
{
    int i = 0;

    while (i < LOOP_LATENCY_BOUNDS && (double)ns > loop_latency_bounds[i] * 1e9)
        i++;
    counts->within[i]++;
    counts->n++;
    counts->ns += ns;
}

static void latency_on_prepare(uv_prepare_t *prepare)
{
    struct loop_latency *latency = prepare->data;
    uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(prepare->loop), waited = idle - latency->idle;

    count_wait(&latency->counts, now - latency->at > waited ? now - latency->at - waited : 0);
    latency->at = now;
    latency->idle = idle;
}

struct loop_latency *loop_latency_create(uv_loop_t *loop)
{
    struct loop_latency *latency = xcalloc(1, sizeof *latency);

    latency->at = uv_hrtime();
    latency->idle = uv_metrics_idle_time(loop);
    uv_prepare_init(loop, &latency->prepare);
    latency->prepare.data = latency;
    uv_prepare_start(&latency->prepare, latency_on_prepare);
    uv_unref((uv_handle_t *)&latency->prepare);
    return latency;
}

static void free_latency(uv_handle_t *handle)
{
    free(handle->data);
}

void loop_latency_destroy(struct loop_latency *latency)
{
    if (latency != NULL)
        uv_close((uv_handle_t *)&latency->prepare, free_latency);
}

const struct loop_latency_counts *loop_latency_counts(const struct loop_latency *latency)
{
    return &latency->counts;
}
