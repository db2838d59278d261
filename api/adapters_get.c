#include "api/handlers.h"
#include "api/request.h"
#include "api/value.h"
#include "daemon/store/job.h"

/* Returns an adapter as JSON; NULL with err if the store fails. */
static json_t *adapter_json(struct request *r, const char *name, const char *path, struct error *err)
{
    struct engine_adapter adapter = {0};
    json_t *json = json_object(), *jobs = json_object();
    int64_t n[JOB_ENDED];

    engine_adapter(request_config(r)->engine, name, &adapter);
    json_object_set_new(json, "name", value_text(name));
    json_object_set_new(json, "plugin", value_text_or_null(path));
    json_object_set_new(json, "slots", adapter.slots > 0 ? json_integer(adapter.slots) : json_null());
    json_object_set_new(json, "state", value_text(engine_adapter_state_name(adapter.state)));
    json_object_set_new(json, "sentence", value_text(adapter.sentence));
    json_object_set_new(json, "answered", value_time(adapter.answered_ms));
    json_object_set_new(json, "failing_since", value_time(adapter.failing_since_ms));
    json_object_set_new(json, "reason", value_text_or_null(adapter.reason));
    json_object_set_new(json, "asked_next", value_time(adapter.next_ms));
    json_object_set_new(json, "ensembles", json_integer(adapter.ensembles));
    json_object_set_new(json, "jobs", jobs);
    if (store_job_count_live(request_store(r), name, n, err) < 0) {
        json_decref(json);
        return NULL;
    }
    for (int i = 0; i < JOB_ENDED; i++)
        json_object_set_new(jobs, job_state_name((enum job_state)i), json_integer(n[i]));
    return json;
}

void adapters_get(struct request *r)
{
    const struct adapters *all = request_config(r)->adapters;
    json_t *list = json_array(), *refused = json_array();
    struct error err;

    for (size_t i = 0; i < adapters_count(all); i++) {
        json_t *json = adapter_json(r, adapters_name(all, i), adapters_path(all, i), &err);

        if (json == NULL) {
            json_decref(list);
            json_decref(refused);
            request_reply_problem(r, &err);
            return;
        }
        json_array_append_new(list, json);
    }
    for (const struct adapters_refused *one = adapters_refused(all); one->path != NULL; one++)
        json_array_append_new(refused, json_pack("{s:o, s:o, s:o}", "path", value_text(one->path), "code",
                                                 value_text(one->err.code), "reason", value_text(one->err.text)));
    request_reply_json(r, 200, json_pack("{s:o, s:o}", "adapters", list, "refused", refused));
}
