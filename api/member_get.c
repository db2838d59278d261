#include "api/checkpoint_json.h"
#include "api/find.h"
#include "api/handlers.h"
#include "api/rungs.h"
#include "api/series_json.h"
#include "api/value.h"
#include "daemon/spec/needs.h"
#include "daemon/spec/results.h"
#include "daemon/store/artefact.h"
#include "daemon/store/attempt.h"
#include "daemon/store/suggestion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECKPOINTS_MAX 1000 /* the most checkpoints that a spec may keep */

struct attempt_list {
    const struct request *r;
    json_t *items;
};

static int add_attempt_json(void *arg, const struct attempt_row *row)
{
    const struct attempt_list *attempts = arg;
    json_t *json = json_object();
    const char *outcome = attempt_outcome_name(row->end.outcome);
    char waits_for[400] = "";

    if (outcome == NULL)
        engine_job_waits_for(request_config(attempts->r)->engine, row->job, waits_for, sizeof waits_for);
    json_object_set_new(json, "number", json_integer(row->number));
    json_object_set_new(json, "job", value_text(row->job_name));
    json_object_set_new(json, "state",
                        value_text(outcome != NULL            ? "ended"
                                   : row->end.started_ms != 0 ? "running"
                                                              : "submitted"));
    json_object_set_new(json, "outcome", value_text_or_null(outcome));
    json_object_set_new(json, "exit_code", row->end.exit_code >= 0 ? json_integer(row->end.exit_code) : json_null());
    json_object_set_new(json, "signal", row->end.signal > 0 ? json_integer(row->end.signal) : json_null());
    json_object_set_new(json, "reason", value_text_or_null(row->end.reason));
    json_object_set_new(json, "notice", value_text_or_null(row->end.notice));
    json_object_set_new(json, "waits_for", value_text_or_null(waits_for));
    json_object_set_new(json, "host", value_text_or_null(row->end.host));
    json_object_set_new(json, "hosts",
                        outcome == NULL ? engine_member_hosts(request_config(attempts->r)->engine, row->job, row->index)
                                        : json_array());
    json_object_set_new(json, "resumed", value_text_or_null(row->resumed));
    json_object_set_new(json, "submitted", value_time(row->submitted_ms));
    json_object_set_new(json, "started", value_time(row->end.started_ms));
    json_object_set_new(json, "ended", value_time(row->end.ended_ms));
    json_object_set_new(json, "cpu_seconds", value_seconds(row->end.cpu_ms, row->end.measured));
    json_object_set_new(json, "memory_peak", row->end.measured ? json_integer(row->end.memory_peak) : json_null());
    json_object_set_new(json, "output_released", value_time(row->released_ms));
    if (row->rung > 0)
        json_object_set_new(json, "rung", json_integer(row->rung));
    json_array_append_new(attempts->items, json);
    return 0;
}

static int add_checkpoint(void *arg, const struct member_checkpoint_row *row)
{
    const struct attempt_list *checkpoints = arg;

    json_array_append_new(checkpoints->items, checkpoint_json(checkpoints->r, row));
    return 0;
}

static int add_artefact(void *arg, const struct artefact_row *row)
{
    const struct attempt_list *artefacts = arg;

    json_array_append_new(artefacts->items,
                          json_pack("{s:o, s:I, s:s, s:I}", "path", value_text(row->path), "size",
                                    (json_int_t)row->size, "sha256", row->sha256, "attempt", (json_int_t)row->attempt));
    return 0;
}

/* Returns the directory with links to the member's artefacts, or null. */
static json_t *results_json(const struct request *r, const struct member_row *row, const struct spec *spec)
{
    const struct engine *engine = request_config(r)->engine;
    json_t *values = spec->results != NULL ? params_at(spec->params, row->index) : NULL, *json = NULL;
    struct error ignored; /* a member without such a directory */
    char *path = values != NULL ? spec_results_of(spec, row->index, values, &ignored) : NULL, *whole;

    if (path != NULL) {
        whole = engine_results_path(engine, engine_checkpoint_home_of(engine, row->ensemble), path);
        json = value_text(whole);
        free(whole);
    }
    free(path);
    json_decref(values);
    return value_or_null(json);
}

