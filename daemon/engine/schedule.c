/* Gives the places of an adapter to ensembles.
 *
 * An adapter with a known number of CPU slots is given as many jobs as fill them, and a few more, which wait in its own
 * queue so that one starts the moment another ends. An adapter with max_jobs is given no more jobs of members than
 * that. Free slots go to the ensemble that has the least for its share, up to the width of each. So a small ensemble
 * that comes late gets its fair part as slots become free, nothing is stopped for it, and no slot stays free that any
 * of them could use.
 *
 * Trainings go before members, but must not make everything wait for everything: while trainings run, their members
 * must fit beside them, on whatever adapter these run, and no job may wait at the head of the adapter's queue that does
 * not fit. */
#include "daemon/engine/schedule.h"

#include "daemon/engine/adapter_state.h"
#include "daemon/engine/alarm.h"
#include "daemon/engine/core.h"
#include "daemon/engine/dispatch.h"
#include "daemon/engine/ensemble.h"
#include "daemon/engine/job.h"
#include "daemon/engine/pilot.h"
#include "daemon/engine/slot.h"
#include "daemon/engine/training.h"

#include <string.h>

#define AHEAD_MS 200 /* how much work waits in an adapter's queue: more than it takes to see an end and submit a job */
#define SHARE_UNIT 1000000

int64_t schedule_node_slots(const struct known_adapter *adapter)
{
    return adapter->ops->node_slots != NULL ? adapter->ops->node_slots(adapter->adapter) : 0;
}

/* Returns the CPU slots of the resources. Whole nodes count with all their slots. */
static int64_t cpus(const struct known_adapter *adapter, const struct adapter_resources *r)
{
    int64_t of_node = schedule_node_slots(adapter);

    return of_node > 0 ? r->nodes * of_node : (int64_t)r->copies * r->tasks * r->cpus_per_task;
}

/* Adds resources to a sum, in the form of one job that asks for all of them together. */
static void add(const struct known_adapter *adapter, struct adapter_resources *sum, const struct adapter_resources *r,
                int sign)
{
    sum->cpus_per_task = sum->copies = 1;
    sum->nodes = schedule_node_slots(adapter) > 0 ? sum->nodes + sign * r->nodes : 1;
    sum->tasks += sign * (int)cpus(adapter, r);
    sum->gpus += sign * r->gpus * r->copies;
    sum->memory += sign * r->memory * r->copies;
}

static bool fits(const struct known_adapter *adapter, const struct adapter_resources *sum)
{
    int64_t slots = adapter->ops->slots(adapter->adapter);
    struct error err;

    if (slots == 0 || schedule_node_slots(adapter) > 0) /* jobs on nodes of their own share only the number of nodes */
        return slots == 0 || sum->tasks <= slots;
    return adapter->ops->check(adapter->adapter, sum, &err) == 0;
}

bool schedule_fit_together(const struct known_adapter *adapter, const struct adapter_resources *a,
                           const struct adapter_resources *b)
{
    struct adapter_resources sum = {0};

    add(adapter, &sum, a, 1);
    add(adapter, &sum, b, 1);
    return fits(adapter, &sum);
}

static struct adapter_resources resources_of(const struct live_job *job)
{
    struct adapter_resources r;

    if (job->row.kind == JOB_PILOT)
        return pilot_resources_of(job);
    r = *job_resources(job);
    r.copies = (int)job->row.size;
    return r;
}

/* Returns the resources that the adapter is asked for to run members: those of a job, or of a pilot. */
static struct adapter_resources resources_for_members(const struct live_ensemble *ens)
{
    return ens->allocation != NULL ? pilot_resources(ens->adapter, ens->spec) : ens->spec->members.resources;
}

int64_t schedule_cpus_of(const struct live_job *job)
{
    struct adapter_resources r = resources_of(job);

    return cpus(job->adapter, &r);
}

