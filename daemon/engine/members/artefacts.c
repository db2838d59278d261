/* Artefacts that an attempt left: from its exit record into the store. */
#include "daemon/engine/members/artefacts.h"

#include "common/text.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/job.h"
#include "daemon/store/artefact.h"
#include "daemon/store/attempt.h"

#include <string.h>

static int artefact_put(struct engine *engine, struct artefact_row *row, const json_t *item, struct error *err)
{
    const char *path = json_string_value(json_object_get(item, "path"));
    const char *sha256 = json_string_value(json_object_get(item, "sha256"));

    if (path == NULL || sha256 == NULL || strlen(sha256) != 64 || strlen(path) >= sizeof row->path)
        return 0; /* no runner of ours wrote this */
    text_copy(row->path, sizeof row->path, path);
    text_copy(row->sha256, sizeof row->sha256, sha256);
    row->size = json_integer_value(json_object_get(item, "size"));
    return store_artefact_put(engine->store, row, err);
}

int artefacts_store(struct engine *engine, const struct live_job *job, const struct slot *slot,
                    const struct attempt_end *out, struct error *err)
{
    struct artefact_row row = {.ensemble = job->row.ensemble, .index = slot->index, .attempt = slot->number};
    const json_t *item;
    size_t i;
    int rc;

    if (out->outcome != ATTEMPT_SUCCEEDED || out->artefacts == NULL)
        return 0;
    rc = store_artefact_clear(engine->store, row.ensemble, row.index, err);
    json_array_foreach ((json_t *)out->artefacts, i, item)
        rc = rc == 0 ? artefact_put(engine, &row, item, err) : rc;
    return rc;
}
