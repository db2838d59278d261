#include "api/ensemble_json.h"

#include <inttypes.h>
#include <stdio.h>

void ensemble_add_location(struct request *r, const json_t *ensemble)
{
    char location[48];

    snprintf(location, sizeof location, "/v1/ensembles/%" PRId64,
             (int64_t)json_integer_value(json_object_get(ensemble, "id")));
    request_add_header(r, "Location", location);
}

void ensemble_reply(struct request *r, int status, const struct ensemble_row *row)
{
    struct error err;
    json_t *json = ensemble_json(r, row, &err);

    if (json != NULL)
        request_reply_json(r, status, json);
    else
        request_reply_problem(r, &err);
}

void ensemble_reply_new(struct request *r, const struct idempotency *key, int status, const struct ensemble_row *row)
{
    struct error err;
    json_t *json = ensemble_json(r, row, &err);

    if (json == NULL) {
        request_reply_problem(r, &err);
        return;
    }
    ensemble_add_location(r, json);
    idempotency_reply(r, key, status, json);
}

void resubmission_reply(struct request *r, const struct idempotency *key, int64_t n, const struct ensemble_row *row)
{
    struct error err;
    json_t *json = ensemble_json(r, row, &err);

    if (json != NULL)
        idempotency_reply(r, key, 202, json_pack("{s:I, s:o}", "resubmitted", (json_int_t)n, "ensemble", json));
    else
        request_reply_problem(r, &err);
}
