/* Lists members by index or sorted, all or those that a filter lets through. If it has to look at each member, it looks
 * at some in each turn of the loop. */
#include "api/find.h"
#include "api/handlers.h"
#include "api/member_filter.h"
#include "api/member_sort.h"
#include "api/paced.h"
#include "api/rungs.h"
#include "api/series_json.h"
#include "api/value.h"
#include "common/xalloc.h"
#include "daemon/spec/needs.h"
#include "daemon/store/attempt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NAMED_MAX 500

/* Lists by index. The cursor is the index at which the next page begins. */
struct member_listing {
    struct paced_waiter waiter; /* must be first */
    struct request *r;
    struct store *store;
    struct ensemble_row ensemble;
    struct member_filter *filter;
    const char *metrics;      /* the names of those that are asked for; NULL: none */
    struct member_sort *sort; /* NULL if the list goes by index */
    const struct spec *spec;  /* valid in this turn */
    struct spec *owned;
    json_t *items;
    int64_t limit, at, end; /* at: the next index to look at; end: one past the last */
    int64_t next;           /* -1 if there are no more */
    bool failed;            /* *err says why */
    struct error *err;
};

/* Returns the latest attempt of a member, or null if it had none. */
static json_t *last_attempt(struct member_listing *l, const struct member_row *row)
{
    struct attempt_row attempt;

    if (row->attempts == 0 || l->failed)
        return json_null();
    switch (store_attempt_get(l->store, row->ensemble, row->index, row->attempts, &attempt, l->err)) {
    case 1:
        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "outcome",
                         value_text_or_null(attempt_outcome_name(attempt.end.outcome)), "host",
                         value_text_or_null(attempt.end.host), "submitted", value_time(attempt.submitted_ms), "started",
                         value_time(attempt.end.started_ms), "ended", value_time(attempt.end.ended_ms), "cpu_seconds",
                         value_seconds(attempt.end.cpu_ms, attempt.end.measured), "memory_peak",
                         attempt.end.measured ? json_integer(attempt.end.memory_peak) : json_null());
    case 0: return json_null();
    default: l->failed = true; return json_null();
    }
}

/* Returns non-zero when the page is full. */
static int list_member(void *arg, const struct member_row *row)
{
    struct member_listing *l = arg;
    json_t *member, *parameters, *needs;

    if ((int64_t)json_array_size(l->items) == l->limit) {
        l->next = row->index;
        return 1;
    }
    parameters = params_at(l->spec->params, row->index);
    needs = needs_json(l->spec, parameters);
    member = json_pack("{s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "index", (json_int_t)row->index, "state",
                       value_text(member_state_name(row->state)), "attempts", (json_int_t)row->attempts, "reason",
                       value_text_or_null(row->reason), "retry_at", value_time(find_retry_ms(l->r, row)), "progress",
                       value_real(row->progress), "follow_up",
                       row->successor != 0 ? json_integer(row->successor) : json_null(), "last_attempt",
                       last_attempt(l, row), "parameters", value_or_null(parameters));
    if (needs != NULL)
        json_object_set_new(member, "resources", needs);
    json_array_append_new(l->items, member);
    if (!l->failed && rungs_add(member, l->store, l->spec, row->ensemble, row->index, l->err) < 0)
        l->failed = true;
    if (l->metrics != NULL && !l->failed &&
        series_json_add(member, l->store, row->ensemble, row->index, l->metrics, l->err) < 0)
        l->failed = true;
    return l->failed;
}

/* Adds members without a row, which come after those with one. A follow-up has none. */
static void add_rowless(struct member_listing *l, const struct ensemble_row *ensemble, int64_t from)
{
    struct member_row row = find_rowless(ensemble, 0);

    row.index = from > ensemble->next_index ? from : ensemble->next_index;
    while (row.index < ensemble->count && list_member(l, &row) == 0)
        row.index++;
}

static json_t *members_cursor_json(const struct member_listing *l)
{
    if (l->sort != NULL)
        return member_sort_next(l->sort);
    return l->next >= 0 ? json_sprintf("%" PRId64, l->next) : json_null();
}

static void reply_members(struct member_listing *l, const struct error *err)
{
    struct request *r = l->r;

    if (err != NULL)
        request_reply_problem(r, err);
    else
        request_reply_json(r, 200, json_pack("{s:O, s:o}", "members", l->items, "next", members_cursor_json(l)));
    json_decref(l->items);
    member_sort_destroy(l->sort);
    member_filter_destroy(l->filter);
    spec_destroy(l->owned);
    free(l);
}

/* Finds the members by the store's index of states, without looking at each of them. */
static int list_simply(struct member_listing *l, enum member_state state, struct error *err)
{
    if (store_member_each(l->store, l->ensemble.id, state, l->at, (int)l->limit + 1, list_member, l, err) < 0 ||
        l->failed)
        return -1;
    if (l->next < 0 && l->ensemble.root == 0 &&
        (state == MEMBER_STATE_COUNT || state == find_rowless_state(&l->ensemble)))
        add_rowless(l, &l->ensemble, l->at);
    return l->failed ? -1 : 0;
}