void schedule_account(struct live_job *job, int sign)
{
    struct adapter_resources r = resources_of(job);
    struct known_adapter *adapter = job->adapter;

    if (job_is_inside(job)) /* its slots are counted with its pilot */
        return;
    adapter->slots.cpus += sign * cpus(adapter, &r);
    if (job->row.kind == JOB_TRAINING) {
        if (adapter->ops->slots(adapter->adapter) > 0)
            add(adapter, &adapter->slots.trainings, &r, sign);
    } else {
        adapter->slots.jobs += sign;
        job->ensemble->slots.cpus += sign * cpus(adapter, &r);
    }
    adapter->slots.dirty = true;
}

void schedule_note_run(struct live_job *job)
{
    int64_t *run_ms = job_is_inside(job) ? &job->ensemble->allocation->run_ms : &job->adapter->slots.run_ms;
    int64_t ms = job->row.ended_ms - job->row.started_ms;

    if (job->row.started_ms == 0)
        return;
    ms = ms < 1 ? 1 : ms;
    *run_ms = *run_ms == 0 ? ms : (7 * *run_ms + ms + 7) / 8;
}

/* Returns how many slots' worth of jobs may wait in the adapter's queue. Jobs run for hours or for milliseconds: no
 * slot should stay free between two jobs, but an ensemble that comes late should wait for few. */
static int64_t places_ahead(const struct known_adapter *adapter, int64_t slots)
{
    int64_t ahead = adapter->slots.run_ms ? slots * AHEAD_MS / adapter->slots.run_ms : 1, most = 2 * slots + 64;

    return ahead < 1 ? 1 : ahead > most ? most : ahead;
}

static bool has_place(struct engine *engine, struct known_adapter *adapter)
{
    int64_t slots = adapter->ops->slots(adapter->adapter);

    /* The last job may need more than the free slots: it waits at the head of the queue, where smaller jobs cannot
     * overtake it for ever. */
    return (slots == 0 || adapter->slots.cpus < slots + places_ahead(adapter, slots)) &&
           (adapter->max_jobs == 0 || adapter->slots.jobs < adapter->max_jobs) && adapter_takes_jobs(engine, adapter);
}

struct live_ensemble *schedule_next_to_train(const struct known_adapter *adapter)
{
    struct heap_node *first = heap_first(&adapter->slots.to_train);

    return first ? heap_entry(first, struct live_ensemble, slots.to_train) : NULL;
}

/* Returns whether members on another adapter than the training fit beside the trainings of others there. */
static bool members_fit_elsewhere(const struct live_ensemble *ens)
{
    struct adapter_resources members = resources_for_members(ens);

    return ens->adapter == ens->training->adapter || ens->adapter->slots.trainings.tasks == 0 ||
           schedule_fit_together(ens->adapter, &ens->adapter->slots.trainings, &members);
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
    add(adapter, &trainings, &ens->spec->training.resources, 1);
    if (!idle && !fits(adapter, &trainings))
        return false;
    for (struct live_ensemble *other = engine->ensembles; other != NULL; other = other->hh.next) {
        struct adapter_resources members = resources_for_members(other);
        bool streams = other->training != NULL && other->training->job != NULL;
        bool has_places = other->in_flight > 0 || (other->allocation != NULL && other->allocation->pilots != NULL);

        if (other->adapter == adapter && ((other == ens && !idle) || streams || has_places) &&
            !schedule_fit_together(adapter, &trainings, &members))
            return false;
    }
    return true;
}

bool schedule_fits_beside_trainings(const struct live_ensemble *ens)
{
    struct adapter_resources trainings = ens->adapter->slots.trainings, members = resources_for_members(ens);
    const struct live_ensemble *next = schedule_next_to_train(ens->adapter);

    if (ens->training != NULL) /* schedule_may_train() checked that when its training started */
        return true;
    if (next != NULL)
        add(ens->adapter, &trainings, &next->spec->training.resources, 1);
    return trainings.tasks == 0 || schedule_fit_together(ens->adapter, &trainings, &members);
}

