/* Takes the next step of an ensemble: starts its training, enters it among those that want places, ends it. */
#include "daemon/engine/ensembles/dispatch.h"

#include "common/log_changes.h"
#include "common/stretto_assert.h"
#include "daemon/engine/ensembles/adopt.h"
#include "daemon/engine/ensembles/after.h"
#include "daemon/engine/ensembles/follow_up.h"
#include "daemon/engine/ensembles/pilot_wants.h"
#include "daemon/engine/ensembles/schedule.h"
#include "daemon/engine/jobs/cancel.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/trainings/early.h"
#include "daemon/engine/trainings/missing.h"
#include "daemon/engine/trainings/renew.h"
#include "daemon/engine/trainings/training_life.h"
#include "daemon/engine/trainings/training_tell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An ensemble that waits for another one looks again after this time, besides when an ensemble ends. */
#define AFTER_LOOK_MS 60000

/* Fails the ensemble for the reason in its row. `detail` is taken over. */
static void fail_ensemble(struct engine *engine, struct live_ensemble *ens, json_t *detail)
{
    struct error err;

    stretto_assert(!ensemble_is_over(&ens->row));
    ens->row.state = ENSEMBLE_FAILED;
    ens->row.ended_ms = engine_now(engine);
    store_ensemble_update(engine->store, &ens->row, &err);
    ensemble_touch_waiting(engine);
    log_change(LOG_LEVEL_WARN, LOG_ENSEMBLE(ens->row.id), "ensemble %lld has failed: %s", (long long)ens->row.id,
               ens->row.reason);
    engine_event(engine, "ensemble.failed", ens->row.id, -1, detail);
    ens->cancels.from = ens->jobs;
}

/* Fails the ensemble if its training lacks steps, whatever its members say. Returns whether it does. */
static bool fail_for_missing(struct engine *engine, struct live_ensemble *ens)
{
    json_t *missing;

    if (ens->training == NULL)
        return false;
    if (missing_steps(&ens->training->row, &missing) == 0) {
        json_decref(missing);
        return false;
    }
    missing_tell(missing, ens->row.reason, sizeof ens->row.reason);
    fail_ensemble(engine, ens, json_pack("{s:s, s:o}", "reason", ens->row.reason, "missing", missing));
    return true;
}

static void complete_ensemble(struct engine *engine, struct live_ensemble *ens, const int64_t tally[MEMBER_STATE_COUNT])
{
    struct ensemble_row *row = &ens->row;
    bool early = ensemble_ends_early(ens);
    int64_t failed = tally[MEMBER_FAILED];
    bool all_failed = failed > 0 && failed == row->count;
    struct error err;

    if (all_failed && (early || !ensemble_is_ending(row)))
        snprintf(row->reason, sizeof row->reason,
                 failed == 1 ? "its only member has failed" : "all %lld members have failed", (long long)failed);
    if (all_failed || (ensemble_is_ending(row) && !early)) {
        fail_ensemble(engine, ens, json_pack("{s:s}", "reason", row->reason));
        return;
    }
    if (fail_for_missing(engine, ens))
        return;
    if (early)
        early_tell(engine, ens, tally, row->reason, sizeof row->reason);
    stretto_assert(!ensemble_is_over(row) && ens->in_flight == 0);
    ens->row.state = ENSEMBLE_COMPLETE;
    ens->row.ended_ms = engine_now(engine);
    store_ensemble_update(engine->store, &ens->row, &err);
    engine_event(engine, "ensemble.complete", ens->row.id, -1,
                 early ? json_pack("{s:s}", "reason", row->reason) : NULL);
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(ens->row.id), "ensemble %lld is complete%s%s", (long long)ens->row.id,
               early ? ": " : "", row->reason);
    ens->cancels.from = ens->jobs; /* its allocations are given back */
    if (ens->spec->follows_up && !early)
        follow_up_auto(engine, ens);
    ensemble_touch_waiting(engine);
}

/* Cancels the jobs of an ensemble that is over. There may be thousands, so each turn cancels some. */
static void cancel_jobs(struct engine *engine, struct live_ensemble *ens)
{
    if (ens->cancels.from == NULL)
        return;
    for (int n = 0; ens->cancels.from != NULL && n < DISPATCH_MAX; n++) {
        struct live_job *job = ens->cancels.from;

        stretto_assert(job->ensemble == ens);
        ens->cancels.from = job->ens_next;
        job_cancel(engine, job);
    }
    if (ens->cancels.from != NULL)
        alarm_set(engine, &ens->due_alarm, engine_now(engine));
    cancel_gather(engine, ens, ens->cancels.from != NULL);
}

void dispatch_ensemble(struct engine *engine, struct live_ensemble *ens)
{
    int64_t now = engine_now(engine), tally[MEMBER_STATE_COUNT];

    if (after_look(engine, ens)) {
        alarm_set(engine, &ens->due_alarm, now + AFTER_LOOK_MS);
        return;
    }
    schedule_enter(engine, ens);
    if (ensemble_training_is_due(engine, ens) && schedule_may_train(engine, ens)) {
        training_start(engine, ens); /* touches the ensemble */
        schedule_enter(engine, ens); /* it waits no longer: from now on others leave room for the next one that does */
    }
    if (ens->row.state == ENSEMBLE_RUNNING && ens->in_flight < ens->row.width && ens->due > now)
        alarm_set(engine, &ens->due_alarm, ens->due);
    else
        alarm_set(engine, &ens->due_alarm, INT64_MAX); /* an attempt that ends, or a call, touches the ensemble */
    if (ensemble_ends_early(ens))
        early_stop_members(engine, ens);
    if (!ensemble_is_over(&ens->row) && ensemble_members_over(engine, ens, tally)) {
        if (ens->training == NULL || ens->training->row.state == TRAINING_DONE)
            complete_ensemble(engine, ens, tally);
        else
            training_members_over(engine, ens);
    }
    if (!ensemble_is_over(&ens->row)) {
        renew_stop_stale(engine, ens);
        if (ens->allocation != NULL)
            pilot_dispatch(engine, ens);
        cancel_release(engine, ens);
        return;
    }
    cancel_jobs(engine, ens);
    cancel_release(engine, ens);
    if (ens->jobs == NULL && !ens->bulk && (ens->training == NULL || training_is_over(&ens->training->row)))
        ensemble_drop(engine, ens);
}
