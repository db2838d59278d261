#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "common/jsonx.h"

#include <inttypes.h>
#include <stdio.h>

/* Reads which checkpoint is meant: by its name or its number. */
static int read_chosen_checkpoint(const json_t *json, struct engine_resubmission *wish, struct error *err)
{
    if (json_is_string(json_object_get(json, "checkpoint")))
        return jsonx_string(json, "", "checkpoint", JSONX_OPTIONAL, &wish->name, err);
    return jsonx_int(json, "", "checkpoint", JSONX_OPTIONAL, 1, INT64_MAX, &wish->number, err);
}

static int read_resubmission(const json_t *json, struct engine_resubmission *wish, struct error *err)
{
    static const char *const known[] = {"from", "checkpoint", "command", "env", "ranks", "resources", NULL};

    if (!json_is_object(json))
        return error_at(err, "spec_wrong_type", "",
                        "the body must be an object that says how to resubmit the training, not %s",
                        jsonx_type_name(json));
    if (jsonx_only(json, "", known, err) < 0 || resubmission_from(json, &wish->afresh, err) < 0 ||
        read_chosen_checkpoint(json, wish, err) < 0)
        return -1;
    if (wish->afresh && (wish->name != NULL || wish->number != 0))
        return error_at(err, "spec_impossible_value", "/checkpoint",
                        "a training begins either from a checkpoint or from the \"start\"");
    wish->changes = json;
    return 0;
}

static void resubmit_training(struct request *r, const json_t *body, const struct idempotency *key)
{
    struct engine_resubmission wish = {.number = 0};
    struct training_row row;
    struct error err;
    json_t *json = NULL;

    if (read_resubmission(body, &wish, &err) == 0 &&
        engine_resubmit_training(request_config(r)->engine, request_id(r, 0), &wish, &row, &err) == 0)
        json = training_json(r, &row, &err);
    if (json != NULL)
        idempotency_reply(r, key, 202, json);
    else
        request_reply_problem(r, &err);
}

void training_resubmit_post(struct request *r)
{
    struct idempotency key;
    char call[64];
    json_t *json;
    size_t size;

    snprintf(call, sizeof call, "POST /v1/trainings/%" PRId64 "/resubmit", request_id(r, 0));
    if (idempotency_answered(r, call, &key, NULL))
        return;
    request_body(r, &size);
    json = size > 0 ? request_json(r) : json_object();
    if (json == NULL)
        return;
    resubmit_training(r, json, &key);
    json_decref(json);
}
