#include "daemon/engine/elastic.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/alarm.h"
#include "daemon/engine/core.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/ensemble.h"
#include "daemon/engine/resize.h"
#include "daemon/engine/schedule.h"
#include "daemon/engine/training.h"
#include "daemon/engine/training_event.h"
#include "daemon/engine/training_resize.h"
#include "daemon/engine/waits.h"

#include <stdio.h>
#include <stdlib.h>

struct elastic *elastic_new(struct engine *engine, const struct live_ensemble *ens)
{
    struct elastic *elastic;
    struct error err;

    if (ens->training == NULL || (ens->spec->elastic.width.most == 0 && ens->spec->elastic.ranks.most == 0))
        return NULL;
    elastic = xcalloc(1, sizeof *elastic);
    if (store_elastic_get(engine->store, ens->row.id, &elastic->state.row, &err) >= 0) {
        int64_t ahead = elastic->state.row.changed_ms - engine_now(engine);

        if (ahead > 0) { /* the clock has been set back since */
            elastic->state.row.changed_ms -= ahead;
            elastic->state.row.until_ms -= ahead;
        }
        return elastic;
    }
    store_doom(engine->store, &err);
    free(elastic);
    return NULL;
}

void elastic_restart(struct live_ensemble *ens)
{
    if (ens->elastic == NULL)
        return;
    ens->elastic->waits = (struct waits){0};
    ens->elastic->state.in_row = 0;
}

int elastic_by_hand(struct engine *engine, struct live_ensemble *ens, enum elastic_knob knob, struct error *err)
{
    bool *by_hand;

    if (ens->elastic == NULL)
        return 0;
    by_hand = knob == ELASTIC_WIDTH ? &ens->elastic->state.row.width_by_hand : &ens->elastic->state.row.ranks_by_hand;
    if (*by_hand)
        return 0;
    *by_hand = true;
    return store_elastic_put(engine->store, &ens->elastic->state.row, err);
}

/* Returns whether places are free for more ranks, or can be made free by stopping members of this ensemble. */
static bool ranks_fit(struct engine *engine, const struct live_ensemble *ens)
{
    struct adapter_resources more = ens->spec->training.resources;

    more.copies = 1;
    return !schedule_is_full(engine, ens->training->adapter, &more) ||
           (ens->adapter == ens->training->adapter && ens->in_flight > 0);
}

/* Returns whether the measurement counts: members are sent and started as usual. */
static bool goes_on(const struct live_ensemble *ens)
{
    return ens->row.state == ENSEMBLE_RUNNING && !ensemble_is_ending(&ens->row) && !ens->bulk &&
           training_goes_on(ens->training);
}

static void explain(char *out, size_t size, const struct elastic_figures *f, enum elastic_need need)
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
static void change(struct engine *engine, struct live_ensemble *ens, const struct elastic_decision *decision,
                   const struct elastic_figures *f)
{
    struct elastic_row *row = &ens->elastic->state.row;
    bool ranks = decision->knob == ELASTIC_RANKS;
    const char *what = ranks ? "ranks" : "width";
    int64_t from = ranks ? f->ranks : f->width;
    struct error err;
    char why[128], by[200];
    int rc;

    explain(why, sizeof why, f, ens->elastic->state.need);
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

static double part(int64_t of, int64_t rest)
{
    return of > 0 ? (double)of / (double)(of + (rest > 0 ? rest : 0)) : 0;
}

static void decide(struct engine *engine, struct live_ensemble *ens, const struct elastic_draws *draws)
{
    struct elastic *elastic = ens->elastic;
    struct elastic_figures f = {
        .now_ms = engine_now(engine),
        .for_samples = elastic->waits.for_samples,
        .for_room = elastic->waits.for_room,
        .repeated = part(draws->repeats - elastic->before.repeats, draws->drawn - elastic->before.drawn),
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
        change(engine, ens, &decision, &f);
    if (decision.changed && store_elastic_put(engine->store, &elastic->state.row, &err) < 0)
        store_doom(engine->store, &err);
}

void elastic_note(struct engine *engine, struct live_ensemble *ens, const struct waits_sum *sum,
                  const struct elastic_draws *draws)
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
    case WAITS_MEASURED: decide(engine, ens, draws); break;
    }
    elastic->before = *draws;
}

bool engine_elastic(struct engine *engine, int64_t id, struct engine_elastic *out)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, id);
    const struct elastic_row *row;

    if (ens == NULL || ens->elastic == NULL)
        return false;
    row = &ens->elastic->state.row;
    *out = (struct engine_elastic){.limits = ens->spec->elastic,
                                   .width_by_hand = row->width_by_hand,
                                   .ranks_by_hand = row->ranks_by_hand,
                                   .changed_ms = row->changed_ms};
    text_copy(out->reason, sizeof out->reason, row->reason);
    return true;
}
