#include "api/ensemble_json.h"
#include "api/handlers.h"

void ensemble_close_post(struct request *r)
{
    struct ensemble_row row;
    struct error err;

    if (engine_close(request_config(r)->engine, request_id(r, 0), &row, &err) < 0)
        request_reply_problem(r, &err);
    else
        ensemble_reply(r, 200, &row);
}
