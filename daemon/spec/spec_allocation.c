/* Reads `allocation`, which asks for large jobs in which members run, and `refill`, which makes jobs of several members
 * such allocations. */
#include "daemon/spec/internal.h"

#include "common/jsonx.h"

#include <string.h>

#define AT "/allocation"
#define COUNT_MAX 1000
#define IDLE_MS 60000
#define GRACE_MORE_MS 10000 /* added to a member's grace, so that the pilot can record how all members ended */

/* Refuses members that ask for more than an allocation can give. */
static int check_members_fit(const struct spec *spec, struct error *err)
{
    const struct adapter_resources *members = &spec->members.resources;
    const struct spec_allocation *alloc = &spec->allocation;
    int64_t cpus = (int64_t)members->copies * members->tasks * members->cpus_per_task;
    int64_t gpus = (int64_t)members->copies * members->gpus;

    if (members->nodes > 1)
        return error_at(err, "spec_unsupported", "/members/resources/nodes",
                        "members of an allocation run on one node each, and %d are wanted", members->nodes);
    if (alloc->cpus > 0 && cpus > alloc->cpus)
        return error_at(err, "resources_impossible",
                        cpus / members->copies <= alloc->cpus ? "/pack" : "/members/resources/tasks",
                        "%lld CPUs are wanted for one job of members, and a node of the allocation has %lld",
                        (long long)cpus, (long long)alloc->cpus);
    if (gpus > alloc->gpus)
        return error_at(err, "resources_impossible", members->gpus <= alloc->gpus ? "/pack" : "/members/resources/gpus",
                        "%lld GPUs are wanted for one job of members, and a node of the allocation has %lld (\"gpus\")",
                        (long long)gpus, (long long)alloc->gpus);
    if (alloc->memory > 0 && members->memory > alloc->memory / members->copies)
        return error_at(err, "resources_impossible",
                        members->memory <= alloc->memory ? "/pack" : "/members/resources/memory",
                        "%d × %lld bytes are wanted for one job of members, and a node of the allocation has %lld",
                        members->copies, (long long)members->memory, (long long)alloc->memory);
    if (alloc->resources.walltime_ms == 0)
        return 0;
    if (members->walltime_ms == 0)
        return error_at(err, "spec_missing_key", "/members/resources/walltime",
                        "members of an allocation with a walltime need one, too, so that none is started that could "
                        "not end in time");
    if (members->walltime_ms > alloc->resources.walltime_ms)
        return error_at(err, "resources_impossible", "/members/resources/walltime",
                        "a member's walltime is longer than that of the allocation");
    return 0;
}

