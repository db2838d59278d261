#include "api/find.h"
#include "api/handlers.h"
#include "api/series_reply.h"

#include <inttypes.h>
#include <stdio.h>

static int each_training_metric_name(struct store *store, const struct series_owner *owner, const char *from,
                                     int (*each)(void *arg, const char *name), void *arg, struct error *err)
{
    return store_metric_each_name(store, owner->id, from, each, arg, err);
}

static int training_metric_bounds(struct store *store, const struct series_owner *owner, const char *name, int64_t from,
                                  int64_t to, int64_t *first, int64_t *last, struct error *err)
{
    return store_metric_bounds(store, owner->id, name, from, to, first, last, err);
}

struct training_point_call {
    int (*each)(void *arg, const struct series_point *point, int64_t rank);
    void *arg;
};

static int pass_training_point(void *arg, const struct metric_point *point)
{
    const struct training_point_call *to = arg;
    struct series_point one = series_point_of(point->step, point->time_ms, 0, point->value, 0);

    return to->each(to->arg, &one, point->rank);
}

static int each_training_point(struct store *store, const struct series_owner *owner, const char *name,
                               struct series_place after, int64_t to, int64_t limit,
                               int (*each)(void *arg, const struct series_point *point, int64_t rank), void *arg,
                               struct error *err)
{
    return store_metric_each(store, owner->id, name, after.step, after.rank, to, limit, pass_training_point,
                             &(struct training_point_call){each, arg}, err);
}

void training_metrics_get(struct request *r)
{
    static const struct series_ops ops = {
        .each_name = each_training_metric_name, .bounds = training_metric_bounds, .each_point = each_training_point};
    struct training_row training;
    char head[40];

    if (find_training(r, &training) < 0)
        return;
    snprintf(head, sizeof head, "\"training\":%" PRId64, training.id);
    series_reply(r, &ops, &(struct series_owner){.id = training.id}, head);
}
