/* Accepting a spec: checked against what can run here, then stored. */
#include "daemon/engine/submit.h"

#include "common/log_changes.h"
#include "daemon/engine/adapter_state.h"
#include "daemon/engine/after.h"
#include "daemon/engine/alarm.h"
#include "daemon/engine/core.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/load.h"
#include "daemon/engine/open.h"
#include "daemon/engine/pilot.h"
#include "daemon/engine/rows.h"
#include "daemon/engine/training_from.h"
#include "daemon/spec/needs.h"
#include "daemon/spec/results.h"
#include "daemon/spec/rules.h"
#include "daemon/spec/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* The place of a refusal: how many of them share a job (`key` in the spec), where one alone could run. */
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

/* The same of an allocation, which has names of its own for what it asks for. */
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

static int cpus(const struct adapter_resources *r)
{
    int64_t n = (int64_t)r->copies * r->tasks * r->cpus_per_task;

    return n > INT32_MAX ? INT32_MAX : (int)n;
}

static int64_t sum(int64_t a, int copies_a, int64_t b, int copies_b)
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
    int64_t gpus = sum(training->gpus, training->copies, members->gpus, members->copies);
    struct adapter_resources both = {
        .nodes = 1,
        .tasks = 1,
        .cpus_per_task = 1,
        .copies = 1,
        .gpus = gpus > INT32_MAX ? INT32_MAX : (int)gpus,
        .memory = sum(training->memory, training->copies, members->memory, members->copies),
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
    return spec->pack > 1 && (int64_t)cpus(&spec->training.resources) + cpus(&one) <= slots
               ? "/pack"
               : "/members/resources/tasks";
}

