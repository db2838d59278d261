#include "tests/sim/specs.h"

#include <stdlib.h>
#include <string.h>

bool spec_is_calm(uint64_t seed)
{
    return seed % 4 == 0;
}

bool spec_is_crossed(uint64_t seed)
{
    return seed % 59 == 3 || getenv("SIM_CROSSED") != NULL;
}

bool spec_has_pilots(uint64_t seed)
{
    return seed % 9 == 4 || getenv("SIM_PILOTS") != NULL;
}

bool spec_is_elastic(uint64_t seed)
{
    return seed % 5 == 2 || getenv("SIM_ELASTIC") != NULL;
}

bool spec_is_open(uint64_t seed)
{
    return seed % 7 == 5 || getenv("SIM_OPEN") != NULL;
}

bool spec_stops_early(uint64_t seed)
{
    return seed % 11 == 7 || getenv("SIM_STOPPING") != NULL;
}

/* Adds early stopping. It is not drawn, so that other schedules stay what they are. */
static void add_stopping(json_t *spec, uint64_t salt)
{
    json_t *steps = json_array();

    static const char *const rules[] = {"asha", "asha-stop", "asha", "median"};
    json_t *stopping;
    const char *rule;
    bool pauses;

    salt = (salt ^ (salt >> 31)) * UINT64_C(0x9e3779b97f4a7c15) >> 7;
    rule = rules[salt / 64 % 4];
    pauses = strcmp(rule, "asha") == 0;
    for (uint64_t i = 0, n = 2 + salt % 4; i < n; i++)
        json_array_append_new(steps, json_integer((json_int_t)(pauses ? 5 + 10 * i : 2 + 5 * i)));
    stopping = json_pack("{s:s, s:s, s:s, s:{s:o}}", "rule", rule, "metric", "loss", "goal",
                         salt % 8 < 4 ? "min" : "max", "rungs", "steps", steps);
    json_object_set_new(spec, "early_stopping", stopping);
    if (strcmp(rule, "median") == 0)
        json_object_set_new(stopping, "min_members", json_integer((json_int_t)(1 + salt / 8 % 4)));
    else
        json_object_set_new(json_object_get(stopping, "rungs"), "reduction",
                            json_integer((json_int_t)(2 + salt / 8 % 3)));
    if (!pauses)
        json_object_set_new(json_object_get(spec, "members"), "command", points_command());
}

bool spec_is_staged(uint64_t seed)
{
    return seed % 11 == 6 || getenv("SIM_STAGES") != NULL;
}

static void set_seconds(json_t *object, const char *key, int64_t seconds)
{
    json_object_set_new(object, key, json_sprintf("%llds", (long long)seconds));
}

/* Lets the members run in allocations. In a calm schedule none is given less than its walltime. */
static void add_allocation(struct sim *sim, json_t *spec, bool calm)
{
    json_t *members = json_object_get(spec, "members"), *alloc = json_object();
    json_t *resources = json_object_get(members, "resources");
    json_t *checkpoint = json_object_get(members, "checkpoint");
    int64_t pack = json_integer_value(json_object_get(spec, "pack"));
    int64_t cpus = pack * json_integer_value(json_object_get(resources, "tasks"));
    int64_t walltime = 31 + (int64_t)sim_random(sim, 90);
    bool never = !calm && sim_chance(sim, 20); /* one in which nothing can run */

    json_object_set_new(alloc, "nodes", json_integer((json_int_t)(1 + sim_random(sim, 3))));
    json_object_set_new(alloc, "count", json_integer((json_int_t)(1 + sim_random(sim, 3))));
    set_seconds(alloc, "idle", never ? 0 : 5 + (int64_t)sim_random(sim, 100));
    if (sim_chance(sim, 700))
        json_object_set_new(alloc, "cpus", json_integer((json_int_t)(cpus + (int64_t)sim_random(sim, 6))));
    if (sim_chance(sim, 300)) {
        json_object_set_new(resources, "gpus", json_integer(1));
        json_object_set_new(alloc, "gpus", json_integer((json_int_t)(pack + (int64_t)sim_random(sim, 4))));
    }
    if (sim_chance(sim, 300)) {
        json_object_set_new(resources, "memory", json_string("1GiB"));
        json_object_set_new(alloc, "memory", json_sprintf("%lldGiB", (long long)(pack + (int64_t)sim_random(sim, 4))));
    }
    if (sim_chance(sim, 600)) {
        set_seconds(resources, "walltime", walltime);
        set_seconds(alloc, "walltime", walltime + (never ? 0 : 20 + (int64_t)sim_random(sim, 600)));
        if (checkpoint != NULL && !calm && sim_chance(sim, 400))
            set_seconds(checkpoint, "before", 1 + (int64_t)sim_random(sim, 10));
    }
    json_object_set_new(spec, "allocation", alloc);
}

