#include "api/checkpoint_json.h"
#include "api/find.h"
#include "api/handlers.h"

#include <inttypes.h>
#include <stdio.h>

/* Lists checkpoints: those of members by ensemble, member and number, then those of trainings by training and number.
 * The cursor has the numbers of the first one on the next page, with a "t" in front of those of a training. */
struct checkpoint_page {
    struct request *r;
    json_t *items;
    int64_t limit;
    char next[72];
};

/* The question of a request: its filters, and where the page begins. */
struct checkpoint_query {
    int64_t ensemble, member, training; /* 0 for any, -1 for any member */
    bool in_trainings;                  /* the page begins with a checkpoint of a training */
    struct member_checkpoint_place from;
    int64_t from_training, from_number;
};

static bool is_checkpoint_page_full(const struct checkpoint_page *l)
{
    return (int64_t)json_array_size(l->items) == l->limit;
}

/* Both return non-zero when the page is full. */
static int add_of_member(void *arg, const struct member_checkpoint_row *row)
{
    struct checkpoint_page *l = arg;

    if (is_checkpoint_page_full(l)) {
        snprintf(l->next, sizeof l->next, "%" PRId64 ".%" PRId64 ".%" PRId64, row->home, row->index, row->number);
        return 1;
    }
    json_array_append_new(l->items, checkpoint_json(l->r, row));
    return 0;
}

static int add_of_training(void *arg, const struct training_checkpoint_row *row)
{
    struct checkpoint_page *l = arg;

    if (is_checkpoint_page_full(l)) {
        snprintf(l->next, sizeof l->next, "t%" PRId64 ".%" PRId64, row->training, row->number);
        return 1;
    }
    json_array_append_new(l->items, training_checkpoint_json(l->r, row));
    return 0;
}

static bool read_checkpoint_cursor(struct checkpoint_query *q, const char *cursor)
{
    int end = 0;

    q->in_trainings = cursor[0] == 't';
    if (q->in_trainings)
        return sscanf(cursor, "t%18" SCNd64 ".%18" SCNd64 "%n", &q->from_training, &q->from_number, &end) == 2 &&
               cursor[end] == '\0' && q->from_training >= 0 && q->from_number >= 0;
    return sscanf(cursor, "%18" SCNd64 ".%18" SCNd64 ".%18" SCNd64 "%n", &q->from.home, &q->from.index, &q->from.number,
                  &end) == 3 &&
           cursor[end] == '\0' && q->from.home >= 0 && q->from.index >= 0 && q->from.number >= 0;
}

static int read_checkpoint_query(struct request *r, struct checkpoint_query *q, int64_t *limit, struct error *err)
{
    const char *cursor = request_query(r, "cursor");

    if (request_query_int(r, "ensemble", 1, INT64_MAX, &q->ensemble, err) < 0 ||
        request_query_int(r, "member", 0, INT64_MAX, &q->member, err) < 0 ||
        request_query_int(r, "training", 1, INT64_MAX, &q->training, err) < 0 ||
        request_query_int(r, "limit", 1, 1000, limit, err) < 0)
        return -1;
    if (q->member >= 0 && q->ensemble == 0)
        return error_set(err, "query_wrong_value", "query parameter \"member\" needs \"ensemble\": whose member it is");
    if (q->training != 0 && q->ensemble != 0)
        return error_set(err, "query_wrong_value", "query parameters \"training\" and \"ensemble\" exclude each other");
    if (cursor != NULL && !read_checkpoint_cursor(q, cursor))
        return error_set(err, "query_wrong_value", "query parameter \"cursor\" must be the \"next\" of another page");
    return 0;
}

static int check_training_exists(struct request *r, int64_t id, struct error *err)
{
    struct training_row row;
    int rc = store_training_get(request_store(r), id, &row, err);

    if (rc == 0)
        error_set(err, "training_not_found", "there is no training %" PRId64, id);
    return rc == 1 ? 0 : -1;
}

static int list_of_members(struct checkpoint_page *l, const struct checkpoint_query *q, struct error *err)
{
    struct ensemble_row row;
    int64_t home = 0;

    if (q->training != 0 || q->in_trainings)
        return 0;
    if (q->ensemble != 0) { /* they are stored under the first ensemble of the family */
        if (find_named_ensemble(l->r, q->ensemble, &row, err) < 0)
            return -1;
        home = ensemble_root(&row);
    }
    return store_member_checkpoint_each(request_store(l->r), &q->from, home, q->member, (int)l->limit + 1,
                                        add_of_member, l, err);
}

static int list_of_trainings(struct checkpoint_page *l, const struct checkpoint_query *q, struct error *err)
{
    struct training_row row = {.id = q->training};
    int rc = 1;

    if (l->next[0] != '\0' || q->member >= 0)
        return 0;
    if (q->ensemble != 0)
        rc = store_training_of(request_store(l->r), q->ensemble, &row, err);
    if (rc != 1)
        return rc;
    return store_training_checkpoint_each(request_store(l->r), row.id, q->from_training, q->from_number,
                                          (int)l->limit + 1, add_of_training, l, err);
}

void checkpoints_get(struct request *r)
{
    struct checkpoint_page l = {.r = r, .limit = 100};
    struct checkpoint_query q = {.member = -1};
    struct error err;

    l.items = json_array();
    if (read_checkpoint_query(r, &q, &l.limit, &err) < 0 ||
        (q.training != 0 && check_training_exists(r, q.training, &err) < 0) || list_of_members(&l, &q, &err) < 0 ||
        list_of_trainings(&l, &q, &err) < 0) {
        json_decref(l.items);
        request_reply_problem(r, &err);
        return;
    }
    request_reply_json(r, 200, json_pack("{s:o, s:s?}", "checkpoints", l.items, "next", l.next[0] ? l.next : NULL));
}
