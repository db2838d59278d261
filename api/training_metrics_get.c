#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"

#include <string.h>

struct gathering {
    struct store *store;
    int64_t training, points;
    const char *only; /* NULL: every series */
    json_t *series;
    struct error *err;
    bool failed;
};

/* So that the first, every stride-th and the last are at most `points` (at least 2). */
static int64_t stride_for(int64_t total, int64_t points)
{
    return total <= points ? 1 : (total - 1) / (points - 1) + 1;
}

static int add_point(void *arg, const struct metric_point *point)
{
    json_array_append_new(arg, json_pack("[I, o, o]", (json_int_t)point->step, value_time(point->time_ms),
                                         value_real(point->value)));
    return 0;
}

static int add_series(void *arg, const char *name, int64_t total)
{
    struct gathering *g = arg;
    int64_t stride = stride_for(total, g->points);
    json_t *points;

    if (g->only != NULL && strcmp(g->only, name) != 0)
        return 0;
    points = json_array();
    if (store_metric_each(g->store, g->training, name, stride, add_point, points, g->err) < 0) {
        json_decref(points);
        g->failed = true;
        return 1;
    }
    json_object_set_new(g->series, name,
                        json_pack("{s:I, s:b, s:o}", "total", (json_int_t)total, "downsampled", stride > 1, "points",
                                  points));
    return 0;
}

void training_metrics_get(struct request *r)
{
    struct training_row training;
    struct error err;
    struct gathering g = {.store = request_store(r), .points = 500, .only = request_query(r, "name"), .err = &err};

    if (find_training(r, &training) < 0)
        return;
    if (request_query_int(r, "points", 2, 10000, &g.points, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    g.training = training.id;
    g.series = json_object();
    if (store_metric_each_name(g.store, training.id, add_series, &g, &err) < 0 || g.failed) {
        json_decref(g.series);
        request_reply_problem(r, &err);
        return;
    }
    request_reply_json(r, 200, json_pack("{s:I, s:o}", "training", (json_int_t)training.id, "series", g.series));
}
