#include "daemon/engine/members/rungs.h"

#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/spec/spec.h"
#include "daemon/store/attempt.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/rung.h"
#include "daemon/store/series.h"

#include <math.h>

int rungs_next(struct engine *engine, const struct live_ensemble *ens, int64_t index, int64_t *rung, struct error *err)
{
    *rung = 0;
    if (ens->spec->stopping.rule == STOPPING_NONE)
        return 0;
    if (store_arrival_next_rung(engine->store, ens->row.id, index, rung, err) < 0)
        return store_doom(engine->store, err);
    if ((size_t)*rung > ens->spec->stopping.n) /* one that has ended is tried once more */
        *rung = (int64_t)ens->spec->stopping.n;
    return 0;
}

static int take_rung_point(void *arg, const struct series_point *point)
{
    struct attempt_end *out = arg;

    out->at_rung = true;
    out->rung_step = point->step;
    out->rung_value = point->count == 1 ? point->last : point->first;
    return 1;
}

int rungs_judge(struct engine *engine, const struct live_job *job, const struct slot *slot, struct attempt_end *out,
                struct error *err)
{
    const struct spec *spec = job->ensemble->spec;
    int64_t step = spec_rung_until(spec, slot->rung);
    struct series_row series;
    int rc, known;

    if (step == 0 || out->at_rung || (out->outcome != ATTEMPT_REACHED && out->outcome != ATTEMPT_SUCCEEDED))
        return 0;
    rc = known = store_series_get(engine->store, job->row.ensemble, slot->index, spec->stopping.metric, &series, err);
    if (known == 1 && series.attempt != slot->number)
        rc = store_series_each_point(engine->store, &series, step - 1, INT64_MAX, 1, take_rung_point, out, err);
    if (rc < 0)
        return store_doom(engine->store, err);
    if (out->outcome != ATTEMPT_REACHED || out->at_rung)
        return 0;
    out->at_rung = true; /* the point is lost: the last one before it counts */
    out->rung_step = known == 1 ? series.step : step;
    out->rung_value = known == 1 ? series.last : NAN;
    return 0;
}

static int promote_member(struct engine *engine, struct live_ensemble *ens, const struct arrival_row *arrival,
                          int64_t by, struct error *err)
{
    struct member_row member;
    int64_t to = arrival->rung + 1;

    if (store_arrival_promote(engine->store, arrival, by, err) < 0)
        return -1;
    if (store_member_get(engine->store, ens->row.id, arrival->index, &member, err) != 1)
        return store_doom(engine->store, err);
    if (member.state != MEMBER_STOPPED)
        return 0;
    member.state = MEMBER_PENDING;
    member.reason[0] = '\0';
    member.losses = member.stalls = 0;
    member.not_before_ms = 0;
    member.rung = to;
    if (store_member_change(engine->store, &member, err) < 0)
        return -1;
    if (member.not_before_ms < ens->due)
        ens->due = member.not_before_ms;
    engine_event(engine, "member.promoted", ens->row.id, arrival->index,
                 json_pack("{s:I, s:I, s:I}", "rung", (json_int_t)to, "step", (json_int_t)spec_rung_step(ens->spec, to),
                           "arrival", (json_int_t)by));
    return 0;
}

/* Promotes the members that may be promoted now, from the highest rung down. */
static int promote_all(struct engine *engine, struct live_ensemble *ens, int64_t by, struct error *err)
{
    struct arrival_row arrival;

    for (int64_t rung = (int64_t)ens->spec->stopping.n - 1; rung > 0; rung--) {
        int rc;

        while ((rc = store_arrival_promotable(engine->store, ens->row.id, rung, &arrival, err)) == 1)
            if (promote_member(engine, ens, &arrival, by, err) < 0)
                return -1;
        if (rc < 0)
            return store_doom(engine->store, err);
    }
    return 0;
}

void rungs_arrive(struct engine *engine, const struct live_job *job, const struct slot *slot,
                  const struct attempt_end *out, enum member_state state)
{
    struct live_ensemble *ens = job->ensemble;
    const struct spec_stopping *stopping = &ens->spec->stopping;
    bool is_there = state == MEMBER_STOPPED || (state == MEMBER_SUCCEEDED && spec_rung_is_last(ens->spec, slot->rung));
    struct arrival_row row = {.ensemble = ens->row.id,
                              .rung = slot->rung,
                              .index = slot->index,
                              .attempt = slot->number,
                              .step = out->rung_step,
                              .value = out->rung_value};
    struct error err;
    int rc;

    if (spec_rung_until(ens->spec, slot->rung) == 0 || !out->at_rung || !is_there)
        return;
    row.loss = !isfinite(row.value) ? INFINITY : stopping->more_is_better ? -row.value : row.value;
    rc = store_arrival_add(engine->store, &row, stopping->reduction, &err);
    if (rc < 0)
        store_doom(engine->store, &err);
    if (rc == 1 && !ensemble_is_ending(&ens->row)) /* one that is ending starts no more */
        promote_all(engine, ens, row.number, &err);
}
