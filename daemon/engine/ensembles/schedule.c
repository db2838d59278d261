/* Decides which ensembles want places of an adapter, and which training is the next to start. Trainings go before
 * members, but must not make everything wait for everything. While trainings run, their members must fit beside them,
 * on whatever adapter these run. No job that does not fit may wait at the head of the adapter's queue. */
#include "daemon/engine/ensembles/schedule.h"

#include "common/stretto_assert.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/pilot.h"
#include "daemon/engine/memory/pilot_size.h"
#include "daemon/engine/memory/places.h"
#include "daemon/engine/memory/training.h"

#include <string.h>

#define SHARE_UNIT 1000000

struct live_ensemble *schedule_next_to_train(const struct known_adapter *adapter)
{
    struct heap_node *first = heap_first(&adapter->slots.to_train);

    return first ? heap_entry(first, struct live_ensemble, slots.to_train) : NULL;
}

/* Returns whether members on another adapter than the training fit beside the trainings of others there. */
static bool members_fit_elsewhere(const struct live_ensemble *ens)
{
    struct adapter_resources members = pilot_or_members(ens);

    return ens->adapter == ens->training->adapter || ens->adapter->slots.trainings.tasks == 0 ||
           places_fit_together(ens->adapter, &ens->adapter->slots.trainings, &members);
}

bool schedule_may_train(struct engine *engine, struct live_ensemble *ens)
{
    const struct known_adapter *adapter = ens->training->adapter;
    struct adapter_resources trainings = adapter->slots.trainings;
    bool idle = trainings.tasks == 0 && adapter->slots.cpus == 0; /* the training and its members fit then */

    if (schedule_next_to_train(adapter) != ens)
        return false;
    if (!members_fit_elsewhere(ens))
        return false;
    if (!adapter_takes_jobs(engine, ens->training->adapter) || !adapter_takes_jobs(engine, ens->adapter))
        return false;
    places_add(adapter, &trainings, &ens->spec->training.resources, 1);
    if (!idle && !places_fit(adapter, &trainings))
        return false;
    for (struct live_ensemble *other = engine->ensembles; other != NULL; other = other->hh.next) {
        struct adapter_resources members = pilot_or_members(other);
        bool streams = other->training != NULL && other->training->job != NULL;
        bool has_places = other->in_flight > 0 || (other->allocation != NULL && other->allocation->pilots != NULL);

        if (other->adapter == adapter && ((other == ens && !idle) || streams || has_places) &&
            !places_fit_together(adapter, &trainings, &members))
            return false;
    }
    return true;
}

bool schedule_fits_beside_trainings(const struct live_ensemble *ens)
{
    struct adapter_resources trainings = ens->adapter->slots.trainings, members = pilot_or_members(ens);
    const struct live_ensemble *next = schedule_next_to_train(ens->adapter);

    if (ens->training != NULL) /* schedule_may_train() checked that when its training started */
        return true;
    if (next != NULL)
        places_add(ens->adapter, &trainings, &next->spec->training.resources, 1);
    return trainings.tasks == 0 || places_fit_together(ens->adapter, &trainings, &members);
}

void schedule_leave_queue(struct live_ensemble *ens)
{
    heap_remove(&ens->adapter->slots.hungry, &ens->slots.hungry);
}

/* Notes whether an ensemble waits for its training to start. If that changes which training is the next, all ensembles
 * are touched, since what they may do depends on it. */
static void enter_trainings(struct engine *engine, struct live_ensemble *ens, bool waits)
{
    struct known_adapter *adapter;
    struct live_ensemble *first;

    if (waits == heap_holds(&ens->slots.to_train))
        return;
    adapter = ens->training->adapter;
    first = schedule_next_to_train(adapter);
    if (waits)
        heap_set(&adapter->slots.to_train, &ens->slots.to_train, ens->row.id, 0);
    else
        heap_remove(&adapter->slots.to_train, &ens->slots.to_train);
    if (schedule_next_to_train(adapter) != first)
        engine_touch_all(engine, adapter);
}

void schedule_requeue(struct live_ensemble *ens, int64_t order)
{
    stretto_assert(ens->slots.cpus >= 0 && ens->spec->share > 0);
    heap_set(&ens->adapter->slots.hungry, &ens->slots.hungry, ens->slots.cpus * SHARE_UNIT / ens->spec->share, order);
}

void schedule_enter(struct engine *engine, struct live_ensemble *ens)
{
    struct live_ensemble *first;

    if (ens->training != NULL)
        enter_trainings(engine, ens, ensemble_training_is_due(engine, ens));
    first = schedule_next_to_train(ens->adapter);
    /* The training that is next may have waited for the last job of this ensemble. It is touched only if it may start
     * now: otherwise it could touch this ensemble, and so on without end. */
    if (first != NULL && first != ens && ens->in_flight == 0 && schedule_may_train(engine, first))
        engine_touch(engine, first);
    if (ens->allocation != NULL || !ensemble_wants(ens, engine_now(engine))) { /* its pilots give out their own slots */
        schedule_leave_queue(ens);
        return;
    }
    schedule_requeue(ens, ens->slots.hungry.tie);
    ens->adapter->slots.dirty = true;
}

void schedule_leave(struct engine *engine, struct live_ensemble *ens)
{
    enter_trainings(engine, ens, false);
    schedule_leave_queue(ens);
}
