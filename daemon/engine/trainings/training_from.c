/* A training that starts from a checkpoint of an earlier ensemble's training: it takes over the model, and nothing
 * else. */
#include "daemon/engine/trainings/training_from.h"

#include "daemon/engine/memory/core.h"
#include "daemon/spec/spec.h"
#include "daemon/store/training.h"
#include "daemon/store/training_checkpoint.h"

#include <string.h>

struct wanted_start {
    const char *name;
    struct training_checkpoint_row found;
};

static int match_start(void *arg, const struct training_checkpoint_row *row)
{
    struct wanted_start *wanted = arg;

    if (strcmp(row->name, wanted->name) != 0)
        return 0;
    wanted->found = *row;
    return 1;
}

static int find_start_checkpoint(struct engine *engine, const struct training_row *training, const char *name,
                                 struct training_checkpoint_row *found, struct error *err)
{
    struct wanted_start wanted = {.name = name};

    *found = (struct training_checkpoint_row){0};
    if (name == NULL)
        return store_training_checkpoint_newest(engine->store, training->id, found, err) < 0 ? -1 : 0;
    if (store_training_checkpoint_each(engine->store, training->id, 0, 0, INT32_MAX, match_start, &wanted, err) < 0)
        return -1;
    *found = wanted.found;
    return 0;
}

static json_t *object_of(const json_t *spec)
{
    return json_object_get(json_object_get(spec, "training"), "from");
}

int engine_find_from(struct engine *engine, struct spec *spec, struct error *err)
{
    static const char at[] = "/training/from/checkpoint";
    long long ensemble = (long long)spec->from_ensemble;
    struct training_checkpoint_row row;
    struct training_row training;
    int rc;

    if (spec->from_ensemble == 0)
        return 0;
    rc = store_training_of(engine->store, spec->from_ensemble, &training, err);
    if (rc == 0)
        return error_at(err, "spec_impossible_value", "/training/from/ensemble",
                        "there is no ensemble %lld that has a training", ensemble);
    if (rc < 0 || find_start_checkpoint(engine, &training, spec->from_checkpoint, &row, err) < 0)
        return -1;
    if (row.number == 0 && spec->from_checkpoint == NULL)
        return error_at(err, "spec_impossible_value", "/training/from",
                        "the training of ensemble %lld has left no checkpoint that is whole", ensemble);
    if (row.number == 0)
        return error_at(err, "spec_impossible_value", at,
                        "the training of ensemble %lld has no such checkpoint: `stretto checkpoints %lld.training` "
                        "lists those that it has",
                        ensemble, ensemble);
    if (row.damaged)
        return error_at(err, "checkpoint_damaged", at,
                        "checkpoint %s is damaged, as a rank found: nothing can go on from it", row.name);
    json_object_set_new(object_of(spec->json), "checkpoint", json_string(row.name));
    spec->from_checkpoint = json_string_value(json_object_get(object_of(spec->json), "checkpoint"));
    return 0;
}

char *engine_spec_text(const struct spec *spec, const json_t *json)
{
    json_t *named = spec->from_ensemble > 0 ? json_deep_copy(json) : json_incref((json_t *)json);
    char *text;

    if (spec->from_ensemble > 0)
        json_object_set(json_object_get(named, "training"), "from", object_of(spec->json));
    text = json_dumps(named, JSON_COMPACT);
    json_decref(named);
    return text;
}
