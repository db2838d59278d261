#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "api/idempotency.h"

#include <inttypes.h>
#include <stdio.h>

static void add_location(struct request *r, const json_t *ensemble)
{
    char location[48];

    snprintf(location, sizeof location, "/v1/ensembles/%" PRId64,
             (int64_t)json_integer_value(json_object_get(ensemble, "id")));
    request_add_header(r, "Location", location);
}

static void submit(struct request *r, const json_t *spec, const struct idempotency *key)
{
    struct ensemble_row row;
    struct error err;
    json_t *json;
    int64_t id;

    if (!json_is_object(spec)) {
        error_at(&err, "spec_wrong_type", "", "a spec is an object");
        request_reply_problem(r, &err);
        return;
    }
    if (engine_submit(request_config(r)->engine, spec, &id, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (store_ensemble_get(request_store(r), id, &row, &err) <= 0) {
        request_reply_error(r, "internal", "ensemble %" PRId64 " was accepted and cannot be read back", id);
        return;
    }
    json = ensemble_json(r, &row, &err);
    if (json == NULL) {
        request_reply_error(r, "internal", "ensemble %" PRId64 " was accepted and cannot be shown", id);
        return;
    }
    add_location(r, json);
    idempotency_reply(r, key, 201, json);
}

void ensembles_post(struct request *r)
{
    struct idempotency key;
    json_t *spec;

    if (idempotency_answered(r, "POST /v1/ensembles", &key, add_location))
        return;
    spec = request_json(r);
    if (spec == NULL)
        return;
    submit(r, spec, &key);
    json_decref(spec);
}
