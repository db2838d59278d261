#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"
#include "daemon/store/attempt.h"

#include <inttypes.h>
#include <stdio.h>

/* By index; the cursor is the index at which the next page begins. */
struct listing {
    struct store *store;
    const struct spec *spec;
    json_t *items;
    int64_t limit;
    int64_t next; /* -1: no more */
    bool failed;  /* with *err */
    struct error *err;
};

/* The latest attempt of a member; null where it had none. */
static json_t *last_attempt(struct listing *l, const struct member_row *row)
{
    struct attempt_row attempt;

    if (row->attempts == 0 || l->failed)
        return json_null();
    switch (store_attempt_get(l->store, row->ensemble, row->index, row->attempts, &attempt, l->err)) {
    case 1:
        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "host", value_text_or_null(attempt.host), "submitted",
                         value_time(attempt.submitted_ms), "started", value_time(attempt.started_ms), "ended",
                         value_time(attempt.ended_ms), "cpu_seconds", value_seconds(attempt.cpu_ms, attempt.measured), "memory_peak",
                         attempt.measured ? json_integer(attempt.memory_peak) : json_null());
    case 0:
        return json_null();
    default:
        l->failed = true;
        return json_null();
    }
}

/* Non-zero where the page is full. */
static int add(void *arg, const struct member_row *row)
{
    struct listing *l = arg;

    if ((int64_t)json_array_size(l->items) == l->limit) {
        l->next = row->index;
        return 1;
    }
    json_array_append_new(l->items,
                          json_pack("{s:I, s:o, s:I, s:o, s:o, s:o, s:o}", "index", (json_int_t)row->index, "state",
                                    value_text(member_state_name(row->state)), "attempts", (json_int_t)row->attempts,
                                    "reason", value_text_or_null(row->reason), "follow_up",
                                    row->heir != 0 ? json_integer(row->heir) : json_null(), "last_attempt",
                                    last_attempt(l, row), "parameters",
                                    value_or_null(params_at(l->spec->params, row->index))));
    return l->failed;
}

/* After those with a row come those without one; none in a follow-up. */
static void add_rowless(struct listing *l, const struct ensemble_row *ensemble, int64_t from)
{
    struct member_row row = {.ensemble = ensemble->id, .state = find_rowless_state(ensemble)};

    row.index = from > ensemble->next_index ? from : ensemble->next_index;
    while (row.index < ensemble->count && add(l, &row) == 0)
        row.index++;
}

static int read_query(struct request *r, struct listing *l, enum member_state *state, int64_t *from, struct error *err)
{
    const char *name = request_query(r, "state");

    if (name != NULL && member_state_parse(name, state) < 0)
        return error_set(err, "query_wrong_value",
                         "query parameter \"state\" must be pending, submitted, running, succeeded, failed, "
                         "unfinished or cancelled, not \"%.60s\"",
                         name);
    if (request_query_int(r, "limit", 1, 1000, &l->limit, err) < 0)
        return -1;
    return request_query_int(r, "cursor", 0, INT64_MAX, from, err);
}

void members_get(struct request *r)
{
    struct ensemble_row ensemble;
    struct error err;
    struct listing l = {.store = request_store(r), .limit = 100, .next = -1, .err = &err};
    enum member_state state = MEMBER_STATE_COUNT;
    struct spec *owned = NULL;
    int64_t from = 0;
    char cursor[24];

    if (find_ensemble(r, &ensemble) < 0)
        return;
    if (read_query(r, &l, &state, &from, &err) < 0)
        goto fail;
    l.spec = engine_spec(request_config(r)->engine, ensemble.id, &owned, &err);
    if (l.spec == NULL)
        goto fail;
    l.items = json_array();
    if (store_member_each(request_store(r), ensemble.id, state, from, (int)l.limit + 1, add, &l, &err) < 0 || l.failed)
        goto fail;
    if (l.next < 0 && ensemble.root == 0 && (state == MEMBER_STATE_COUNT || state == find_rowless_state(&ensemble)))
        add_rowless(&l, &ensemble, from);
    snprintf(cursor, sizeof cursor, "%" PRId64, l.next);
    request_reply_json(r, 200, json_pack("{s:o, s:s?}", "members", l.items, "next", l.next >= 0 ? cursor : NULL));
    spec_destroy(owned);
    return;
fail:
    json_decref(l.items);
    spec_destroy(owned);
    request_reply_problem(r, &err);
}
