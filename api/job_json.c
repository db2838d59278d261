#include "api/job_json.h"

#include "api/value.h"

#include <stdio.h>
#include <string.h>

/* Finds the name of a job's pilot, or null. It cannot be made of the job's own name: each load of the engine's memory
 * names jobs by another nonce. */
static json_t *name_of_pilot(const struct request *r, const struct job_row *row, struct error *err)
{
    struct job_row pilot;
    int rc = row->pilot == 0 ? 0 : store_job_get(request_store(r), row->pilot, &pilot, err);

    return rc < 0 ? NULL : rc == 0 ? json_null() : value_text(pilot.name);
}

json_t *job_json(const struct request *r, const struct job_row *row, struct error *err)
{
    json_t *pilot = name_of_pilot(r, row, err), *json;
    char waits_for[400];

    if (pilot == NULL)
        return NULL;
    json = json_object();
    engine_job_waits_for(request_config(r)->engine, row->id, waits_for, sizeof waits_for);
    json_object_set_new(json, "id", json_integer(row->id));
    json_object_set_new(json, "name", value_text(row->name));
    json_object_set_new(json, "ensemble", json_integer(row->ensemble));
    json_object_set_new(json, "kind", value_text(job_kind_name(row->kind)));
    json_object_set_new(json, "adapter", value_text(row->adapter));
    json_object_set_new(json, "pilot", pilot);
    json_object_set_new(json, "state", value_text(job_state_name(row->state)));
    json_object_set_new(json, "scheduler_id", value_text_or_null(row->scheduler_id));
    json_object_set_new(json, "size", json_integer(row->size));
    json_object_set_new(json, "submissions", json_integer(row->submissions));
    json_object_set_new(json, "cancel", json_boolean(row->cancel));
    json_object_set_new(json, "reason", value_text_or_null(row->reason));
    json_object_set_new(json, "waits_for", value_text_or_null(waits_for));
    json_object_set_new(json, "created", value_time(row->created_ms));
    json_object_set_new(json, "submitted", value_time(row->submitted_ms));
    json_object_set_new(json, "started", value_time(row->started_ms));
    json_object_set_new(json, "ended", value_time(row->ended_ms));
    return json;
}
