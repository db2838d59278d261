#include "api/ensemble_json.h"
#include "api/follow_up_body.h"
#include "api/handlers.h"

#include <inttypes.h>
#include <stdio.h>

static void follow_up_ensemble(struct request *r, const json_t *body, const struct idempotency *key)
{
    struct engine_follow_up wish = {.states = {MEMBER_UNFINISHED}, .n_states = 1, .changes = body};
    struct ensemble_row row;
    struct error err;
    bool made;

    if (follow_up_body_check(body, &wish, &err) < 0 ||
        engine_follow_up(request_config(r)->engine, request_id(r, 0), &wish, &row, &made, &err) < 0)
        request_reply_problem(r, &err);
    else
        ensemble_reply_new(r, key, made ? 201 : 200, &row);
}

void ensemble_follow_up_post(struct request *r)
{
    struct idempotency key;
    char call[64];
    json_t *body;

    snprintf(call, sizeof call, "POST /v1/ensembles/%" PRId64 "/follow-up", request_id(r, 0));
    if (idempotency_answered(r, call, &key, ensemble_add_location))
        return;
    body = request_json(r);
    if (body == NULL)
        return;
    follow_up_ensemble(r, body, &key);
    json_decref(body);
}