/* Adds up the jobs on an adapter that are not being stopped. Returns how many of them count for max_jobs. */
static int64_t add_jobs(const struct engine *engine, const struct known_adapter *adapter, struct adapter_resources *sum)
{
    int64_t n = 0;

    for (const struct live_ensemble *ens = engine->ensembles; ens != NULL; ens = ens->hh.next) {
        for (const struct live_job *job = ens->jobs; job != NULL; job = job->ens_next) {
            struct adapter_resources r = resources_of(job);

            if (job->adapter != adapter || job_is_inside(job) || job->row.cancel || job->open == 0)
                continue;
            add(adapter, sum, &r, 1);
            n += job->row.kind != JOB_TRAINING;
        }
    }
    return n;
}

bool schedule_is_full(const struct engine *engine, const struct known_adapter *adapter,
                      const struct adapter_resources *more)
{
    struct adapter_resources sum = {0};

    if (adapter->ops->slots(adapter->adapter) == 0)
        return false;
    if (more != NULL)
        add(adapter, &sum, more, 1);
    add_jobs(engine, adapter, &sum);
    return !fits(adapter, &sum);
}

bool schedule_takes_no_members(const struct engine *engine, const struct live_ensemble *ens)
{
    const struct known_adapter *adapter = ens->adapter;
    struct adapter_resources sum = {0};

    add(adapter, &sum, &ens->spec->members.resources, 1);
    return (add_jobs(engine, adapter, &sum) >= adapter->max_jobs && adapter->max_jobs > 0) || !fits(adapter, &sum);
}

static void leave(struct live_ensemble *ens)
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

static void requeue(struct live_ensemble *ens, int64_t order)
{
    heap_set(&ens->adapter->slots.hungry, &ens->slots.hungry, ens->slots.cpus * SHARE_UNIT / ens->spec->share, order);
}

void schedule_enter(struct engine *engine, struct live_ensemble *ens)
{
    struct live_ensemble *first;

    if (ens->training != NULL)
        enter_trainings(engine, ens, dispatch_training_is_due(engine, ens));
    first = schedule_next_to_train(ens->adapter);
    /* The training that is next may have waited for the last job of this ensemble. It is touched only if it may start
     * now: otherwise it could touch this ensemble, and so on without end. */
    if (first != NULL && first != ens && ens->in_flight == 0 && schedule_may_train(engine, first))
        engine_touch(engine, first);
    if (ens->allocation != NULL || !dispatch_wants(ens, engine_now(engine))) { /* its pilots give out their own slots */
        leave(ens);
        return;
    }
    requeue(ens, ens->slots.hungry.tie);
    ens->adapter->slots.dirty = true;
}

void schedule_leave(struct engine *engine, struct live_ensemble *ens)
{
    enter_trainings(engine, ens, false);
    leave(ens);
}

static void schedule(struct engine *engine, struct known_adapter *adapter, int64_t now)
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
            leave(ens);
            continue;
        }
        n = dispatch_job(engine, ens, NULL, now);
        if (n < 0)
            return; /* the turn is rolled back, and memory rebuilt */
        engine->budget -= n;
        ens->slots.hungry.tie = ++engine->scheduled;
        if (n > 0 && dispatch_wants(ens, now)) {
            requeue(ens, ens->slots.hungry.tie);
            continue;
        }
        leave(ens);
        engine_touch(engine, ens); /* it may have no members left, or wait until some are due */
    }
}

void schedule_adapters(struct engine *engine)
{
    struct known_adapter *adapter, *next;
    int64_t now = engine_now(engine);

    HASH_ITER (hh, engine->adapters, adapter, next) {
        if (!adapter->slots.dirty)
            continue;
        adapter->slots.dirty = false;
        schedule(engine, adapter, now);
    }
}
