#include "api/ensemble_json.h"
#include "api/handlers.h"

void member_resubmit_post(struct request *r)
{
    struct error err;
    int64_t n;

    if (engine_resubmit_member(request_config(r)->engine, request_id(r, 0), request_id(r, 1), &n, &err) < 0)
        request_reply_problem(r, &err);
    else
        resubmission_reply(r, n);
}
