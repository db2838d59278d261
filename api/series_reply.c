#include "api/series_reply.h"

#include "api/buckets.h"
#include "api/paced.h"
#include "api/value.h"
#include "common/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 2000     /* points that are read in one turn of the loop */
#define READ_MAX 20000 /* points that are read for one reply, except those of its last series */

/* Reads series by name. The cursor is the name of the series with which the next page begins. */
struct series_reading {
    struct paced_waiter waiter; /* must be first */
    struct request *r;
    const struct series_ops *ops;
    struct series_owner owner;
    int64_t from, to, n_buckets, limit;
    int64_t series, points;    /* that the reply has so far */
    bool only;                 /* the client asks for one series by its name */
    char *name;                /* the series that is being read, or the next one; NULL if there are no more */
    bool inside;               /* that series is being read */
    int64_t last_step;         /* of the series */
    struct series_place place; /* of the last point that was read */
    int64_t in_piece;
    struct buckets buckets;
    struct text text;
};

static void finish_series_reply(struct series_reading *reading, const struct error *err)
{
    if (err != NULL) {
        free(reading->text.data);
        request_reply_problem(reading->r, err);
    } else {
        text_string(&reading->text, "},\"next\":");
        if (reading->name != NULL)
            text_json_string(&reading->text, reading->name);
        else
            text_string(&reading->text, "null");
        text_string(&reading->text, "}\n");
        request_reply_text(reading->r, 200, "application/json", reading->text.data);
    }
    free(reading->name);
    free(reading);
}

static int take_series_name(void *arg, const char *name)
{
    struct series_reading *reading = arg;

    reading->name = xstrdup(name);
    return 1;
}

/* Finds the first series that is not before this name; it is read next. */
static int seek_series(struct series_reading *reading, const char *from, struct error *err)
{
    free(reading->name);
    reading->name = NULL;
    return reading->ops->each_name(request_store(reading->r), &reading->owner, from, take_series_name, reading, err);
}

static int begin_series(struct series_reading *reading, struct error *err)
{
    int64_t first = 0, last = 0;
    int rc = reading->ops->bounds(request_store(reading->r), &reading->owner, reading->name, reading->from, reading->to,
                                  &first, &last, err);

    if (rc < 0)
        return -1;
    text_string(&reading->text, reading->series++ > 0 ? "," : "");
    text_json_string(&reading->text, reading->name);
    if (reading->from > INT64_MIN)
        first = reading->from;
    if (reading->to < INT64_MAX)
        last = reading->to;
    buckets_init(&reading->buckets, &reading->text, first, rc == 1 ? last : first, reading->n_buckets);
    reading->buckets.of_member = reading->ops->of_member;
    text_add(&reading->text, ":{\"width\":%" PRIu64 ",\"buckets\":[", reading->buckets.width);
    reading->inside = true;
    reading->last_step = last;
    reading->place = (struct series_place){first, rc == 1 ? -1 : INT64_MAX};
    return 0;
}

static int add_point(void *arg, const struct series_point *point, int64_t rank)
{
    struct series_reading *reading = arg;

    buckets_add(&reading->buckets, point);
    reading->place = (struct series_place){point->step, rank};
    reading->in_piece++;
    return 0;
}

/* Ends a series after its last point, and finds the next one. */
static int end_series(struct series_reading *reading, struct error *err)
{
    char *next;
    int rc;

    buckets_end(&reading->buckets);
    text_string(&reading->text, "]}");
    reading->inside = false;
    if (reading->only) {
        free(reading->name);
        reading->name = NULL;
        return 0;
    }
    next = xasprintf("%s\x01", reading->name); /* no other name is between the two */
    rc = seek_series(reading, next, err);
    free(next);
    return rc;
}

static int read_series_piece(struct series_reading *reading, struct error *err)
{
    if (!reading->inside)
        return begin_series(reading, err);
    reading->in_piece = 0;
    if (reading->ops->each_point(request_store(reading->r), &reading->owner, reading->name, reading->place,
                                 reading->last_step, PIECE, add_point, reading, err) < 0)
        return -1;
    reading->points += reading->in_piece;
    return reading->in_piece < PIECE ? end_series(reading, err) : 0;
}

static bool is_series_page_full(const struct series_reading *reading)
{
    return !reading->inside &&
           (reading->name == NULL || reading->series == reading->limit || reading->points >= READ_MAX);
}

static void read_series_on_turn(struct paced_waiter *waiter, bool ending)
{
    struct series_reading *reading = (struct series_reading *)waiter;
    struct error err;

    if (ending || request_is_abandoned(reading->r)) {
        error_set(&err, "not_ready", "the daemon ends");
        finish_series_reply(reading, &err);
        return;
    }
    if (!is_series_page_full(reading) && read_series_piece(reading, &err) < 0)
        finish_series_reply(reading, &err);
    else if (is_series_page_full(reading))
        finish_series_reply(reading, NULL);
    else
        paced_wait(request_config(reading->r)->paced, waiter);
}

static int read_series_query(struct request *r, struct series_reading *reading, struct error *err)
{
    const char *only = request_query(r, "name"), *cursor = request_query(r, "cursor");

    if (only != NULL && cursor != NULL)
        return error_set(err, "query_wrong_value",
                         "query parameter \"cursor\" cannot be used with \"name\", which asks for one series");
    if (request_query_int(r, "from", 0, INT64_MAX, &reading->from, err) < 0 ||
        request_query_int(r, "to", 0, INT64_MAX, &reading->to, err) < 0 ||
        request_query_int(r, "buckets", 1, 10000, &reading->n_buckets, err) < 0 ||
        request_query_int(r, "limit", 1, 1000, &reading->limit, err) < 0)
        return -1;
    if (reading->from > reading->to)
        return error_set(err, "query_wrong_value", "query parameter \"from\" must not be above \"to\"");
    reading->only = only != NULL;
    if (seek_series(reading, only != NULL ? only : cursor != NULL ? cursor : "", err) < 0)
        return -1;
    if (only != NULL && reading->name != NULL && strcmp(reading->name, only) != 0) {
        free(reading->name);
        reading->name = NULL;
    }
    return 0;
}

void series_reply(struct request *r, const struct series_ops *ops, const struct series_owner *owner, const char *head)
{
    struct series_reading *reading = xcalloc(1, sizeof *reading);
    struct error err;

    *reading = (struct series_reading){.waiter.piece = read_series_on_turn,
                                       .r = r,
                                       .ops = ops,
                                       .owner = *owner,
                                       .from = INT64_MIN,
                                       .to = INT64_MAX,
                                       .n_buckets = 500,
                                       .limit = 100};
    request_hold(r);
    if (read_series_query(r, reading, &err) < 0) {
        finish_series_reply(reading, &err);
        return;
    }
    text_add(&reading->text, "{%s,\"series\":{", head);
    paced_wait(request_config(r)->paced, &reading->waiter);
}
