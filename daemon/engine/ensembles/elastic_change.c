#include "daemon/engine/ensembles/elastic_change.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "daemon/engine/ensembles/resize.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/elastic.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/places.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/engine/memory/waits.h"
#include "daemon/engine/trainings/training_resize.h"

#include <stdio.h>

/* Returns whether places are free for more ranks, or can be made free by stopping members of this ensemble. */
static bool ranks_fit(struct engine *engine, const struct live_ensemble *ens)
{
    struct adapter_resources more = ens->spec->training.resources;

    more.copies = 1;
    return !places_are_full(engine, ens->training->adapter, &more) ||
           (ens->adapter == ens->training->adapter && ens->in_flight > 0);
}

/* Returns whether the measurement counts: members are sent and started as usual. */
static bool goes_on(const struct live_ensemble *ens)
{
    return ens->row.state == ENSEMBLE_RUNNING && !ensemble_is_ending(&ens->row) && !ens->bulk &&
           training_goes_on(ens->training);
}

static void explain_need(char *out, size_t size, const struct elastic_figures *f, enum elastic_need need)
{
    if (need == ELASTIC_NEEDS_ROOM)
        snprintf(out, size, "its members waited for room in the buffer %.0f %% of the time", 100 * f->for_room);
    else if (f->for_samples >= WAITS_MANY)
        snprintf(out, size, "its training waited for samples %.0f %% of the time", 100 * f->for_samples);
    else
        snprintf(out, size, "%.0f %% of the samples that its training drew were drawn before", 100 * f->repeated);
}

/* Changes the width or the ranks as a user's call would. A change that is refused counts as one that was made, so that
 * it is tried again only after the pause. */
static void change_knob(struct engine *engine, struct live_ensemble *ens, const struct elastic_decision *decision,
                        const struct elastic_figures *f)
{
    struct elastic_row *row = &ens->elastic->state.row;
    bool ranks = decision->knob == ELASTIC_RANKS;
    const char *what = ranks ? "ranks" : "width";
    int64_t from = ranks ? f->ranks : f->width;
    struct error err;
    char why[128], by[200];
    int rc;

    explain_need(why, sizeof why, f, ens->elastic->state.need);
    snprintf(by, sizeof by, "by \"elastic\" in the spec, since %s", why);
    rc = ranks ? training_resize(engine, ens, decision->to, by, &err)
               : resize_width(engine, ens, decision->to, by, &err);
    if (rc < 0) {
        log_warn_of(LOG_ENSEMBLE(ens->row.id), "ensemble %lld: \"elastic\" cannot change %s from %lld to %lld: %s",
                    (long long)ens->row.id, what, (long long)from, (long long)decision->to, err.text);
        return;
    }
    snprintf(row->reason, sizeof row->reason, "%s %lld became %lld, since %s", what, (long long)from,
             (long long)decision->to, why);
    engine_event(engine, "ensemble.elastic", ens->row.id, -1,
                 json_pack("{s:s, s:I, s:I, s:s, s:f, s:f, s:f, s:I}", "knob", what, "from", (json_int_t)from, "to",
                           (json_int_t)decision->to, "reason", why, "for_samples", f->for_samples, "for_room",
                           f->for_room, "repeated", f->repeated, "running", (json_int_t)f->running));
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(ens->row.id), "ensemble %lld: %s", (long long)ens->row.id, row->reason);
}

static double part_of_all(int64_t of, int64_t rest)
{
    return of > 0 ? (double)of / (double)(of + (rest > 0 ? rest : 0)) : 0;
}

static void decide_change(struct engine *engine, struct live_ensemble *ens, const struct rank_draws *draws)
{
    struct elastic *elastic = ens->elastic;
    struct elastic_figures f = {
        .now_ms = engine_now(engine),
        .for_samples = elastic->waits.for_samples,
        .for_room = elastic->waits.for_room,
        .repeated = part_of_all(draws->repeats - elastic->before.repeats, draws->drawn - elastic->before.drawn),
        .width = ens->row.width,
        .ranks = ens->training->row.ranks,
        .in_flight = ens->in_flight,
        .ranks_fit = ranks_fit(engine, ens),
    };
    int64_t tally[MEMBER_STATE_COUNT];
    struct elastic_decision decision;
    struct error err;

    if (store_tally_get(engine->store, ens->row.id, tally, &err) < 0) {
        store_doom(engine->store, &err);
        return;
    }
    f.running = tally[MEMBER_RUNNING];
    f.pending = tally[MEMBER_PENDING];
    decision = elastic_decide(&ens->spec->elastic, &elastic->state, &f);
    if (decision.knob != ELASTIC_NOTHING)
        change_knob(engine, ens, &decision, &f);
    if (decision.changed && store_elastic_put(engine->store, &elastic->state.row, &err) < 0)
        store_doom(engine->store, &err);
}

void elastic_note(struct engine *engine, struct live_ensemble *ens, const struct waits_sum *sum,
                  const struct rank_draws *draws)
{
    struct elastic *elastic = ens->elastic;

    if (elastic == NULL)
        return;
    if (!goes_on(ens)) {
        elastic_restart(ens);
        return;
    }
    switch (
        waits_note(&elastic->waits, sum, (int)ens->training->row.ranks, (double)ens->spec->elastic.every_ms / 1000)) {
    case WAITS_GO_ON: return;
    case WAITS_BEGIN: elastic->state.in_row = 0; break;
    case WAITS_MEASURED: decide_change(engine, ens, draws); break;
    }
    elastic->before = *draws;
}
