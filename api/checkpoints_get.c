#include "api/checkpoint_json.h"
#include "api/find.h"
#include "api/handlers.h"

#include <inttypes.h>
#include <stdio.h>

/* Lists checkpoints by ensemble, member and number. The cursor has those of the first one on the next page. */
struct listing {
    struct request *r;
    json_t *items;
    int64_t limit;
    char next[72];
};

/* Returns non-zero when the page is full. */
static int add(void *arg, const struct member_checkpoint_row *row)
{
    struct listing *l = arg;

    if ((int64_t)json_array_size(l->items) == l->limit) {
        snprintf(l->next, sizeof l->next, "%" PRId64 ".%" PRId64 ".%" PRId64, row->home, row->index, row->number);
        return 1;
    }
    json_array_append_new(l->items, checkpoint_json(l->r, row));
    return 0;
}

static int read_query(struct request *r, int64_t *ensemble, int64_t *member, int64_t *limit,
                      struct member_checkpoint_place *from, struct error *err)
{
    const char *cursor = request_query(r, "cursor");
    int end = 0;

    if (request_query_int(r, "ensemble", 1, INT64_MAX, ensemble, err) < 0 ||
        request_query_int(r, "member", 0, INT64_MAX, member, err) < 0 ||
        request_query_int(r, "limit", 1, 1000, limit, err) < 0)
        return -1;
    if (*member >= 0 && *ensemble == 0)
        return error_set(err, "query_wrong_value", "query parameter \"member\" needs \"ensemble\": whose member it is");
    if (cursor != NULL && (sscanf(cursor, "%18" SCNd64 ".%18" SCNd64 ".%18" SCNd64 "%n", &from->home, &from->index,
                                  &from->number, &end) != 3 ||
                           cursor[end] != '\0' || from->home < 0 || from->index < 0 || from->number < 0))
        return error_set(err, "query_wrong_value", "query parameter \"cursor\" must be the \"next\" of another page");
    return 0;
}

/* Replaces *ensemble by the first one of its family, under which checkpoints are stored. */
static int to_root(struct request *r, int64_t *ensemble, struct error *err)
{
    struct ensemble_row row;

    if (*ensemble == 0)
        return 0;
    if (find_named_ensemble(r, *ensemble, &row, err) < 0)
        return -1;
    *ensemble = ensemble_root(&row);
    return 0;
}

void checkpoints_get(struct request *r)
{
    struct listing l = {.r = r, .limit = 100};
    struct member_checkpoint_place from = {0};
    int64_t ensemble = 0, member = -1;
    struct error err;

    l.items = json_array();
    if (read_query(r, &ensemble, &member, &l.limit, &from, &err) < 0 || to_root(r, &ensemble, &err) < 0 ||
        store_member_checkpoint_each(request_store(r), &from, ensemble, member, (int)l.limit + 1, add, &l, &err) < 0) {
        json_decref(l.items);
        request_reply_problem(r, &err);
        return;
    }
    request_reply_json(r, 200, json_pack("{s:o, s:s?}", "checkpoints", l.items, "next", l.next[0] ? l.next : NULL));
}
