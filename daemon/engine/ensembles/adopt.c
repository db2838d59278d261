#include "daemon/engine/ensembles/adopt.h"

#include "common/log.h"
#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "daemon/engine/ensembles/guard.h"
#include "daemon/engine/ensembles/handover.h"
#include "daemon/engine/ensembles/schedule.h"
#include "daemon/engine/jobs/pilot_life.h"
#include "daemon/engine/members/bulk.h"
#include "daemon/engine/members/cancel_member.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/elastic.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/pilot.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/trainings/renew.h"
#include "daemon/engine/trainings/training_life.h"

#include <stdlib.h>
#include <utlist.h>

void ensemble_drop(struct engine *engine, struct live_ensemble *ens)
{
    stretto_assert(ens->jobs == NULL && (ens->allocation == NULL || ens->allocation->pilots == NULL));
    ensemble_answer(ens);
    HASH_DEL(engine->ensembles, ens);
    schedule_leave(engine, ens);
    alarm_set(engine, &ens->due_alarm, INT64_MAX);
    alarm_set(engine, &ens->take_over, INT64_MAX);
    alarm_set(engine, &ens->bulk_alarm, INT64_MAX);
    if (ens->touched.is)
        DL_DELETE2(engine->to_settle.ensembles, ens, touched.prev, touched.next);
    if (ens->unsaved)
        LL_DELETE2(engine->to_settle.saved, ens, next_unsaved);
    spec_destroy(ens->spec);
    training_free(engine, ens->training);
    allocation_free(engine, ens->allocation);
    free(ens->elastic);
    free(ens);
}

static void adopt_due(struct engine *engine, struct alarm *alarm)
{
    engine_touch(engine, heap_entry(alarm, struct live_ensemble, due_alarm));
}

static int adopt_training(struct engine *engine, struct training *training, int64_t ensemble)
{
    struct error err;
    int64_t now = engine_now(engine);

    if (store_training_of(engine->store, ensemble, &training->row, &err) != 1)
        return -1;
    training->began = training_began_with(&training->row);
    if (training->row.generation > 1 &&
        store_training_job(engine->store, &training->row, &training->made_for_it, &err) < 0)
        return -1;
    if (training->row.ended_ms > now &&
        training->row.not_before_ms > now + BACKOFF_MAX_MS) /* the clock has been set back */
        training->row.not_before_ms = now + BACKOFF_MAX_MS;
    training->ensemble->spec->training.resources.copies = (int)training->row.ranks;
    HASH_FIND_STR(engine->adapters, training->row.adapter, training->adapter);
    return training->adapter != NULL || training_is_over(&training->row) ? 0 : -1;
}

struct live_ensemble *ensemble_adopt(struct engine *engine, const struct ensemble_row *row, struct spec *spec)
{
    struct live_ensemble *ens;
    struct known_adapter *adapter;
    struct error err;

    HASH_FIND_STR(engine->adapters, row->adapter, adapter);
    if (adapter == NULL) {
        log_error_of(LOG_ENSEMBLE(row->id), "ensemble %lld: there is no adapter \"%s\" here; it is left alone",
                     (long long)row->id, row->adapter);
        spec_destroy(spec);
        return NULL;
    }
    ens = xcalloc(1, sizeof *ens);
    ens->row = *row;
    ens->spec = spec;
    ens->adapter = adapter;
    ens->due = row->next_index > 0 ? 0 : INT64_MAX; /* those that were tried are looked for */
    ens->due_alarm.ring = adopt_due;
    ens->take_over.ring = handover_go_on;
    ens->bulk_alarm.ring = bulk_work;
    if (spec->has_allocation)
        ens->allocation = allocation_new(ens);
    if (spec->has_training) {
        ens->training = training_new(ens);
        if (adopt_training(engine, ens->training, row->id) < 0) {
            training_free(engine, ens->training);
            spec_destroy(spec);
            free(ens);
            return NULL;
        }
        ens->elastic = elastic_new(engine, ens);
        renew_wait(engine, ens);
    }
    HASH_ADD(hh, engine->ensembles, row.id, sizeof ens->row.id, ens);
    if (row->root != 0 && row->next_index < row->count)
        alarm_set(engine, &ens->take_over, engine_now(engine));
    if (guard_init(engine, ens, &err) < 0 || bulk_resume(engine, ens, &err) < 0 ||
        cancel_member_load(engine, ens, &err) < 0)
        store_doom(engine->store, &err); /* it would be left half done */
    return ens;
}
