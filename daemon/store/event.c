#include "daemon/store/event.h"

#include <stdlib.h>

int store_event_add(struct store *store, int64_t time_ms, const char *kind, int64_t ensemble, int64_t index,
                    json_t *detail, struct error *err)
{
    char *text = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
    int rc = store_exec(store, err,
                        "INSERT INTO event (time, kind, ensemble, idx, detail) VALUES (?1, ?2, ?3, nullif(?4, -1), ?5)",
                        "itiit", time_ms, kind, ensemble, index, text);

    free(text);
    json_decref(detail);
    return rc;
}
