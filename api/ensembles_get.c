#include "api/ensemble_json.h"
#include "api/find.h"
#include "api/handlers.h"

#include <inttypes.h>
#include <stdio.h>

/* Newest first; the cursor is the id below which the next page begins. */
struct listing {
    struct request *r;
    json_t *items;
    int64_t limit, last;
    bool more;
    struct error *err;
    bool failed;
};

static int add(void *arg, const struct ensemble_row *row)
{
    struct listing *l = arg;
    json_t *json;

    if ((int64_t)json_array_size(l->items) == l->limit) {
        l->more = true;
        return 1;
    }
    json = ensemble_json(l->r, row, l->err);
    if (json == NULL) {
        l->failed = true;
        return 1;
    }
    json_array_append_new(l->items, json);
    l->last = row->id;
    return 0;
}

void ensembles_get(struct request *r)
{
    struct error err;
    struct listing l = {.r = r, .limit = 100, .err = &err};
    int64_t before = 0;
    char cursor[24];

    if (request_query_int(r, "limit", 1, 1000, &l.limit, &err) < 0 ||
        request_query_int(r, "cursor", 1, INT64_MAX, &before, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    l.items = json_array();
    if (store_ensemble_each(request_store(r), before, (int)l.limit + 1, add, &l, &err) < 0 || l.failed) {
        json_decref(l.items);
        request_reply_problem(r, &err);
        return;
    }
    snprintf(cursor, sizeof cursor, "%" PRId64, l.last);
    request_reply_json(r, 200, json_pack("{s:o, s:s?}", "ensembles", l.items, "next", l.more ? cursor : NULL));
}
