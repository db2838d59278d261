#include "api/handlers.h"
#include "api/request.h"
#include "api/session.h"

#include <inttypes.h>
#include <stdio.h>

/* Newest first; the cursor is the id below which the next page begins. */
struct listing {
    json_t *items;
    int64_t limit, last;
    bool more;
};

static int add(void *arg, const struct session_row *row)
{
    struct listing *l = arg;

    if ((int64_t)json_array_size(l->items) == l->limit) {
        l->more = true;
        return 1;
    }
    json_array_append_new(l->items, session_json(row));
    l->last = row->id;
    return 0;
}

void sessions_get(struct request *r)
{
    struct error err;
    struct listing l = {.limit = 100};
    int64_t before = 0;
    char cursor[24];

    if (request_query_int(r, "limit", 1, 1000, &l.limit, &err) < 0 ||
        request_query_int(r, "cursor", 1, INT64_MAX, &before, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    l.items = json_array();
    if (store_session_each(request_store(r), before, (int)l.limit + 1, request_now_ms(r), add, &l, &err) < 0) {
        json_decref(l.items);
        request_reply_problem(r, &err);
        return;
    }
    snprintf(cursor, sizeof cursor, "%" PRId64, l.last);
    request_reply_json(r, 200, json_pack("{s:o, s:s?}", "sessions", l.items, "next", l.more ? cursor : NULL));
}
