#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "api/who.h"

void ensemble_pause_post(struct request *r)
{
    char by[WHO_SIZE];
    struct ensemble_row row;
    struct error err;

    who_asks(r, by);
    if (engine_pause(request_config(r)->engine, request_id(r, 0), by, &row, &err) < 0)
        request_reply_problem(r, &err);
    else
        ensemble_reply(r, 200, &row);
}