int spec_parse_allocation(struct spec *spec, const json_t *obj, struct error *err)
{
    static const char *const keys[] = {"nodes", "walltime", "count", "cpus",     "gpus", "memory",
                                       "queue", "account",  "extra", "launcher", "idle", NULL};
    struct spec_allocation *alloc = &spec->allocation;
    struct adapter_resources *r = &alloc->resources;
    int64_t nodes = 1;

    alloc->count = 1;
    alloc->idle_ms = IDLE_MS;
    *r = (struct adapter_resources){.copies = 1,
                                    .cpus_per_task = 1,
                                    .queue = spec->members.resources.queue,
                                    .account = spec->members.resources.account};
    if (jsonx_only(obj, AT, keys, err) < 0 || jsonx_int(obj, AT, "nodes", JSONX_OPTIONAL, 1, 100000, &nodes, err) < 0 ||
        jsonx_int(obj, AT, "count", JSONX_OPTIONAL, 1, COUNT_MAX, &alloc->count, err) < 0 ||
        jsonx_int(obj, AT, "cpus", JSONX_OPTIONAL, 1, 10000, &alloc->cpus, err) < 0 ||
        jsonx_int(obj, AT, "gpus", JSONX_OPTIONAL, 0, 10000, &alloc->gpus, err) < 0 ||
        jsonx_size(obj, AT, "memory", JSONX_OPTIONAL, &alloc->memory, err) < 0 ||
        jsonx_duration(obj, AT, "walltime", JSONX_OPTIONAL, 1000, &r->walltime_ms, err) < 0 ||
        jsonx_duration(obj, AT, "idle", JSONX_OPTIONAL, 0, &alloc->idle_ms, err) < 0 ||
        jsonx_string(obj, AT, "queue", JSONX_OPTIONAL, &r->queue, err) < 0 ||
        jsonx_string(obj, AT, "account", JSONX_OPTIONAL, &r->account, err) < 0 ||
        jsonx_strings(obj, AT, "extra", JSONX_OPTIONAL, 0, &r->extra, err) < 0 ||
        jsonx_strings(obj, AT, "launcher", JSONX_OPTIONAL, 1, &alloc->launcher, err) < 0)
        return -1;
    r->nodes = r->tasks = (int)nodes;
    r->each_node = nodes > 1 && alloc->launcher == NULL;
    r->gpus = (int)(nodes * alloc->gpus > INT32_MAX ? INT32_MAX : nodes * alloc->gpus);
    if (__builtin_mul_overflow(nodes, alloc->memory, &r->memory))
        r->memory = INT64_MAX;
    if (alloc->cpus > 0)
        r->cpus_per_task = (int)alloc->cpus;
    else
        r->whole_nodes = true;
    alloc->grace_ms = spec->members.grace_ms + GRACE_MORE_MS;
    spec->has_allocation = true;
    return check_members_fit(spec, err);
}

/* Refuses `refill` if members that come later could never start, because less than a walltime is left of their
 * job. */
static int check_refill(const struct spec *spec, struct error *err)
{
    if (spec->has_allocation)
        return error_at(err, "spec_impossible_value", "/refill",
                        "\"refill\" cannot be used with \"allocation\", whose members are always followed by others");
    if (spec->has_training)
        return error_at(err, "spec_unsupported", "/refill",
                        "\"refill\" cannot be used with a training; use \"allocation\" instead");
    if (spec->members.resources.nodes > 1)
        return error_at(err, "spec_unsupported", "/refill",
                        "members of \"refill\" run on one node each, and %d are wanted", spec->members.resources.nodes);
    if (spec->members.resources.walltime_ms > 0 && spec->checkpoint.before_ms == 0)
        return error_at(
            err, "spec_missing_key", "/members/checkpoint/before",
            "\"refill\" with a walltime needs members that are warned before the end, and can go on from a checkpoint: "
            "less than their walltime is left for those that come later");
    return 0;
}

int spec_refill(struct spec *spec, struct error *err)
{
    struct adapter_resources *members = &spec->members.resources;
    struct spec_allocation *alloc = &spec->allocation;
    int64_t cpus = spec->pack * members->tasks, gpus = spec->pack * members->gpus;

    if (check_refill(spec, err) < 0)
        return -1;
    if (__builtin_mul_overflow(cpus, members->cpus_per_task, &cpus) || cpus > INT32_MAX || gpus > INT32_MAX ||
        __builtin_mul_overflow(members->memory, spec->pack, &alloc->memory))
        return error_at(err, "spec_impossible_value", "/pack", "no node has what so many members ask for");
    alloc->count = COUNT_MAX; /* the width limits how many jobs there are */
    alloc->cpus = cpus;
    alloc->gpus = gpus;
    alloc->idle_ms = IDLE_MS;
    alloc->grace_ms = spec->members.grace_ms + GRACE_MORE_MS;
    alloc->resources = *members;
    alloc->resources.copies = alloc->resources.tasks = 1;
    alloc->resources.cpus_per_task = (int)cpus;
    alloc->resources.gpus = (int)gpus;
    alloc->resources.memory = alloc->memory;
    spec->pack = members->copies = 1;
    spec->has_allocation = true;
    return 0;
}
