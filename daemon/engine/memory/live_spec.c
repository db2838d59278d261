/* The checked specs of ensembles, with all that the parameters of their members are read from. */
#include "daemon/engine/memory/live_spec.h"

#include "common/log.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/rows.h"
#include "daemon/store/suggestion.h"

#include <stdlib.h>

static json_t *give_parameters(void *arg, int64_t root, int64_t index)
{
    struct error err;
    char *text = NULL;
    int rc = store_suggestion_parameters(arg, root, index, &text, &err);
    json_t *values = rc == 1 ? json_loads(text, 0, NULL) : NULL;

    if (values == NULL)
        log_error_of(LOG_ENSEMBLE(root), "the parameters of member %lld.%lld cannot be read%s%s", (long long)root,
                     (long long)index, rc < 0 ? ": " : "", rc < 0 ? err.text : "");
    if (rc == 1)
        free(text);
    return values;
}

void engine_give_parameters(struct engine *engine, struct spec *spec, int64_t ensemble)
{
    if (params_are_open(spec->params))
        params_ask(spec->params, give_parameters, engine->store, engine_checkpoint_home_of(engine, ensemble));
}

struct spec *engine_parse_spec(struct engine *engine, const json_t *json, int64_t ensemble, struct error *err)
{
    struct spec *spec;
    struct rows *rows;

    if (engine_open_rows(engine, ensemble, &rows, err) < 0)
        return NULL;
    spec = spec_parse(json, rows, err);
    if (spec != NULL)
        engine_give_parameters(engine, spec, ensemble);
    else
        rows_close(rows);
    return spec;
}

const struct spec *engine_spec(struct engine *engine, int64_t ensemble, struct spec **owned, struct error *err)
{
    struct live_ensemble *ens = engine_find_ensemble(engine, ensemble);
    json_t *json;
    char *text;

    *owned = NULL;
    if (ens != NULL)
        return ens->spec;
    text = store_ensemble_spec(engine->store, ensemble, err);
    if (text == NULL)
        return NULL;
    json = json_loads(text, 0, NULL);
    free(text);
    if (json == NULL) {
        error_set(err, "store_io", "the spec of ensemble %lld is damaged", (long long)ensemble);
        return NULL;
    }
    *owned = engine_parse_spec(engine, json, ensemble, err);
    json_decref(json);
    return *owned;
}

const struct spec *engine_spec_again(struct engine *engine, int64_t ensemble, struct spec **owned, struct error *err)
{
    return *owned != NULL ? *owned : engine_spec(engine, ensemble, owned, err);
}
