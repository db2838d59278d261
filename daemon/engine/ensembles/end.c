/* Ends an ensemble before its members have ended: the members, and their jobs under way, some in each turn. */
#include "daemon/engine/ensembles/end.h"

#include "common/log_changes.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/members/bulk.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/store/bulk.h"
#include "daemon/store/family.h"

#include <stdio.h>

/* Does the same as engine_stop_ensemble(), in the store, except for its members. `training` is NULL if there is
 * none. */
static int store_stopped(struct engine *engine, struct ensemble_row *row, struct training_row *training,
                         const char *reason, struct error *err)
{
    bool failed = reason[0] != '\0';

    if (row->root != 0 && row->next_index < row->count && store_handover_end(engine->store, row, err) < 0)
        return -1;
    row->state = failed ? ENSEMBLE_FAILED : ENSEMBLE_CANCELLED;
    row->ended_ms = engine_now(engine);
    snprintf(row->reason, sizeof row->reason, "%s", reason);
    if (store_ensemble_update(engine->store, row, err) < 0 || store_bulk_end_all(engine->store, row->id, err) < 0)
        return -1;
    if (failed) {
        engine_event(engine, "ensemble.failed", row->id, -1, json_pack("{s:s}", "reason", reason));
        log_change(LOG_LEVEL_WARN, LOG_ENSEMBLE(row->id), "ensemble %lld has failed: %s", (long long)row->id, reason);
    } else {
        engine_event(engine, "ensemble.cancelled", row->id, -1, NULL);
        log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(row->id), "ensemble %lld is cancelled", (long long)row->id);
    }
    ensemble_touch_waiting(engine);
    if (training == NULL || training->state != TRAINING_PENDING)
        return 0;
    training_row_event(training, LIFE_DROPPED);
    training->ended_ms = row->ended_ms;
    return store_training_update(engine->store, training, err);
}

void engine_stop_ensemble(struct engine *engine, struct live_ensemble *ens, const char *reason)
{
    struct error err;

    if (ensemble_is_over(&ens->row))
        return;
    if (store_stopped(engine, &ens->row, ens->training != NULL ? &ens->training->row : NULL, reason, &err) < 0 ||
        bulk_begin(engine, ens, &(struct bulk){.kind = BULK_CANCEL, .ensemble = ens->row.id}, &err) < 0)
        return; /* the turn is rolled back as a whole */
    ens->cancels.from = ens->jobs;
    engine_touch(engine, ens);
}

/* Cancels an ensemble whose adapter is not here: its members at once, however many, since nobody would come back to
 * them. The jobs that are under way are stopped once the adapter is back, by resume_cancels(). */
static int cancel_unattended(struct engine *engine, struct ensemble_row *row, struct error *err)
{
    struct training_row training;
    struct bulk bulk = {.kind = BULK_CANCEL, .ensemble = row->id};
    int rc = store_training_of(engine->store, row->id, &training, err);

    if (rc < 0 || store_stopped(engine, row, rc == 1 ? &training : NULL, "", err) < 0)
        return -1;
    while ((rc = bulk_change_members(engine, &bulk, SLICE_MAX, err)) == 1)
        ;
    return rc;
}

int engine_cancel(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err)
{
    struct live_ensemble *ens;

    if (engine_wake_up(engine, err) < 0)
        return -1;
    ens = engine_find_ensemble(engine, id);
    if (ens != NULL) {
        if (ensemble_is_stopped(&ens->row) &&
            ens->cancels.from == NULL) { /* once more: what is left of it is told so at once */
            ens->cancels.from = ens->jobs;
            engine_touch(engine, ens);
        }
        engine_stop_ensemble(engine, ens, "");
        engine_settle_for(engine, ens, row, NULL);
        return 0;
    }
    if (engine_stored_ensemble(engine, id, row, err) < 0)
        return -1;
    if (ensemble_is_over(row))
        return 0;
    if (engine_check_adapter(engine, row, err) < 0)
        return cancel_unattended(engine, row, err);
    return engine_open_ensemble(engine, id, &ens, err);
}
