/* The checked specs of ensembles, with all that the parameters of their members are read from. */
#include "daemon/engine/live_spec.h"

#include "daemon/engine/core.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/ensemble.h"
#include "daemon/engine/open.h"
#include "daemon/engine/rows.h"

#include <stdlib.h>

struct spec *engine_parse_spec(struct engine *engine, const json_t *json, int64_t ensemble, struct error *err)
{
    struct spec *spec;
    struct rows *rows;

    if (engine_open_rows(engine, ensemble, &rows, err) < 0)
        return NULL;
    spec = spec_parse(json, rows, err);
    if (spec != NULL)
        open_give_parameters(engine, spec, ensemble);
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
