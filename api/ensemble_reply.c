#include "api/ensemble_json.h"
#include "api/find.h"

#include <inttypes.h>
#include <stdio.h>

void ensemble_add_location(struct request *r, const json_t *ensemble)
{
    char location[48];

    snprintf(location, sizeof location, "/v1/ensembles/%" PRId64,
             (int64_t)json_integer_value(json_object_get(ensemble, "id")));
    request_add_header(r, "Location", location);
}

/* Returns the ensemble of the path as JSON, or NULL after having answered with the problem. */
static json_t *ensemble_of_path(struct request *r)
{
    struct ensemble_row row;
    struct error err;
    json_t *json;

    if (find_ensemble(r, &row) < 0)
        return NULL;
    json = ensemble_json(r, &row, &err);
    if (json == NULL)
        request_reply_problem(r, &err);
    return json;
}

void ensemble_reply(struct request *r, int status)
{
    json_t *json = ensemble_of_path(r);

    if (json != NULL)
        request_reply_json(r, status, json);
}

void cancellation_reply(struct request *r, bool cancelled)
{
    json_t *json = ensemble_of_path(r);

    if (json != NULL)
        request_reply_json(r, 202, json_pack("{s:b, s:o}", "cancelled", cancelled, "ensemble", json));
}

void resubmission_reply(struct request *r, const struct idempotency *key, int64_t n)
{
    json_t *json = ensemble_of_path(r);

    if (json != NULL)
        idempotency_reply(r, key, 202, json_pack("{s:I, s:o}", "resubmitted", (json_int_t)n, "ensemble", json));
}