/* `suggested` is the name of its suggestion, or NULL if it was none. */
static json_t *member_json(const struct request *r, const struct member_row *row, const struct spec *spec,
                           const char *suggested, json_t *attempts, json_t *checkpoints, json_t *artefacts)
{
    json_t *json = json_object(), *parameters = params_at(spec->params, row->index),
           *needs = needs_json(spec, parameters);
    char seed[24];

    /* too large for some JSON readers */
    snprintf(seed, sizeof seed, "%" PRIu64, params_seed(spec->params, row->index));
    json_object_set_new(json, "ensemble", json_integer(row->ensemble));
    json_object_set_new(json, "index", json_integer(row->index));
    json_object_set_new(json, "state", value_text(member_state_name(row->state)));
    json_object_set_new(json, "parameters", value_or_null(parameters));
    if (suggested != NULL)
        json_object_set_new(json, "name", value_text_or_null(suggested));
    if (needs != NULL)
        json_object_set_new(json, "resources", needs);
    json_object_set_new(json, "seed", value_text(seed));
    json_object_set_new(json, "reason", value_text_or_null(row->reason));
    json_object_set_new(json, "retry_at", value_time(find_retry_ms(r, row)));
    json_object_set_new(json, "progress", value_real(row->progress));
    json_object_set_new(json, "follow_up_of", row->predecessor != 0 ? json_integer(row->predecessor) : json_null());
    json_object_set_new(json, "follow_up", row->successor != 0 ? json_integer(row->successor) : json_null());
    json_object_set_new(json, "attempts", attempts);
    json_object_set_new(json, "checkpoints", checkpoints);
    json_object_set_new(json, "artefacts", artefacts);
    json_object_set_new(json, "results", results_json(r, row, spec));
    json_object_set_new(json, "output", json_string(spec->members.merged ? "merged" : "separate"));
    return json;
}

void member_get(struct request *r)
{
    struct ensemble_row ensemble;
    struct member_row row;
    struct spec *owned = NULL;
    const struct spec *spec;
    struct error err;
    const struct member_checkpoint_place from = {0};
    struct attempt_list checkpoints = {.r = r}, attempts = {.r = r}, artefacts = {.r = r};
    char name[SUGGESTION_NAME];
    json_t *json;

    if (find_member(r, &ensemble, &row) < 0)
        return;
    spec = engine_spec(request_config(r)->engine, ensemble.id, &owned, &err);
    if (spec == NULL) {
        request_reply_problem(r, &err);
        return;
    }
    attempts.items = json_array();
    checkpoints.items = json_array();
    artefacts.items = json_array();
    if (store_suggestion_name(request_store(r), ensemble_root(&ensemble), row.index, name, &err) == 0 &&
        store_attempt_each(request_store(r), ensemble.id, row.index, add_attempt_json, &attempts, &err) == 0 &&
        store_artefact_each(request_store(r), ensemble.id, row.index, add_artefact, &artefacts, &err) == 0 &&
        store_member_checkpoint_each(request_store(r), &from,
                                     engine_checkpoint_home_of(request_config(r)->engine, ensemble.id), row.index,
                                     CHECKPOINTS_MAX, add_checkpoint, &checkpoints, &err) == 0) {
        json = member_json(r, &row, spec, ensemble.intake != INTAKE_NONE ? name : NULL, attempts.items,
                           checkpoints.items, artefacts.items);
        if (rungs_add(json, request_store(r), spec, ensemble.id, row.index, &err) == 0 &&
            series_json_add(json, request_store(r), ensemble.id, row.index, NULL, &err) == 0) {
            request_reply_json(r, 200, json);
        } else {
            json_decref(json);
            request_reply_problem(r, &err);
        }
    } else {
        json_decref(attempts.items);
        json_decref(checkpoints.items);
        json_decref(artefacts.items);
        request_reply_problem(r, &err);
    }
    spec_destroy(owned);
}
