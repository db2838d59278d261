#include "api/ensemble_json.h"
#include "api/handlers.h"

void member_cancel_post(struct request *r)
{
    struct error err;
    bool cancelled;

    if (engine_cancel_member(request_config(r)->engine, request_id(r, 0), request_id(r, 1), &cancelled, &err) < 0)
        request_reply_problem(r, &err);
    else
        cancellation_reply(r, cancelled);
}
