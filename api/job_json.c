#include "api/job_json.h"

#include "api/value.h"

#include <stdio.h>
#include <string.h>

/* Returns the name of a job's pilot. Names of one daemon's jobs differ only in the id, which is their last part. */
static json_t *name_of_pilot(const struct job_row *row)
{
    const char *last = strrchr(row->name, '-');
    char name[sizeof row->name + 24];

    if (row->pilot == 0 || last == NULL)
        return json_null();
    snprintf(name, sizeof name, "%.*s-%lld", (int)(last - row->name), row->name, (long long)row->pilot);
    return value_text(name);
}

json_t *job_json(const struct request *r, const struct job_row *row)
{
    json_t *json = json_object();
    char waits_for[400];

    engine_job_waits_for(request_config(r)->engine, row->id, waits_for, sizeof waits_for);
    json_object_set_new(json, "id", json_integer(row->id));
    json_object_set_new(json, "name", value_text(row->name));
    json_object_set_new(json, "ensemble", json_integer(row->ensemble));
    json_object_set_new(json, "kind", value_text(job_kind_name(row->kind)));
    json_object_set_new(json, "adapter", value_text(row->adapter));
    json_object_set_new(json, "pilot", name_of_pilot(row));
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
