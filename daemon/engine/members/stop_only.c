#include "daemon/engine/members/stop_only.h"

#include "daemon/engine/members/cancel_member.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/spec/spec.h"
#include "daemon/store/rung.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double loss_of(const struct spec_stopping *stopping, double value)
{
    return !isfinite(value) ? INFINITY : stopping->more_is_better ? -value : value;
}

/* Sets the first value that is known at the step or beyond it: of points that were merged, only the first and the last
 * value are. */
static void set_value(struct arrival_row *row, const struct spec_stopping *stopping, const struct series_point *point,
                      int64_t step)
{
    bool first = point->step >= step;

    row->step = first ? point->step : point->last_step;
    row->value = first ? point->first : point->last;
    row->loss = loss_of(stopping, row->value);
}

/* Decides by asynchronous successive halving: the member runs on if it is among the best 1/reduction of those that have
 * arrived up to now, itself included. While these are none, it has to be the best. Values that are equal are as
 * good. */
static int arrive_by_halving(struct engine *engine, const struct spec_stopping *stopping, struct arrival_row *row,
                             bool *runs_on, struct error *err)
{
    struct arrival_row bar;
    int rc = store_arrival_add(engine->store, row, stopping->reduction, err);

    if (rc != 1)
        return rc;
    if (store_arrival_bar(engine->store, row->ensemble, row->rung, &bar, err) != 1)
        return -1;
    row->threshold = bar.value;
    *runs_on = isfinite(row->loss) && row->loss <= bar.loss;
    return 1;
}

/* Decides by the median: the member runs on unless its best value is worse than the median of the values with which
 * others have arrived up to now. */
static int arrive_by_median(struct engine *engine, const struct spec_stopping *stopping, struct arrival_row *row,
                            bool *runs_on, struct error *err)
{
    int64_t n = 0;
    double median = INFINITY;
    int rc;

    if (store_arrival_median(engine->store, row->ensemble, row->rung, &n, &median, err) < 0)
        return -1;
    rc = store_arrival_add(engine->store, row, stopping->reduction, err);
    row->threshold = n < stopping->min_members ? NAN : stopping->more_is_better ? -median : median;
    *runs_on = n < stopping->min_members || loss_of(stopping, row->best) <= median;
    return rc;
}

static void stop_member(struct engine *engine, struct live_job *job, struct slot *slot, const struct arrival_row *row)
{
    slot->order = SLOT_STOPPED;
    engine_event(engine, "member.stopped", row->ensemble, row->index,
                 json_pack("{s:I, s:I, s:I, s:o, s:o}", "rung", (json_int_t)row->rung, "step", (json_int_t)row->step,
                           "arrival", (json_int_t)row->number, "value",
                           isfinite(row->value) ? json_real(row->value) : json_null(), "threshold",
                           isfinite(row->threshold) ? json_real(row->threshold) : json_null()));
    cancel_member_stop(engine, job);
}

/* Lets the member arrive at the next rung of its attempt. Returns 0 or -1. */
static int arrive_at_rung(struct engine *engine, struct live_job *job, struct slot *slot,
                          const struct series_point *point, double best, struct error *err)
{
    const struct spec *spec = job->ensemble->spec;
    bool is_last = spec_rung_is_last(spec, slot->rung);
    struct arrival_row row = {
        .ensemble = job->row.ensemble, .rung = slot->rung, .index = slot->index, .attempt = slot->number};
    bool runs_on = true;
    int rc;

    set_value(&row, &spec->stopping, point, spec_rung_step(spec, slot->rung));
    row.best = best;
    rc = spec->stopping.rule == STOPPING_MEDIAN ? arrive_by_median(engine, &spec->stopping, &row, &runs_on, err)
                                                : arrive_by_halving(engine, &spec->stopping, &row, &runs_on, err);
    if (rc < 0)
        return -1;
    if (rc == 1 && !is_last) { /* otherwise the member has arrived there before, or nothing is decided */
        row.promoted = runs_on ? row.number : 0;
        if (store_arrival_decide(engine->store, &row, err) < 0)
            return -1;
        if (!runs_on) {
            stop_member(engine, job, slot, &row);
            return 0;
        }
    }
    slot->rung = is_last ? 0 : slot->rung + 1;
    return store_attempt_rung(engine->store, row.ensemble, row.index, row.attempt, slot->rung, err);
}

void stop_only_take(struct engine *engine, struct live_job *job, struct slot *slot, const struct series_point *point,
                    double best)
{
    const struct spec *spec = job->ensemble->spec;
    struct error err;

    while (slot->order == SLOT_TO_ITS_END && slot->rung > 0 && point->last_step >= spec_rung_step(spec, slot->rung)) {
        if (arrive_at_rung(engine, job, slot, point, best, &err) < 0) {
            store_doom(engine->store, &err);
            return;
        }
    }
}

/* Finds the arrival at which the attempt was stopped: 1, 0 or -1. */
static int find_stop(struct engine *engine, const struct live_job *job, const struct slot *slot,
                     struct arrival_row *row, struct error *err)
{
    int rc;

    if (!spec_stops_only(job->ensemble->spec) || slot->rung == 0)
        return 0;
    rc = store_arrival_last(engine->store, job->row.ensemble, slot->index, row, err);
    return rc == 1 ? row->rung == slot->rung && row->attempt == slot->number && row->promoted == 0 : rc;
}

int stop_only_asked(struct engine *engine, const struct live_job *job, const struct slot *slot, struct error *err)
{
    struct arrival_row row;

    return find_stop(engine, job, slot, &row, err);
}

void stop_only_tell(struct engine *engine, const struct live_job *job, const struct slot *slot, char *out, size_t size)
{
    const struct spec_stopping *stopping = &job->ensemble->spec->stopping;
    struct arrival_row row;
    struct error err;
    size_t len;

    if (find_stop(engine, job, slot, &row, &err) != 1)
        return;
    len = (size_t)snprintf(out, size, "stopped early at rung %lld, at step %lld: %s was ", (long long)row.rung,
                           (long long)row.step, stopping->metric);
    if (len >= size)
        return;
    if (!isfinite(stopping->rule == STOPPING_MEDIAN ? row.best : row.value))
        snprintf(out + len, size - len, "NaN or infinite");
    else if (stopping->rule == STOPPING_MEDIAN)
        snprintf(out + len, size - len, "%.6g at best, %s the median of the others, %.6g", row.best,
                 stopping->more_is_better ? "below" : "above", row.threshold);
    else
        snprintf(out + len, size - len, "%.6g, %s the threshold %.6g", row.value,
                 stopping->more_is_better ? "below" : "above", row.threshold);
}

void stop_only_notice(struct engine *engine, const struct live_job *job, const struct slot *slot, char *out,
                      size_t size)
{
    const struct spec *spec = job->ensemble->spec;
    size_t len = strlen(out);
    struct series_row series;
    struct error err;

    if (!spec_stops_only(spec) || slot->rung == 0 || len >= size ||
        store_series_get(engine->store, job->row.ensemble, slot->index, spec->stopping.metric, &series, &err) != 0)
        return;
    snprintf(out + len, size - len, "%sit reported no metric \"%s\", by which members are stopped early",
             len > 0 ? "; " : "", spec->stopping.metric);
}
