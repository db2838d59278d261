#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"
#include "daemon/store/attempt.h"

#include <inttypes.h>
#include <stdio.h>

static int add_attempt(void *arg, const struct attempt_row *row)
{
    json_t *json = json_object();
    const char *outcome = attempt_outcome_name(row->outcome);

    json_object_set_new(json, "number", json_integer(row->number));
    json_object_set_new(json, "job", value_text(row->job_name));
    json_object_set_new(json, "state",
                        value_text(outcome != NULL ? "ended" : row->started_ms != 0 ? "running" : "submitted"));
    json_object_set_new(json, "outcome", value_text_or_null(outcome));
    json_object_set_new(json, "exit_code", row->exit_code >= 0 ? json_integer(row->exit_code) : json_null());
    json_object_set_new(json, "signal", row->signal > 0 ? json_integer(row->signal) : json_null());
    json_object_set_new(json, "reason", value_text_or_null(row->reason));
    json_object_set_new(json, "host", value_text_or_null(row->host));
    json_object_set_new(json, "submitted", value_time(row->submitted_ms));
    json_object_set_new(json, "started", value_time(row->started_ms));
    json_object_set_new(json, "ended", value_time(row->ended_ms));
    json_object_set_new(json, "output_released", value_time(row->released_ms));
    json_array_append_new(arg, json);
    return 0;
}

static json_t *member_json(const struct member_row *row, const struct spec *spec, json_t *attempts)
{
    json_t *json = json_object();
    char seed[24];

    snprintf(seed, sizeof seed, "%" PRIu64, params_seed(spec->params, row->index)); /* beyond what JSON readers keep */
    json_object_set_new(json, "ensemble", json_integer(row->ensemble));
    json_object_set_new(json, "index", json_integer(row->index));
    json_object_set_new(json, "state", value_text(member_state_name(row->state)));
    json_object_set_new(json, "parameters", value_or_null(params_at(spec->params, row->index)));
    json_object_set_new(json, "seed", value_text(seed));
    json_object_set_new(json, "reason", value_text_or_null(row->reason));
    json_object_set_new(json, "attempts", attempts);
    return json;
}

void member_get(struct request *r)
{
    struct ensemble_row ensemble;
    struct member_row row;
    struct spec *owned = NULL;
    const struct spec *spec;
    struct error err;
    json_t *attempts;

    if (find_member(r, &ensemble, &row) < 0)
        return;
    spec = engine_spec(request_config(r)->engine, ensemble.id, &owned, &err);
    if (spec == NULL) {
        request_reply_problem(r, &err);
        return;
    }
    attempts = json_array();
    if (store_attempt_each(request_store(r), ensemble.id, row.index, add_attempt, attempts, &err) == 0) {
        request_reply_json(r, 200, member_json(&row, spec, attempts));
    } else {
        json_decref(attempts);
        request_reply_problem(r, &err);
    }
    spec_destroy(owned);
}