static int add_member(struct member_listing *l, int64_t index, struct error *err)
{
    struct member_row row;
    int rc = store_member_get(l->store, l->ensemble.id, index, &row, err);

    if (rc == 0)
        row = find_rowless(&l->ensemble, index);
    if (rc >= 0 && (rc == 1 || l->ensemble.root == 0))
        list_member(l, &row);
    return rc < 0 || l->failed ? -1 : 0;
}

/* Looks at the next members, as many as one turn allows. */
static int search_piece(struct member_listing *l, struct error *err)
{
    int64_t from = l->at, end = l->end - from < MEMBER_FILTER_PIECE ? l->end : from + MEMBER_FILTER_PIECE;
    unsigned char states[MEMBER_FILTER_PIECE];

    if (from >= l->end)
        return 0;
    l->spec = engine_spec_again(request_config(l->r)->engine, l->ensemble.id, &l->owned, err);
    if (l->spec == NULL || member_filter_look(l->filter, from, end, states, err) < 0)
        return -1;
    if (l->sort != NULL) {
        l->at = end;
        return member_sort_look(l->sort, from, end, states, err);
    }
    for (; l->at < end && l->next < 0; l->at++)
        if (states[l->at - from] != MEMBER_FILTER_NONE && add_member(l, l->at, err) < 0)
            return -1;
    return 0;
}

/* Adds the members of a sorted page, once all have been looked at. */
static int add_sorted(struct member_listing *l, struct error *err)
{
    int64_t index;

    for (int64_t n = 0; l->sort != NULL && (index = member_sort_nth(l->sort, n)) >= 0; n++)
        if (add_member(l, index, err) < 0)
            return -1;
    return 0;
}

/* Returns whether all that the page can have was looked at. Members behind next_index were never tried. */
static bool has_looked(const struct member_listing *l)
{
    return l->next >= 0 || l->at >= l->end ||
           (l->sort != NULL && l->ensemble.root == 0 && l->at >= l->ensemble.next_index &&
            member_sort_is_full(l->sort, l->at));
}

static void list_members_on_turn(struct paced_waiter *waiter, bool ending)
{
    struct member_listing *l = (struct member_listing *)waiter;
    struct error err;

    l->err = &err;
    if (ending || request_is_abandoned(l->r) || request_is_orphan(l->r)) {
        error_set(&err, "not_ready", "the daemon ends, or nobody waits for the answer any more");
        reply_members(l, &err);
    } else if (search_piece(l, &err) < 0)
        reply_members(l, &err);
    else if (has_looked(l))
        reply_members(l, add_sorted(l, &err) < 0 ? &err : NULL);
    else
        paced_wait(request_config(l->r)->paced, waiter);
}

/* Lists the members of the query in the order in which it names them. */
static int list_named(struct member_listing *l, const char *text, struct error *err)
{
    int64_t places = find_places(l->r, &l->ensemble, err);

    if (places < 0)
        return -1;
    for (int n = 0;; n++) {
        char *rest;
        long long index = strtoll(text, &rest, 10);

        if (*text < '0' || *text > '9' || (*rest != ',' && *rest != '\0') || index >= places || n == NAMED_MAX)
            return error_set(err, "query_wrong_value",
                             "query parameter \"index\" must be up to %d indices below %" PRId64 " with commas",
                             NAMED_MAX, places);
        if (add_member(l, index, err) < 0)
            return -1;
        if (*rest == '\0')
            return 0;
        text = rest + 1;
    }
}

static int read_members_query(struct member_listing *l, struct error *err)
{
    int64_t first;

    if (request_query_int(l->r, "limit", 1, 1000, &l->limit, err) < 0 ||
        member_sort_create(l->r, &l->ensemble, l->limit, &l->sort, err) < 0 ||
        (l->sort == NULL && request_query_int(l->r, "cursor", 0, INT64_MAX, &l->at, err) < 0))
        return -1;
    l->filter = member_filter_create(l->r, &l->ensemble, err);
    if (l->filter == NULL)
        return -1;
    member_filter_span(l->filter, &first, &l->end);
    l->at = l->at < first ? first : l->at;
    l->spec = engine_spec_again(request_config(l->r)->engine, l->ensemble.id, &l->owned, err);
    return l->spec == NULL ? -1 : 0;
}

void members_get(struct request *r)
{
    const char *named = request_query(r, "index");
    struct ensemble_row ensemble;
    enum member_state state;
    struct member_listing *l;
    struct error err;
    int rc;

    if (find_ensemble(r, &ensemble) < 0)
        return;
    l = xcalloc(1, sizeof *l);
    *l = (struct member_listing){.waiter.piece = list_members_on_turn,
                                 .r = r,
                                 .store = request_store(r),
                                 .ensemble = ensemble,
                                 .metrics = request_query(r, "metrics"),
                                 .items = json_array(),
                                 .limit = 100,
                                 .next = -1,
                                 .err = &err};
    rc = read_members_query(l, &err);
    if (rc == 0 && named != NULL) {
        l->limit = NAMED_MAX;
        rc = list_named(l, named, &err);
    } else if (rc == 0 && (l->sort != NULL || !member_filter_is_simple(l->filter, &state))) {
        request_hold(r);
        paced_wait(request_config(r)->paced, &l->waiter);
        return;
    } else if (rc == 0)
        rc = list_simply(l, state, &err);
    reply_members(l, rc < 0 ? &err : NULL);
}
