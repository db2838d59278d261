/* Sends the spec of an ensemble as it was accepted or, for a follow-up, as it was made from the one before. */
#include "api/etag.h"
#include "api/find.h"
#include "api/handlers.h"

#include <stdlib.h>

void ensemble_spec_get(struct request *r)
{
    struct ensemble_row row;
    struct error err;
    json_t *json;
    char *text;

    if (find_ensemble(r, &row) < 0)
        return;
    text = store_ensemble_spec(request_store(r), row.id, &err);
    if (text == NULL) {
        request_reply_problem(r, &err);
        return;
    }
    json = json_loads(text, 0, NULL);
    free(text);
    if (json != NULL)
        etag_reply_json(r, json);
    else
        request_reply_error(r, "store_io", "the spec of ensemble %lld is damaged", (long long)row.id);
}
