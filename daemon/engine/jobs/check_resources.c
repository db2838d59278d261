#include "daemon/engine/jobs/check_resources.h"

#include "common/error.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/pilot_size.h"
#include "daemon/spec/needs.h"
#include "daemon/spec/sizes.h"

#include <stdio.h>
#include <string.h>
#include <uthash.h>

/* The place of a refusal: how many of them share a job (`key` in the spec), if one alone could run. */
static int too_many(struct known_adapter *adapter, const struct adapter_resources *r, const char *key, int64_t n,
                    struct error *err)
{
    struct adapter_resources one = *r;
    char text[sizeof err->text];
    struct error ignored;

    one.copies = 1;
    if (n < 2 || adapter->ops->check(adapter->adapter, &one, &ignored) < 0)
        return 0;
    snprintf(text, sizeof text, "\"%s\" is %lld: %.400s", strrchr(key, '/') + 1, (long long)n, err->text);
    error_at(err, "resources_impossible", key, "%s", text);
    return 1;
}

/* An impossible job is refused before anything is stored, with the place in the spec. */
static int check_job(struct known_adapter *adapter, const struct adapter_resources *r, const char *at,
                     struct error *err)
{
    const char *key = strcmp(at, "/training") == 0 ? "/training/ranks" : "/pack";
    char pointer[sizeof err->pointer];

    if (adapter->ops->check(adapter->adapter, r, err) == 0)
        return 0;
    if (too_many(adapter, r, key, r->copies, err))
        return -1;
    snprintf(pointer, sizeof pointer, "%s/resources%.200s", at, err->pointer);
    memcpy(err->pointer, pointer, sizeof pointer);
    return -1;
}

static int check_one(void *adapter, const struct adapter_resources *r, struct error *err)
{
    return check_job(adapter, r, "/members", err);
}

/* Members may ask for different resources, each of which must be possible. */
static int check_members(struct known_adapter *adapter, const struct spec *spec, struct error *err)
{
    return spec->members.needs == NULL ? check_job(adapter, &spec->members.resources, "/members", err)
                                       : needs_each(spec, check_one, adapter, err);
}

/* Does the same for an allocation, whose resources have other names. */
static int check_allocation(struct known_adapter *adapter, const struct spec *spec, struct error *err)
{
    struct adapter_resources r = pilot_resources(adapter, spec);
    char pointer[sizeof err->pointer];
    bool cpus;

    if (adapter->ops->check(adapter->adapter, &r, err) == 0)
        return 0;
    if (spec->refill && too_many(adapter, &spec->members.resources, "/pack",
                                 json_integer_value(json_object_get(spec->json, "pack")), err))
        return -1;
    cpus = strcmp(err->pointer, "/tasks") == 0 || strcmp(err->pointer, "/cpus_per_task") == 0;
    if (spec->refill)
        snprintf(pointer, sizeof pointer, "/members/resources%.200s", err->pointer);
    else
        snprintf(pointer, sizeof pointer, "/allocation%.200s", cpus ? "/cpus" : err->pointer);
    memcpy(err->pointer, pointer, sizeof pointer);
    return -1;
}

static int cpus_of_copies(const struct adapter_resources *r)
{
    int64_t n = (int64_t)r->copies * r->tasks * r->cpus_per_task;

    return n > INT32_MAX ? INT32_MAX : (int)n;
}

static int64_t sum_of_copies(int64_t a, int copies_a, int64_t b, int copies_b)
{
    int64_t total;

    if (__builtin_mul_overflow(a, copies_a, &a) || __builtin_mul_overflow(b, copies_b, &b) ||
        __builtin_add_overflow(a, b, &total))
        return INT64_MAX;
    return total;
}