/* Lets the daemon choose the width, the ranks or both. */
static void add_elastic(struct sim *sim, json_t *spec)
{
    json_t *training = json_object_get(spec, "training"), *elastic = json_object();
    json_int_t least = (json_int_t)(1 + sim_random(sim, 3)), more = (json_int_t)sim_random(sim, 12);
    json_int_t ranks = (json_int_t)(1 + sim_random(sim, 3));
    bool of_ranks = json_object_get(training, "checkpoint") != NULL && sim_chance(sim, 700);

    set_seconds(elastic, "every", 1 + (int64_t)sim_random(sim, 2));
    json_object_set_new(json_object_get(json_object_get(spec, "members"), "parameters"), "count",
                        json_integer(30 + (json_int_t)sim_random(sim, 50)));
    if (!of_ranks || sim_chance(sim, 700)) {
        json_object_set_new(elastic, "width", json_pack("[II]", least, least + more));
        json_object_set_new(spec, "width", json_integer(least + (json_int_t)sim_random(sim, (uint64_t)more + 1)));
    }
    if (of_ranks) {
        json_object_set_new(elastic, "ranks", json_pack("[iI]", 1, ranks));
        json_object_set_new(training, "ranks", json_integer(1 + (json_int_t)sim_random(sim, (uint64_t)ranks)));
    }
    json_object_set_new(training, "env", json_pack("{s:o}", "SIM_PACE", json_sprintf("%d.5", (int)sim_random(sim, 7))));
    json_object_set_new(spec, "elastic", elastic);
}

/* Returns whether the ensemble may start its members first. If the daemon gives out the places it may not, since
 * members that wait for their training would hold all of them. */
static bool may_begin_with_members(struct sim *sim, const json_t *spec)
{
    const json_t *training = json_object_get(spec, "training");
    const char *adapter = json_string_value(json_object_get(spec, "adapter"));
    const char *trains = json_string_value(json_object_get(training, "adapter"));

    for (int i = 0; i < SIM_ADAPTERS && training != NULL; i++)
        if (sim_slots(sim, i) > 0 &&
            (strcmp(adapter, sim_adapters[i]) == 0 || (trains != NULL && strcmp(trains, sim_adapters[i]) == 0)))
            return false;
    return training != NULL;
}

json_t *spec_random(struct sim *sim, uint64_t seed)
{
    bool crossed = spec_is_crossed(seed);
    json_t *spec = json_pack("{s:s, s:s, s:I, s:I, s:I, s:{s:[s], s:I, s:{s:I}, s:{s:s, s:I, s:{s:[ff]}}}}", "name",
                             "sim", "adapter", sim_adapters[sim_chance(sim, 250)], "width",
                             (json_int_t)(1 + sim_random(sim, 12)), "pack", (json_int_t)(1 + sim_random(sim, 4)),
                             "share", (json_int_t)(1 + sim_random(sim, 3)), "members", "command", "x", "retries",
                             (json_int_t)sim_random(sim, 4), "resources", "tasks", (json_int_t)(1 + sim_random(sim, 2)),
                             "parameters", "method", "halton", "count", (json_int_t)(1 + sim_random(sim, 20)), "space",
                             "p", 0.0, 1.0);

    json_object_set_new(spec, "max_same_failures",
                        json_integer(json_integer_value(json_object_get(spec, "width")) % 4));
    if (sim_chance(sim, 400))
        json_object_set_new(json_object_get(spec, "members"), "checkpoint",
                            json_pack("{s:I}", "attempts", (json_int_t)(1 + sim_random(sim, 4))));
    if (sim_chance(sim, crossed ? 50 : 300))
        json_object_set_new(spec, "follow_up",
                            json_pack("{s:b, s:I}", "auto", 1, "max", (json_int_t)(1 + sim_random(sim, 8))));
    if (json_object_get(spec, "follow_up") == NULL && sim_chance(sim, crossed ? 900 : 400))
        json_object_set_new(spec, "training",
                            json_pack("{s:[s], s:I, s:{s:I}, s:{s:{s:s, s:[i]}}}", "command", "y", "retries",
                                      (json_int_t)sim_random(sim, 4), "resources", "tasks",
                                      (json_int_t)(1 + sim_random(sim, 2)), "fields", "u", "dtype", "float32", "shape",
                                      4));
    if (json_object_get(spec, "training") != NULL && sim_chance(sim, 600))
        json_object_set_new(json_object_get(spec, "training"), "checkpoint",
                            json_pack("{s:I}", "keep", (json_int_t)(1 + sim_random(sim, 3))));
    if (json_object_get(spec, "training") != NULL && sim_chance(sim, 200))
        json_object_set_new(json_object_get(spec, "training"), "ranks",
                            json_integer((json_int_t)(1 + sim_random(sim, 3))));
    if (json_object_get(spec, "training") != NULL && sim_chance(sim, 500))
        json_object_set_new(json_object_get(spec, "training"), "adapter",
                            json_string(sim_adapters[sim_random(sim, SIM_ADAPTERS)]));
    if (json_object_get(spec, "training") != NULL && spec_is_elastic(seed) && sim_chance(sim, 800))
        add_elastic(sim, spec);
    if (may_begin_with_members(sim, spec) && sim_chance(sim, 400))
        json_object_set_new(spec, "start", json_string("members-first"));
    if (spec_has_pilots(seed) && sim_chance(sim, 750))
        add_allocation(sim, spec, spec_is_calm(seed));
    if (spec_is_open(seed))
        json_object_set_new(json_object_get(spec, "members"), "parameters", json_pack("{s:[s]}", "open", "p"));
    if (spec_stops_early(seed) && json_object_get(spec, "training") == NULL)
        add_stopping(spec, seed + (uint64_t)sim_now(sim));
    return spec;
}
