#include "api/state_changes.h"

#include "api/find.h"
#include "common/jsonx.h"
#include "daemon/store/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVENTS_MAX 4096  /* events that are looked at for one reply */
#define MEMBERS_MAX 8192 /* members of one reply; beyond that the states themselves are smaller */

/* Events are read in order. An event about one member has its index; a change of many members has one event for each
 * slice, which says what they became and between which indices they are. Members are reported in their present state,
 * since those that have changed again have a later event, too. */
struct changes {
    struct store *store;
    const struct ensemble_row *ensemble;
    json_t *members; /* states by index */
    int64_t looked_at, upto;
    bool more; /* there are events for another reply */
    bool too_many, failed;
    struct error *err;
};

static void put_member_state(struct changes *c, int64_t index, enum member_state state)
{
    char key[24];

    snprintf(key, sizeof key, "%" PRId64, index);
    json_object_set_new(c->members, key, json_string(member_state_name(state)));
}

static int put_row(void *arg, const struct member_row *row)
{
    struct changes *c = arg;

    put_member_state(c, row->index, row->state);
    return json_object_size(c->members) > MEMBERS_MAX;
}

static int put_changed_member(struct changes *c, int64_t index)
{
    struct member_row row;
    int rc = store_member_get(c->store, c->ensemble->id, index, &row, c->err);

    if (rc == 0 && c->ensemble->root == 0)
        put_member_state(c, index, find_rowless_state(c->ensemble));
    else if (rc == 1)
        put_member_state(c, index, row.state);
    return rc < 0 ? -1 : 0;
}

/* Adds the members between two indices, inclusive, that are in a state. */
static int put_slice(struct changes *c, int64_t from, int64_t to, enum member_state state)
{
    return store_member_each_between(c->store, c->ensemble->id, state, from, to, put_row, c, c->err);
}

/* Adds all members that were never tried. They change together with the ensemble. */
static void put_untried(struct changes *c)
{
    if (c->ensemble->root != 0)
        return;
    if (c->ensemble->count - c->ensemble->next_index > MEMBERS_MAX) {
        c->too_many = true;
        return;
    }
    for (int64_t index = c->ensemble->next_index; index < c->ensemble->count; index++)
        put_member_state(c, index, find_rowless_state(c->ensemble));
}

static int put_many(struct changes *c, const struct event_row *event)
{
    json_t *detail = event->detail != NULL ? json_loads(event->detail, 0, NULL) : NULL;
    json_int_t from, to;
    const char *name;
    enum member_state state;
    int rc = 0;

    if (json_unpack(detail, "{s:I, s:I, s:s}", "from", &from, "to", &to, "state", &name) == 0 &&
        member_state_parse(name, &state) == 0)
        rc = put_slice(c, from, to, state);
    json_decref(detail);
    return rc;
}

static bool is_end_of_ensemble(const char *kind)
{
    return strcmp(kind, "ensemble.cancelled") == 0 || strcmp(kind, "ensemble.ending") == 0 ||
           strcmp(kind, "ensemble.failed") == 0;
}

/* Returns non-zero when the reply is full. */
static int add_change(void *arg, const struct event_row *event)
{
    struct changes *c = arg;
    int rc = 0;

    if (c->looked_at++ == EVENTS_MAX || json_object_size(c->members) > MEMBERS_MAX / 2) {
        c->more = true;
        return 1;
    }
    if (event->index >= 0)
        rc = put_changed_member(c, event->index);
    else if (strcmp(event->kind, "members.changed") == 0)
        rc = put_many(c, event);
    else if (is_end_of_ensemble(event->kind))
        put_untried(c);
    c->failed = rc < 0;
    c->too_many = c->too_many || json_object_size(c->members) > MEMBERS_MAX;
    c->upto = event->id;
    return c->failed || c->too_many;
}

static int check_since(struct request *r, int64_t since, int64_t *newest, struct error *err)
{
    int64_t oldest;

    if (store_event_bounds(request_store(r), &oldest, newest, err) < 0)
        return -1;
    if (since > *newest)
        return error_set(err, "changes_not_kept", "there was no event %" PRId64 " yet: the newest is %" PRId64, since,
                         *newest);
    if (since < oldest - 1)
        return error_set(err, "changes_not_kept",
                         "the oldest event that is kept is %" PRId64 ": get the states themselves", oldest);
    return 0;
}

int state_changes_reply(struct request *r, const struct ensemble_row *ensemble, int64_t since, struct error *err)
{
    struct event_filter filter = {.ensemble = ensemble->id};
    struct changes c = {.store = request_store(r), .ensemble = ensemble, .members = json_object(), .err = err};
    int64_t newest;
    int rc = check_since(r, since, &newest, err);

    if (rc == 0)
        rc = store_event_each(c.store, since, newest, &filter, EVENTS_MAX + 1, add_change, &c, err);
    if (rc == 0 && c.too_many)
        rc = error_set(err, "changes_not_kept", "more than %d members have changed at once: get the states themselves",
                       MEMBERS_MAX);
    if (rc < 0 || c.failed) {
        json_decref(c.members);
        return -1;
    }
    request_reply_json(r, 200,
                       json_pack("{s:I, s:I, s:b, s:o}", "ensemble", (json_int_t)ensemble->id, "event",
                                 (json_int_t)(c.more ? c.upto : newest), "more", c.more, "members", c.members));
    return 0;
}