/* A training holds its slots while its members run: both must fit at once, or nothing ever ends. */
static int check_together(struct known_adapter *adapter, const struct spec *spec, struct error *err)
{
    struct adapter_resources members = spec->has_allocation ? pilot_resources(adapter, spec) : spec->members.resources;
    int slots = adapter->ops->slots(adapter->adapter);
    int64_t wanted = (int64_t)cpus(&spec->training.resources) + cpus(&members);

    if (slots == 0)
        return 0;
    if (wanted <= slots)
        return check_sum(adapter, &spec->training.resources, &members,
                         spec->has_allocation ? "/allocation" : "/members/resources", err);
    return error_at(err, "resources_impossible", cpus_key(spec, slots),
                    "a job of members (%d CPUs) must run beside the training (%d CPUs), and \"%s\" has %d slots",
                    cpus(&members), cpus(&spec->training.resources), spec->adapter, slots);
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

/* Checks that the spec could run with as many ranks as "elastic" may give it. */
static int check_most_ranks(struct engine *engine, struct spec *spec, struct error *err)
{
    int copies = spec->training.resources.copies, rc;

    if (spec->elastic.ranks.most <= copies)
        return 0;
    spec->training.resources.copies = (int)spec->elastic.ranks.most;
    rc = engine_check_resources(engine, spec, err);
    spec->training.resources.copies = copies;
    if (rc < 0)
        snprintf(err->pointer, sizeof err->pointer, "/elastic/ranks/1");
    return rc;
}

void engine_draw_stream_key(struct engine *engine, struct ensemble_row *row)
{
    uint64_t key;

    engine->ports.random(engine->ports.arg, &key, sizeof key);
    snprintf(row->stream_key, sizeof row->stream_key, "%016llx", (unsigned long long)key);
}

/* Prefixes the pointer of an error in the reference itself. */
static int blame_reference(struct error *err)
{
    char pointer[sizeof err->pointer];

    snprintf(pointer, sizeof pointer, "/rules/reference%.200s", err->pointer);
    memcpy(err->pointer, pointer, sizeof pointer);
    return -1;
}

static char *dir_of(void *arg, int64_t ensemble)
{
    return engine_ensemble_dir(arg, ensemble);
}

/* Checks a spec against the spec of an ensemble. One that has that spec already, beside its number, must have it as it
 * is, since a report says that it is the ensemble's. */
static int check_against_ensemble(struct engine *engine, const json_t *json, const struct spec *spec, int64_t id,
                                  json_t **frozen, struct error *err)
{
    struct spec *owned = NULL;
    const struct spec *reference = engine_spec(engine, id, &owned, err);
    const json_t *named = rules_reference(spec);
    json_t *made, *aligned;
    int rc;

    if (reference == NULL)
        return error_at(err, "spec_impossible_value", "/rules/reference", "there is no ensemble %lld", (long long)id);
    made = rules_freeze(json, id, reference->json);
    aligned = spec_align_after(reference->json, spec->after, &(struct spec_dirs){dir_of, engine});
    if (json_is_integer(named) || json_equal(json_object_get(json_object_get(made, "rules"), "reference"), named))
        rc = rules_check(spec, reference, aligned, err);
    else
        rc = error_at(err, "rules_broken", "/rules/reference_ensemble",
                      "the reference is not the spec of ensemble %lld: leave this key out, or name the ensemble by "
                      "\"reference\": %lld",
                      (long long)id, (long long)id);
    if (rc == 0 && json_is_integer(named))
        *frozen = json_incref(made);
    json_decref(aligned);
    json_decref(made);
    spec_destroy(owned);
    return rc;
}

int engine_check_rules(struct engine *engine, const json_t *json, const struct spec *spec, json_t **frozen,
                       struct error *err)
{
    const json_t *named = rules_reference(spec);
    int64_t id = json_integer_value(named);
    struct spec *reference;
    json_t *aligned;
    int rc;

    if (rules_check_places(spec, err) < 0)
        return -1;
    if (named == NULL)
        return 0;
    if (!json_is_integer(named))
        id = json_integer_value(json_object_get(spec->rules, "reference_ensemble"));
    if (json_is_integer(named) || id > 0)
        return check_against_ensemble(engine, json, spec, id, frozen, err);
    aligned = spec_align_after(named, spec->after, &(struct spec_dirs){dir_of, engine});
    reference = spec_parse(aligned, NULL, err);
    json_decref(aligned);
    if (reference == NULL)
        return blame_reference(err);
    rc = rules_check(spec, reference, reference->json, err);
    spec_destroy(reference);
    return rc;
}

static int submit(struct engine *engine, const json_t *json, struct rows *rows, int64_t *id, struct error *err)
{
    struct ensemble_row row = {.state = ENSEMBLE_RUNNING, .created_ms = engine_now(engine)};
    struct spec *spec;
    struct live_ensemble *ens;
    json_t *frozen = NULL;
    char *text;
    int rc;

    spec = engine_wake_up(engine, err) == 0 ? spec_parse(json, rows, err) : NULL;
    if (spec == NULL) {
        rows_close(rows);
        return -1;
    }
    if (engine_check_resources(engine, spec, err) < 0 || spec_check_results(spec, err) < 0 ||
        engine_find_from(engine, spec, err) < 0 || after_check(engine, spec, err) < 0 ||
        engine_check_rules(engine, json, spec, &frozen, err) < 0 || check_most_ranks(engine, spec, err) < 0 ||
        store_accept(engine->store, err) < 0) {
        json_decref(frozen);
        spec_destroy(spec);
        return -1;
    }
    engine_draw_stream_key(engine, &row);
    snprintf(row.name, sizeof row.name, "%s", spec->name);
    snprintf(row.adapter, sizeof row.adapter, "%s", spec->adapter);
    row.count = params_count(spec->params);
    row.intake = params_are_open(spec->params) ? INTAKE_OPEN : INTAKE_NONE;
    row.width = spec->width;
    row.after = spec->after;
    text = engine_spec_text(spec, frozen != NULL ? frozen : json);
    json_decref(frozen);
    rc = store_ensemble_insert(engine->store, &row, text, err);
    free(text);
    if (rc == 0 && rows != NULL)
        rc = engine_store_rows(engine, row.id, rows, err);
    if (rc == 0 && spec->has_training) {
        struct training_row training = {
            .ensemble = row.id, .ranks = spec->ranks, .generation = 1, .created_ms = row.created_ms};

        snprintf(training.adapter, sizeof training.adapter, "%s", spec->training_adapter);
        rc = store_training_insert(engine->store, &training, err);
    }
    if (rc < 0) {
        spec_destroy(spec);
        return -1;
    }
    open_give_parameters(engine, spec, row.id);
    ens = engine_adopt_ensemble(engine, &row, spec);
    if (ens == NULL) {
        error_set(err, "store_io", "the new ensemble cannot be read back");
        return store_doom(engine->store, err); /* refused is refused */
    }
    engine_event(engine, "ensemble.submitted", row.id, -1, json_pack("{s:s}", "name", row.name));
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(row.id), "ensemble %lld \"%s\": %lld members, width %lld, adapter %s",
               (long long)row.id, row.name, (long long)row.count, (long long)row.width, row.adapter);
    *id = row.id;
    engine_touch(engine, ens);
    engine_settle(engine);
    return 0;
}

int engine_submit(struct engine *engine, const json_t *json, struct rows *rows, int64_t *id, struct error *err)
{
    json_t *with_paths = spec_fill_after(json, &(struct spec_dirs){dir_of, engine});
    int rc = submit(engine, with_paths != NULL ? with_paths : json, rows, id, err);

    json_decref(with_paths);
    return rc;
}
