#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "api/states.h"
#include "common/jsonx.h"

#include <inttypes.h>
#include <stdio.h>

static int read_states_to_resubmit(const json_t *json, enum member_state states[MEMBER_STATE_COUNT], size_t *n,
                                   bool *afresh, struct error *err)
{
    static const char *const known[] = {"states", "from", NULL};

    states[0] = MEMBER_FAILED;
    states[1] = MEMBER_UNFINISHED;
    *n = 2;
    if (!json_is_object(json))
        return error_at(err, "spec_wrong_type", "", "the body must be an object that says what to resubmit, not %s",
                        jsonx_type_name(json));
    if (jsonx_only(json, "", known, err) < 0 || resubmission_from(json, afresh, err) < 0)
        return -1;
    return states_read(json, "be resubmitted", states, n, true, err);
}

static void resubmit_members(struct request *r, const json_t *json, const struct idempotency *key)
{
    enum member_state states[MEMBER_STATE_COUNT];
    struct ensemble_row row;
    struct error err;
    int64_t n;
    size_t n_states = 0;
    bool afresh;

    if (read_states_to_resubmit(json, states, &n_states, &afresh, &err) < 0 ||
        engine_resubmit(request_config(r)->engine, request_id(r, 0), states, n_states, afresh, &n, &row, &err) < 0)
        request_reply_problem(r, &err);
    else
        resubmission_reply(r, key, n, &row);
}

void ensemble_resubmit_post(struct request *r)
{
    struct idempotency key;
    char call[64];
    json_t *json;

    snprintf(call, sizeof call, "POST /v1/ensembles/%" PRId64 "/resubmit", request_id(r, 0));
    if (idempotency_answered(r, call, &key, NULL))
        return;
    json = request_json(r);
    if (json == NULL)
        return;
    resubmit_members(r, json, &key);
    json_decref(json);
}
