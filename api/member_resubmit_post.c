#include "api/ensemble_json.h"
#include "api/handlers.h"

#include <inttypes.h>
#include <stdio.h>

void member_resubmit_post(struct request *r)
{
    int64_t id = request_id(r, 0), index = request_id(r, 1), n;
    struct idempotency key;
    struct error err;
    char call[96];

    snprintf(call, sizeof call, "POST /v1/ensembles/%" PRId64 "/members/%" PRId64 "/resubmit", id, index);
    if (idempotency_answered(r, call, &key, NULL))
        return;
    if (engine_resubmit_member(request_config(r)->engine, id, index, &n, &err) < 0)
        request_reply_problem(r, &err);
    else
        resubmission_reply(r, &key, n);
}
