#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "common/jsonx.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int resubmission_from(const json_t *json, bool *afresh, struct error *err)
{
    const char *from = "checkpoint";

    if (jsonx_string(json, "", "from", JSONX_OPTIONAL, &from, err) < 0)
        return -1;
    *afresh = strcmp(from, "start") == 0;
    if (!*afresh && strcmp(from, "checkpoint") != 0)
        return error_at(err, "spec_impossible_value", "/from",
                        "members go again from \"checkpoint\" or \"start\", not \"%.40s\"", from);
    return 0;
}

/* Reads the body, which is optional. Returns 0, or -1 after having answered. */
static int read_member_resubmission(struct request *r, bool *afresh)
{
    static const char *const known[] = {"from", NULL};
    struct error err;
    size_t size;
    json_t *json;
    int rc = 0;

    *afresh = false;
    request_body(r, &size);
    if (size == 0)
        return 0;
    json = request_json(r);
    if (json == NULL)
        return -1;
    if (!json_is_object(json))
        rc = error_at(&err, "spec_wrong_type", "", "the body must be an object that says how to resubmit, not %s",
                      jsonx_type_name(json));
    else if (jsonx_only(json, "", known, &err) < 0 || resubmission_from(json, afresh, &err) < 0)
        rc = -1;
    json_decref(json);
    if (rc < 0)
        request_reply_problem(r, &err);
    return rc;
}

void member_resubmit_post(struct request *r)
{
    int64_t id = request_id(r, 0), index = request_id(r, 1), n;
    struct ensemble_row row;
    struct idempotency key;
    struct error err;
    bool afresh;
    char call[96];

    snprintf(call, sizeof call, "POST /v1/ensembles/%" PRId64 "/members/%" PRId64 "/resubmit", id, index);
    if (idempotency_answered(r, call, &key, NULL) || read_member_resubmission(r, &afresh) < 0)
        return;
    if (engine_resubmit_member(request_config(r)->engine, id, index, afresh, &n, &row, &err) < 0)
        request_reply_problem(r, &err);
    else
        resubmission_reply(r, &key, n, &row);
}
