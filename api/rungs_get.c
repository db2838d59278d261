/* Early stopping: the rungs of an ensemble, and the members that have reached them, in the order in which they did. */
#include "api/rungs.h"

#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"
#include "daemon/store/rung.h"

#include <math.h>

/* Returns the spec of an ensemble with early stopping, to which *owned is to be destroyed; or NULL, and has replied. */
static const struct spec *find_early_spec(struct request *r, struct ensemble_row *ensemble, struct spec **owned)
{
    const struct spec *spec;
    struct error err;

    *owned = NULL;
    if (find_ensemble(r, ensemble) < 0)
        return NULL;
    spec = engine_spec(request_config(r)->engine, ensemble->id, owned, &err);
    if (spec == NULL) {
        request_reply_problem(r, &err);
        return NULL;
    }
    if (spec->stopping.rule != STOPPING_NONE)
        return spec;
    request_reply_error(r, "ensemble_not_stopping",
                        "members of ensemble %lld are not stopped early: its spec has no \"early_stopping\"",
                        (long long)ensemble->id);
    spec_destroy(*owned);
    return NULL;
}

static json_t *finite_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Returns how many members have ended at the rung, as far as nobody goes on from there. */
static int64_t stopped_at(const struct rung_row *row, bool is_last)
{
    return is_last ? 0 : row->arrived - row->promoted - row->cancelled;
}

static json_t *rung_json(const struct rung_row *row, int64_t step, bool is_last)
{
    json_t *best = row->arrived > 0 ? json_pack("{s:I, s:o}", "index", (json_int_t)row->best.index, "value",
                                                finite_or_null(row->best.value))
                                    : json_null();

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "rung", (json_int_t)row->number, "step", (json_int_t)step,
                     "arrived", (json_int_t)row->arrived, "promoted", (json_int_t)row->promoted, "stopped",
                     (json_int_t)stopped_at(row, is_last), "under_way", (json_int_t)row->under_way, "best", best);
}

void rungs_get(struct request *r)
{
    struct ensemble_row ensemble;
    struct spec *owned;
    const struct spec *spec = find_early_spec(r, &ensemble, &owned);
    json_t *list;
    struct error err;
    int rc = 0;

    if (spec == NULL)
        return;
    list = json_array();
    for (size_t i = 0; rc == 0 && i < spec->stopping.n; i++) {
        struct rung_row row;

        rc = store_rung_get(request_store(r), ensemble.id, (int64_t)i + 1, &row, &err);
        if (rc == 0)
            json_array_append_new(list, rung_json(&row, spec->stopping.steps[i], i + 1 == spec->stopping.n));
    }
    if (rc < 0) {
        json_decref(list);
        request_reply_problem(r, &err);
    } else {
        bool median = spec->stopping.rule == STOPPING_MEDIAN;

        request_reply_json(
            r, 200,
            json_pack("{s:s, s:s, s:s, s:I, s:o}", "rule", stopping_rule_name(spec->stopping.rule), "metric",
                      spec->stopping.metric, "goal", spec->stopping.more_is_better ? "max" : "min",
                      median ? "min_members" : "reduction",
                      (json_int_t)(median ? spec->stopping.min_members : spec->stopping.reduction), "rungs", list));
    }
    spec_destroy(owned);
}

int rungs_add(json_t *member, struct store *store, const struct spec *spec, int64_t ensemble, int64_t index,
              struct error *err)
{
    struct arrival_row last;
    int rc;

    if (spec->stopping.rule == STOPPING_NONE)
        return 0;
    rc = store_arrival_last(store, ensemble, index, &last, err);
    if (rc >= 0)
        json_object_set_new(member, "rung", rc == 1 ? json_integer(last.rung) : json_null());
    return rc < 0 ? -1 : 0;
}

struct arrivals {
    json_t *items;
    int64_t last;
};

static json_t *promoted_json(int64_t promoted)
{
    return promoted == 0                   ? json_null()
           : promoted == ARRIVAL_BY_HAND   ? json_string("by hand")
           : promoted == ARRIVAL_CANCELLED ? json_string("cancelled")
                                           : json_integer(promoted);
}

static int add_arrival(void *arg, const struct arrival_row *row)
{
    struct arrivals *arrivals = arg;

    json_array_append_new(arrivals->items,
                          json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "arrival", (json_int_t)row->number,
                                    "rung", (json_int_t)row->rung, "index", (json_int_t)row->index, "attempt",
                                    (json_int_t)row->attempt, "step", (json_int_t)row->step, "value",
                                    finite_or_null(row->value), "best", finite_or_null(row->best), "threshold",
                                    finite_or_null(row->threshold), "promoted", promoted_json(row->promoted)));
    arrivals->last = row->number;
    return 0;
}

void arrivals_get(struct request *r)
{
    struct ensemble_row ensemble;
    int64_t after = 0, limit = 100;
    struct spec *owned;
    struct arrivals arrivals;
    struct error err;

    if (request_query_int(r, "after", 0, INT64_MAX, &after, &err) < 0 ||
        request_query_int(r, "limit", 1, 1000, &limit, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (find_early_spec(r, &ensemble, &owned) == NULL)
        return;
    spec_destroy(owned);
    arrivals = (struct arrivals){json_array(), after};
    if (store_arrival_each(request_store(r), ensemble.id, after, (int)limit, add_arrival, &arrivals, &err) < 0) {
        json_decref(arrivals.items);
        request_reply_problem(r, &err);
        return;
    }
    request_reply_json(r, 200, json_pack("{s:o, s:I}", "arrivals", arrivals.items, "next", (json_int_t)arrivals.last));
}