/* The same for what else the adapter counts: could one job of both run? */
static int check_sum(struct known_adapter *adapter, const struct adapter_resources *training,
                     const struct adapter_resources *members, const char *at, struct error *err)
{
    int64_t gpus = sum_of_copies(training->gpus, training->copies, members->gpus, members->copies);
    struct adapter_resources both = {
        .nodes = 1,
        .tasks = 1,
        .cpus_per_task = 1,
        .copies = 1,
        .gpus = gpus > INT32_MAX ? INT32_MAX : (int)gpus,
        .memory = sum_of_copies(training->memory, training->copies, members->memory, members->copies),
    };
    char text[sizeof err->text], pointer[64];

    if (adapter->ops->check(adapter->adapter, &both, err) == 0)
        return 0;
    snprintf(text, sizeof text, "a job of members must run beside the training: %.300s", err->text);
    snprintf(pointer, sizeof pointer, "%s%s", at, strcmp(err->pointer, "/memory") == 0 ? "/memory" : "/gpus");
    return error_at(err, "resources_impossible", pointer, "%s", text);
}

/* Returns the key of the spec that asks for more CPUs than are left beside the training. */
static const char *cpus_key(const struct spec *spec, int slots)
{
    struct adapter_resources one = spec->members.resources;

    one.copies = 1;
    if (spec->has_allocation)
        return "/allocation/cpus";
    return spec->pack > 1 && (int64_t)cpus_of_copies(&spec->training.resources) + cpus_of_copies(&one) <= slots
               ? "/pack"
               : "/members/resources/tasks";
}

/* A training holds its slots while its members run: both must fit at once, or nothing ever ends. */
static int check_together(struct known_adapter *adapter, const struct spec *spec, struct error *err)
{
    struct adapter_resources members = spec->has_allocation ? pilot_resources(adapter, spec) : spec->members.resources;
    int slots = adapter->ops->slots(adapter->adapter);
    int64_t wanted = (int64_t)cpus_of_copies(&spec->training.resources) + cpus_of_copies(&members);

    if (slots == 0)
        return 0;
    if (wanted <= slots)
        return check_sum(adapter, &spec->training.resources, &members,
                         spec->has_allocation ? "/allocation" : "/members/resources", err);
    return error_at(err, "resources_impossible", cpus_key(spec, slots),
                    "a job of members (%d CPUs) must run beside the training (%d CPUs), and \"%s\" has %d slots",
                    cpus_of_copies(&members), cpus_of_copies(&spec->training.resources), spec->adapter, slots);
}

/* Members that hold places, and wait for a training that can have none, may be waited for by the trainings of
 * others. */
static int check_start(struct known_adapter *adapter, const struct spec *spec, struct error *err)
{
    int slots = adapter->ops->slots(adapter->adapter);

    if (slots == 0 || !spec->members_first)
        return 0;
    return error_at(
        err, "spec_impossible_value", "/start",
        "\"%s\" has %d slots, in which members and trainings would come to wait for each other; members-first is for "
        "batch systems in whose queue members wait for long",
        adapter->ops->name, slots);
}

static struct known_adapter *find_adapter(struct engine *engine, const char *name, const char *at, struct error *err)
{
    struct known_adapter *adapter;

    HASH_FIND_STR(engine->adapters, name, adapter);
    if (adapter == NULL)
        error_at(err, "spec_unknown_adapter", at, "there is no adapter \"%.60s\" here", name);
    return adapter;
}

int engine_check_resources(struct engine *engine, const struct spec *spec, struct error *err)
{
    struct known_adapter *adapter = find_adapter(engine, spec->adapter, "/adapter", err), *trains;

    if (adapter == NULL || spec_check_sizes(spec, err) < 0)
        return -1;
    if ((spec->has_allocation ? check_allocation(adapter, spec, err) : check_members(adapter, spec, err)) < 0)
        return -1;
    if (!spec->has_training)
        return 0;
    trains = find_adapter(engine, spec->training_adapter, "/training/adapter", err);
    if (trains == NULL || check_job(trains, &spec->training.resources, "/training", err) < 0 ||
        check_start(adapter, spec, err) < 0 || check_start(trains, spec, err) < 0)
        return -1;
    return spec_trains_beside(spec) ? check_together(adapter, spec, err) : 0;
}
