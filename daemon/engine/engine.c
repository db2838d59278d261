#include "daemon/engine/engine.h"

#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/jobs/adapter_jobs.h"
#include "daemon/engine/jobs/pilot_journal.h"
#include "daemon/engine/jobs/poll.h"
#include "daemon/engine/jobs/save.h"
#include "daemon/engine/load.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/polls.h"
#include "daemon/engine/settle.h"
#include "daemon/engine/trainings/ranks.h"

#include <stdlib.h>
#include <string.h>

#define CLOCK_STEP_MS 10000
#define REST_FIRST_MS 250 /* between a failed commit and the next try, then doubled */
#define REST_MAX_MS 10000

static const struct engine_steps steps = {
    .load = engine_load,
    .settle = settle,
};

struct engine *engine_create(const struct engine_ports *ports, struct store *store, struct turn *turn)
{
    struct engine *engine = xcalloc(1, sizeof *engine);

    engine->ports = *ports;
    engine->steps = &steps;
    engine->store = store;
    engine->turn = turn;
    engine->clock.wake_at = INT64_MAX;
    engine->budget = DISPATCH_MAX;
    engine->slice = SLICE_MAX;
    engine->save.ring = save_due;
    engine->clock.offset = ports->wall_ms(ports->arg) - ports->steady_ms(ports->arg);
    return engine;
}

void engine_destroy(struct engine *engine)
{
    struct known_adapter *adapter, *next;

    if (engine == NULL)
        return;
    engine_forget(engine);
    HASH_ITER (hh, engine->adapters, adapter, next) {
        HASH_DEL(engine->adapters, adapter);
        heap_fini(&adapter->slots.hungry);
        heap_fini(&adapter->slots.to_train);
        free(adapter);
    }
    heap_fini(&engine->alarms);
    free(engine);
}

void engine_add_adapter(struct engine *engine, const struct adapter_ops *ops, struct adapter *adapter, int64_t max_jobs)
{
    struct known_adapter *known = xcalloc(1, sizeof *known);

    known->ops = ops;
    known->adapter = adapter;
    known->max_jobs = max_jobs;
    poll_init(known);
    adapter_state_init(known);
    adapter_jobs_init(known);
    HASH_ADD_KEYPTR(hh, engine->adapters, ops->name, strlen(ops->name), known);
}

void engine_count(const struct engine *engine, size_t *ensembles, size_t *jobs)
{
    *ensembles = HASH_COUNT(engine->ensembles);
    *jobs = HASH_COUNT(engine->jobs);
}

void engine_rest(struct engine *engine)
{
    int64_t now = engine_now(engine);

    if (now - engine->rest.at > 2 * REST_MAX_MS)
        engine->rest.ms = 0;
    engine->rest.ms = engine->rest.ms == 0 ? REST_FIRST_MS : 2 * engine->rest.ms;
    if (engine->rest.ms > REST_MAX_MS)
        engine->rest.ms = REST_MAX_MS;
    engine->rest.at = now;
    engine_forget(engine);
    engine->resting = true;
    engine_wake_by(engine, now + engine->rest.ms);
}

void engine_look(struct engine *engine, const char *name, enum engine_look what)
{
    struct live_job *job = engine_find_job_named(engine, name);

    if (job == NULL)
        return;
    if (what == ENGINE_LOOK_RECORDS && job->pilot != NULL)
        pilot_look(engine, job->pilot);
    if (what == ENGINE_LOOK_RECORDS && (job->pilot == NULL || !job->found.started)) {
        job->found.look = true;
        job_touch(engine, job);
    } else if (job->row.kind == JOB_TRAINING) {
        training_look(engine, job->ensemble);
    }
    engine_settle(engine);
}

void engine_stop(struct engine *engine)
{
    save_all(engine, INT64_MAX);
    engine_forget(engine);
    engine->ports.wake_in(engine->ports.arg, INT64_MAX);
}

void engine_poke(struct engine *engine, const struct adapter *adapter)
{
    struct known_adapter *known = engine_known_adapter(engine, adapter);

    if (known != NULL)
        poll_soon(engine, known);
}

static void engine_end_rest(struct engine *engine, int64_t now)
{
    struct error err;

    if (engine->rest.at + engine->rest.ms > now) {
        engine_wake_by(engine, engine->rest.at + engine->rest.ms);
        return;
    }
    if (engine_load(engine, &err) < 0) {
        log_error("the state cannot be read: %s", err.text);
        engine_rest(engine);
    }
}

static void look_for_room(struct engine *engine)
{
    engine->waits_for_room = false;
    if (!engine_has_room(engine))
        return;
    for (struct live_ensemble *ens = engine->ensembles; ens != NULL; ens = ens->hh.next)
        engine_touch(engine, ens);
    engine->again = true;
}

/* Notices that the clock was set, or that the machine slept. All times in memory are by the clock of before, so memory
 * is loaded again, and the batch systems are asked for their jobs. A small step forward is followed without that; a
 * small step back is left alone. Returns false if memory cannot be loaded. */
static bool follow_clock(struct engine *engine)
{
    int64_t by = engine->ports.wall_ms(engine->ports.arg) - engine_now(engine);
    struct known_adapter *adapter, *next;
    struct error err;

    if (by > -CLOCK_STEP_MS && by < CLOCK_STEP_MS) {
        engine->clock.offset += by > 0 ? by : 0;
        return true;
    }
    if (by < 0)
        log_warn("the clock was set back by %lld s: what is under way is looked at anew", (long long)(-by / 1000));
    else
        log_warn("the clock was set forward by %lld s, or this machine slept: what is under way is looked at anew",
                 (long long)(by / 1000));
    save_all(engine, INT64_MAX);
    engine->clock.offset += by;
    engine->rest.at += by;
    HASH_ITER (hh, engine->adapters, adapter, next)
        adapter_shift_times(adapter, by);
    if (engine->resting || engine_load(engine, &err) == 0)
        return true;
    log_error("the state cannot be read: %s", err.text);
    engine_rest(engine);
    return false;
}

void engine_tick(struct engine *engine)
{
    struct known_adapter *adapter, *next;
    int64_t now;

    engine->clock.wake_at = INT64_MAX;
    if (!follow_clock(engine))
        return;
    now = engine_now(engine);
    if (engine->resting) {
        engine_end_rest(engine, now);
        return;
    }
    engine->budget = DISPATCH_MAX;
    if (engine->waits_for_room)
        look_for_room(engine);
    if (engine->again) {
        engine->again = false;
        HASH_ITER (hh, engine->adapters, adapter, next)
            adapter->slots.dirty = true;
    }
    alarm_ring_due(engine, now);
    engine_settle(engine);
}
