#include "api/ensemble_json.h"
#include "api/handlers.h"

void member_cancel_post(struct request *r)
{
    int64_t id = request_id(r, 0), index = request_id(r, 1);
    struct ensemble_row row;
    struct error err;
    bool cancelled;
    int rc = engine_cancel_member(request_config(r)->engine, id, index, &cancelled, &row, &err);
    json_t *json = rc == 0 ? ensemble_json(r, &row, &err) : NULL;

    if (json != NULL)
        request_reply_json(r, 202, json_pack("{s:b, s:o}", "cancelled", cancelled, "ensemble", json));
    else
        request_reply_problem(r, &err);
}
