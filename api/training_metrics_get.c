#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define READ_MAX 20000   /* points for one reply, but for those of its last series */
#define COUNTED_MAX 2000 /* points of a series, or as many as are asked for; whether there are more is told, not how many */

/* By name; the cursor is the name of the series with which the next page begins. */
struct listing {
    struct store *store;
    int64_t training, points, limit, read;
    const char *only; /* NULL: every series */
    json_t *series;
    char *next; /* NULL: no more */
    struct error *err;
    bool failed;
};

static int add_point(void *arg, const struct metric_point *point)
{
    json_array_append_new(arg, json_pack("[I, o, o]", (json_int_t)point->step, value_time(point->time_ms),
                                         value_real(point->value)));
    return 0;
}

static int read_series(struct listing *l, const char *name)
{
    int64_t most = l->points > COUNTED_MAX ? l->points : COUNTED_MAX, n;
    json_t *points;
    int rc;

    if (store_metric_count(l->store, l->training, name, most + 1, &n, l->err) < 0)
        return -1;
    l->read += n;
    points = json_array();
    rc = (n <= l->points ? store_metric_each : store_metric_each_spread)(l->store, l->training, name, l->points, add_point,
                                                                         points, l->err);
    json_object_set_new(l->series, name,
                        json_pack("{s:o, s:b, s:o}", "total", n <= most ? json_integer(n) : json_null(), "downsampled",
                                  n > l->points, "points", points));
    return rc;
}

/* Non-zero where the page is full. */
static int add_series(void *arg, const char *name)
{
    struct listing *l = arg;

    if (l->only != NULL && strcmp(l->only, name) != 0)
        return 1;
    if ((int64_t)json_object_size(l->series) == l->limit || l->read >= READ_MAX) {
        l->next = xstrdup(name);
        return 1;
    }
    l->failed = read_series(l, name) < 0;
    return l->failed;
}

static int read_query(struct request *r, struct listing *l, const char **from)
{
    const char *cursor = request_query(r, "cursor");

    l->only = request_query(r, "name");
    *from = l->only != NULL ? l->only : cursor != NULL ? cursor : "";
    if (l->only != NULL && cursor != NULL)
        return error_set(l->err, "query_wrong_value", "query parameter \"cursor\" goes not with \"name\": that is one series");
    if (request_query_int(r, "points", 2, 10000, &l->points, l->err) < 0)
        return -1;
    return request_query_int(r, "limit", 1, 1000, &l->limit, l->err);
}

void training_metrics_get(struct request *r)
{
    struct training_row training;
    struct error err;
    struct listing l = {.store = request_store(r), .points = 500, .limit = 100, .err = &err};
    const char *from;

    if (find_training(r, &training) < 0)
        return;
    l.training = training.id;
    l.series = json_object();
    if (read_query(r, &l, &from) < 0 ||
        store_metric_each_name(l.store, training.id, from, add_series, &l, &err) < 0 || l.failed) {
        json_decref(l.series);
        free(l.next);
        request_reply_problem(r, &err);
        return;
    }
    request_reply_json(r, 200, json_pack("{s:I, s:o, s:s?}", "training", (json_int_t)training.id, "series", l.series, "next",
                                         l.next));
    free(l.next);
}
