/* Sends the points of a metric one by one, as they were reported, for exports. Curves are better drawn from buckets. */
#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"
#include "common/xalloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Lists by step and rank. The cursor has those of the last point of the page. */
struct training_points_page {
    json_t *points;
    int64_t step, rank;
};

static int add_training_point(void *arg, const struct metric_point *point)
{
    struct training_points_page *page = arg;

    page->step = point->step;
    page->rank = point->rank;
    return json_array_append_new(page->points,
                                 json_pack("{s:I, s:I, s:o, s:o}", "step", (json_int_t)point->step, "rank",
                                           (json_int_t)point->rank, "time", value_time(point->time_ms), "value",
                                           value_metric(point->value)));
}

static int take_metric_name(void *arg, const char *name)
{
    *(char **)arg = xstrdup(name);
    return 1;
}

/* Returns the name of the metric that the client asks for, or of the first one, to be freed. NULL with err if the
 * store cannot be read. */
static char *metric_to_send(struct request *r, const struct training_row *training, struct error *err)
{
    char *name = request_query(r, "name") != NULL ? xstrdup(request_query(r, "name")) : NULL;

    if (name == NULL && store_metric_each_name(request_store(r), training->id, "", take_metric_name, &name, err) < 0)
        return NULL;
    return name != NULL ? name : xstrdup("");
}

static int read_training_points_query(struct request *r, struct training_points_page *page, int64_t *limit,
                                      struct error *err)
{
    const char *cursor = request_query(r, "cursor");
    char rest;

    if (cursor != NULL && sscanf(cursor, "%18" SCNd64 ".%18" SCNd64 "%c", &page->step, &page->rank, &rest) != 2)
        return error_set(err, "query_wrong_value",
                         "query parameter \"cursor\" must be the \"next\" of a page, not \"%.60s\"", cursor);
    return request_query_int(r, "limit", 1, 10000, limit, err);
}

void training_points_get(struct request *r)
{
    struct training_points_page page = {.points = json_array(), .step = INT64_MIN, .rank = -1};
    struct training_row training;
    int64_t limit = 1000;
    char *name = NULL, next[48];
    struct error err;

    if (find_training(r, &training) < 0) {
        json_decref(page.points);
        return;
    }
    if (read_training_points_query(r, &page, &limit, &err) < 0 || (name = metric_to_send(r, &training, &err)) == NULL ||
        store_metric_each(request_store(r), training.id, name, page.step, page.rank, INT64_MAX, limit,
                          add_training_point, &page, &err) < 0) {
        json_decref(page.points);
        request_reply_problem(r, &err);
    } else {
        snprintf(next, sizeof next, "%" PRId64 ".%" PRId64, page.step, page.rank);
        request_reply_json(r, 200,
                           json_pack("{s:I, s:s, s:o, s:s?}", "training", (json_int_t)training.id, "name", name,
                                     "points", page.points, "next",
                                     (int64_t)json_array_size(page.points) == limit ? next : NULL));
    }
    free(name);
}
