#include "api/find.h"
#include "api/handlers.h"
#include "api/series_reply.h"

#include <inttypes.h>
#include <stdio.h>

struct member_series_call {
    union {
        int (*name)(void *arg, const char *name);
        int (*point)(void *arg, const struct series_point *point, int64_t rank);
    } each;
    void *arg;
};

static int tell_name(void *arg, const struct series_row *row)
{
    const struct member_series_call *to = arg;

    return to->each.name(to->arg, row->name);
}

static int each_member_series_name(struct store *store, const struct series_owner *owner, const char *from,
                                   int (*each)(void *arg, const char *name), void *arg, struct error *err)
{
    return store_series_each(store, owner->id, owner->index, from, tell_name,
                             &(struct member_series_call){.each.name = each, .arg = arg}, err);
}

static int member_series_bounds(struct store *store, const struct series_owner *owner, const char *name, int64_t from,
                                int64_t to, int64_t *first, int64_t *last, struct error *err)
{
    struct series_row row;
    int rc = store_series_get(store, owner->id, owner->index, name, &row, err);

    return rc == 1 ? store_series_bounds(store, &row, from, to, first, last, err) : rc;
}

static int tell_point(void *arg, const struct series_point *point)
{
    const struct member_series_call *to = arg;

    return to->each.point(to->arg, point, 0);
}

static int each_member_series_point(struct store *store, const struct series_owner *owner, const char *name,
                                    struct series_place after, int64_t to, int64_t limit,
                                    int (*each)(void *arg, const struct series_point *point, int64_t rank), void *arg,
                                    struct error *err)
{
    struct series_row row;
    int rc = store_series_get(store, owner->id, owner->index, name, &row, err);

    if (rc != 1)
        return rc;
    return store_series_each_point(store, &row, after.rank < 0 ? after.step - 1 : after.step, to, limit, tell_point,
                                   &(struct member_series_call){.each.point = each, .arg = arg}, err);
}

void member_metrics_get(struct request *r)
{
    static const struct series_ops ops = {.of_member = true,
                                          .each_name = each_member_series_name,
                                          .bounds = member_series_bounds,
                                          .each_point = each_member_series_point};
    struct ensemble_row ensemble;
    struct member_row member;
    char head[80];

    if (find_member(r, &ensemble, &member) < 0)
        return;
    snprintf(head, sizeof head, "\"ensemble\":%" PRId64 ",\"member\":%" PRId64, ensemble.id, member.index);
    series_reply(r, &ops, &(struct series_owner){.id = ensemble.id, .index = member.index}, head);
}
