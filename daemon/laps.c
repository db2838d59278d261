#include "daemon/laps.h"

#include "common/xalloc.h"

#include <stdlib.h>

const double laps_bounds[LAPS_BOUNDS] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 1};

struct laps {
    uv_prepare_t prepare;
    uint64_t at, idle; /* the time at the end of the last turn, and how long the loop had waited until then */
    struct laps_counts counts;
};

static void count(struct laps_counts *counts, uint64_t ns)
{
    int i = 0;

    while (i < LAPS_BOUNDS && (double)ns > laps_bounds[i] * 1e9)
        i++;
    counts->within[i]++;
    counts->n++;
    counts->ns += ns;
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct laps *laps = prepare->data;
    uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(prepare->loop), waited = idle - laps->idle;

    count(&laps->counts, now - laps->at > waited ? now - laps->at - waited : 0);
    laps->at = now;
    laps->idle = idle;
}

struct laps *laps_create(uv_loop_t *loop)
{
    struct laps *laps = xcalloc(1, sizeof *laps);

    laps->at = uv_hrtime();
    laps->idle = uv_metrics_idle_time(loop);
    uv_prepare_init(loop, &laps->prepare);
    laps->prepare.data = laps;
    uv_prepare_start(&laps->prepare, on_prepare);
    uv_unref((uv_handle_t *)&laps->prepare);
    return laps;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void laps_destroy(struct laps *laps)
{
    if (laps != NULL)
        uv_close((uv_handle_t *)&laps->prepare, on_closed);
}

const struct laps_counts *laps_counts(const struct laps *laps)
{
    return &laps->counts;
}
