#include "api/ensemble_json.h"
#include "api/etag.h"
#include "api/find.h"
#include "api/handlers.h"

void ensemble_get(struct request *r)
{
    struct ensemble_row row;
    struct error err;
    json_t *json;

    if (find_ensemble(r, &row) < 0)
        return;
    json = ensemble_json(r, &row, &err);
    if (json != NULL)
        etag_reply_json(r, json);
    else
        request_reply_problem(r, &err);
}
