#include "daemon/engine/memory/places.h"

#include "common/stretto_assert.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/pilot.h"
#include "daemon/engine/memory/slot.h"
#include "scheduler-adapters/adapter.h"

int64_t places_of_node(const struct known_adapter *adapter)
{
    return adapter->ops->node_slots != NULL ? adapter->ops->node_slots(adapter->adapter) : 0;
}

/* Returns the CPU slots of the resources. Whole nodes count with all their slots; an adapter that has slots, and does
 * not count them by nodes, is one machine. */
static int64_t cpu_slots(const struct known_adapter *adapter, const struct adapter_resources *r)
{
    int64_t of_node = places_of_node(adapter), slots = adapter->ops->slots(adapter->adapter);

    if (of_node > 0)
        return r->nodes * of_node;
    return r->whole_nodes && slots > 0 ? slots : (int64_t)r->copies * r->tasks * r->cpus_per_task;
}

/* Adds resources to a sum, in the form of one job that asks for all of them together. */
void places_add(const struct known_adapter *adapter, struct adapter_resources *sum, const struct adapter_resources *r,
                int sign)
{
    sum->cpus_per_task = sum->copies = 1;
    sum->nodes = places_of_node(adapter) > 0 ? sum->nodes + sign * r->nodes : 1;
    sum->tasks += sign * (int)cpu_slots(adapter, r);
    sum->gpus += sign * r->gpus * r->copies;
    sum->memory += sign * r->memory * r->copies;
}

bool places_fit(const struct known_adapter *adapter, const struct adapter_resources *sum)
{
    int64_t slots = adapter->ops->slots(adapter->adapter);
    struct error err;

    if (slots == 0 || places_of_node(adapter) > 0) /* jobs on nodes of their own share only the number of nodes */
        return slots == 0 || sum->tasks <= slots;
    return adapter->ops->check(adapter->adapter, sum, &err) == 0;
}

bool places_fit_together(const struct known_adapter *adapter, const struct adapter_resources *a,
                         const struct adapter_resources *b)
{
    struct adapter_resources sum = {0};

    places_add(adapter, &sum, a, 1);
    places_add(adapter, &sum, b, 1);
    return places_fit(adapter, &sum);
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

int64_t places_cpus_of(const struct live_job *job)
{
    struct adapter_resources r = resources_of(job);

    return cpu_slots(job->adapter, &r);
}

void places_account(struct live_job *job, int sign)
{
    struct adapter_resources r = resources_of(job);
    struct known_adapter *adapter = job->adapter;

    stretto_assert(sign == 1 || sign == -1);
    if (job_is_inside(job)) /* its slots are counted with its pilot */
        return;
    adapter->slots.cpus += sign * cpu_slots(adapter, &r);
    if (job->row.kind == JOB_TRAINING) {
        if (adapter->ops->slots(adapter->adapter) > 0)
            places_add(adapter, &adapter->slots.trainings, &r, sign);
    } else {
        adapter->slots.jobs += sign;
        job->ensemble->slots.cpus += sign * cpu_slots(adapter, &r);
    }
    stretto_assert(adapter->slots.cpus >= 0 && adapter->slots.jobs >= 0 && job->ensemble->slots.cpus >= 0);
    adapter->slots.dirty = true;
}

void places_note_run(struct live_job *job)
{
    int64_t *run_ms = job_is_inside(job) ? &job->ensemble->allocation->run_ms : &job->adapter->slots.run_ms;
    int64_t ms = job->row.ended_ms - job->row.started_ms;

    if (job->row.started_ms == 0)
        return;
    ms = ms < 1 ? 1 : ms;
    *run_ms = *run_ms == 0 ? ms : (7 * *run_ms + ms + 7) / 8;
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
            places_add(adapter, sum, &r, 1);
            n += job->row.kind != JOB_TRAINING;
        }
    }
    return n;
}

bool places_are_full(const struct engine *engine, const struct known_adapter *adapter,
                     const struct adapter_resources *more)
{
    struct adapter_resources sum = {0};

    if (adapter->ops->slots(adapter->adapter) == 0)
        return false;
    if (more != NULL)
        places_add(adapter, &sum, more, 1);
    add_jobs(engine, adapter, &sum);
    return !places_fit(adapter, &sum);
}

bool places_take_no_members(const struct engine *engine, const struct live_ensemble *ens)
{
    const struct known_adapter *adapter = ens->adapter;
    struct adapter_resources sum = {0};

    places_add(adapter, &sum, &ens->spec->members.resources, 1);
    return (add_jobs(engine, adapter, &sum) >= adapter->max_jobs && adapter->max_jobs > 0) ||
           !places_fit(adapter, &sum);
}
