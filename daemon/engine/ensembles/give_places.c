/* Gives the places of an adapter to ensembles.
 *
 * An adapter with a known number of CPU slots gets as many jobs as fill them, and a few more. These wait in its own
 * queue, so that one starts the moment another ends. An adapter with max_jobs gets no more jobs of members than that.
 * Free slots go to the ensemble that has the least for its share, up to the width of each. So a small ensemble that
 * comes late gets its fair part as slots become free. Nothing is stopped for it, and no slot stays free that any of
 * them could use. */
#include "daemon/engine/ensembles/give_places.h"

#include "daemon/engine/ensembles/make_jobs.h"
#include "daemon/engine/ensembles/schedule.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"

#define AHEAD_MS 200 /* how much work waits in an adapter's queue: more than it takes to see an end and submit a job */

/* Returns how many slots' worth of jobs may wait in the adapter's queue. Jobs run for hours or for milliseconds: no
 * slot should stay free between two jobs, but an ensemble that comes late should wait for few. */
static int64_t slots_ahead(const struct known_adapter *adapter, int64_t slots)
{
    int64_t ahead = adapter->slots.run_ms ? slots * AHEAD_MS / adapter->slots.run_ms : 1, most = 2 * slots + 64;

    return ahead < 1 ? 1 : ahead > most ? most : ahead;
}

static bool has_place(struct engine *engine, struct known_adapter *adapter)
{
    int64_t slots = adapter->ops->slots(adapter->adapter);

    /* The last job may need more than the free slots: it waits at the head of the queue, where smaller jobs cannot
     * overtake it for ever. */
    return (slots == 0 || adapter->slots.cpus < slots + slots_ahead(adapter, slots)) &&
           (adapter->max_jobs == 0 || adapter->slots.jobs < adapter->max_jobs) && adapter_takes_jobs(engine, adapter);
}

static void give_to_hungry(struct engine *engine, struct known_adapter *adapter, int64_t now)
{
    struct heap_node *first;

    while ((first = heap_first(&adapter->slots.hungry)) != NULL && has_place(engine, adapter)) {
        struct live_ensemble *ens = heap_entry(first, struct live_ensemble, slots.hungry);
        int64_t n;

        if (engine->budget <= 0) { /* the rest is made after the next tick, which comes at once */
            engine->again = true;
            engine_wake_by(engine, now);
            return;
        }
        if (!schedule_fits_beside_trainings(ens)) { /* all ensembles are touched when that changes */
            schedule_leave_queue(ens);
            continue;
        }
        n = make_job(engine, ens, NULL, now);
        if (n < 0)
            return; /* the turn is rolled back, and memory rebuilt */
        engine->budget -= n;
        ens->slots.hungry.tie = ++engine->scheduled;
        if (n > 0 && ensemble_wants(ens, now)) {
            schedule_requeue(ens, ens->slots.hungry.tie);
            continue;
        }
        schedule_leave_queue(ens);
        engine_touch(engine, ens); /* it may have no members left, or wait until some are due */
    }
}

void give_places(struct engine *engine)
{
    struct known_adapter *adapter, *next;
    int64_t now = engine_now(engine);

    HASH_ITER (hh, engine->adapters, adapter, next) {
        if (!adapter->slots.dirty)
            continue;
        adapter->slots.dirty = false;
        give_to_hungry(engine, adapter, now);
    }
}
