#include "daemon/engine/ensembles/check_rules.h"

#include "daemon/engine/engine.h"
#include "daemon/engine/memory/core.h"
#include "daemon/spec/rules.h"
#include "daemon/spec/spec.h"

#include <stdio.h>
#include <string.h>

/* Prefixes the pointer of an error in the reference itself. */
static int blame_reference(struct error *err)
{
    char pointer[sizeof err->pointer];

    snprintf(pointer, sizeof pointer, "/rules/reference%.200s", err->pointer);
    memcpy(err->pointer, pointer, sizeof pointer);
    return -1;
}

static char *rules_ensemble_dir(void *arg, int64_t ensemble)
{
    return engine_ensemble_dir(arg, ensemble);
}

/* Checks a spec against the spec of an ensemble. A spec that includes the ensemble's spec, beside its number, must
 * include it unchanged, since a report says that it is the ensemble's. */
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
    aligned = spec_align_after(reference->json, spec->after, &(struct spec_dirs){rules_ensemble_dir, engine});
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
    aligned = spec_align_after(named, spec->after, &(struct spec_dirs){rules_ensemble_dir, engine});
    reference = spec_parse(aligned, NULL, err);
    json_decref(aligned);
    if (reference == NULL)
        return blame_reference(err);
    rc = rules_check(spec, reference, reference->json, err);
    spec_destroy(reference);
    return rc;
}
