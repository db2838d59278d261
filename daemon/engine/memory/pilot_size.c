#include "daemon/engine/memory/pilot_size.h"

#include "common/lesser.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/places.h"
#include "daemon/spec/spec.h"

struct adapter_resources pilot_resources(const struct known_adapter *adapter, const struct spec *spec)
{
    struct adapter_resources r = spec->allocation.resources;
    const struct adapter_resources *members = &spec->members.resources, *training = &spec->training.resources;
    int64_t slots = adapter->ops->slots(adapter->adapter),
            one = (int64_t)members->copies * members->tasks * members->cpus_per_task;
    int64_t of_node = places_of_node(adapter);

    if (!r.whole_nodes || slots == 0)
        return r;
    if (of_node > 0)
        slots = of_node * spec->allocation.count * r.nodes;
    else if (spec_trains_beside(spec))
        slots -= (int64_t)training->copies * training->tasks * training->cpus_per_task;
    slots /= spec->allocation.count * r.nodes;
    r.whole_nodes = false;
    r.cpus_per_task = (int)lesser(slots > one ? slots : one, INT32_MAX);
    return r;
}

int64_t pilot_fits(const struct spec *spec, int64_t cpus, int64_t gpus, int64_t memory)
{
    const struct adapter_resources *r = &spec->members.resources;
    int64_t n = cpus / ((int64_t)r->copies * r->tasks * r->cpus_per_task);

    if (r->gpus > 0)
        n = lesser(n, gpus / ((int64_t)r->copies * r->gpus));
    if (r->memory > 0)
        n = lesser(n, memory / r->copies / r->memory);
    return n;
}

/* Returns the resources that the adapter is asked for to run members: those of a job, or of a pilot. */
struct adapter_resources pilot_or_members(const struct live_ensemble *ens)
{
    return ens->allocation != NULL ? pilot_resources(ens->adapter, ens->spec) : ens->spec->members.resources;
}
