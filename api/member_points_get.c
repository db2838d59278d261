/* Sends the points of a member's metric one by one, as they are kept: as they were reported, or several neighbours
 * merged, if the series has become long. */
#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"
#include "daemon/store/series.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Lists by step. The cursor is the step of the last point of the page. */
struct member_points_page {
    json_t *points;
    int64_t step;
};

static int add_member_point(void *arg, const struct series_point *p)
{
    struct member_points_page *page = arg;
    json_t *json = json_pack("{s:I, s:o, s:I, s:o}", "step", (json_int_t)p->step, "time", value_time(p->time_ms),
                             "attempt", (json_int_t)p->attempt, "value", value_metric(p->last));

    if (p->count > 1)
        json_object_update_new(json, json_pack("{s:I, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "last_step",
                                               (json_int_t)p->last_step, "last_time", value_time(p->last_time_ms),
                                               "count", (json_int_t)p->count, "not_finite", (json_int_t)p->not_finite,
                                               "first", value_metric(p->first), "min", value_real(p->min), "max",
                                               value_real(p->max), "area", value_real(p->within)));
    page->step = p->step;
    return json_array_append_new(page->points, json);
}

static int take_first_series(void *arg, const struct series_row *row)
{
    *(struct series_row *)arg = *row;
    return 1;
}

/* Finds the series of the name that the client asks for, or the first one. Its id is 0 if there is none. */
static int find_member_series(struct request *r, const struct member_row *member, struct series_row *row,
                              struct error *err)
{
    const char *name = request_query(r, "name");

    *row = (struct series_row){0};
    if (name == NULL)
        return store_series_each(request_store(r), member->ensemble, member->index, "", take_first_series, row, err);
    if (store_series_get(request_store(r), member->ensemble, member->index, name, row, err) < 0)
        return -1;
    snprintf(row->name, sizeof row->name, "%s", name);
    return 0;
}

static int read_member_points_query(struct request *r, struct member_points_page *page, int64_t *limit,
                                    struct error *err)
{
    const char *cursor = request_query(r, "cursor");
    char rest;

    if (cursor != NULL && sscanf(cursor, "%18" SCNd64 "%c", &page->step, &rest) != 1)
        return error_set(err, "query_wrong_value",
                         "query parameter \"cursor\" must be the \"next\" of a page, not \"%.60s\"", cursor);
    return request_query_int(r, "limit", 1, 10000, limit, err);
}

void member_points_get(struct request *r)
{
    struct member_points_page page = {.points = json_array(), .step = INT64_MIN};
    struct ensemble_row ensemble;
    struct member_row member;
    struct series_row row;
    int64_t limit = 1000;
    char next[24];
    struct error err;

    if (find_member(r, &ensemble, &member) < 0) {
        json_decref(page.points);
        return;
    }
    if (read_member_points_query(r, &page, &limit, &err) < 0 || find_member_series(r, &member, &row, &err) < 0 ||
        store_series_each_point(request_store(r), &row, page.step, INT64_MAX, limit, add_member_point, &page, &err) <
            0) {
        json_decref(page.points);
        request_reply_problem(r, &err);
        return;
    }
    snprintf(next, sizeof next, "%" PRId64, page.step);
    request_reply_json(r, 200,
                       json_pack("{s:I, s:I, s:o, s:o, s:s?}", "ensemble", (json_int_t)ensemble.id, "member",
                                 (json_int_t)member.index, "name", value_text(row.name), "points", page.points, "next",
                                 (int64_t)json_array_size(page.points) == limit ? next : NULL));
}
