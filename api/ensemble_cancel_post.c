#include "api/ensemble_json.h"
#include "api/find.h"
#include "api/handlers.h"

void ensemble_cancel_post(struct request *r)
{
    struct ensemble_row row;
    struct error err;
    json_t *json = NULL;

    if (engine_cancel(request_config(r)->engine, request_id(r, 0), &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (find_ensemble(r, &row) < 0)
        return;
    json = ensemble_json(r, &row, &err);
    if (json != NULL)
        request_reply_json(r, 202, json);
    else
        request_reply_problem(r, &err);
}
