#include "api/checkpoint_json.h"
#include "api/ensemble_json.h"
#include "api/value.h"

#include <stdlib.h>
#include <string.h>

/* The last value of each series, and its range. A name that is not UTF-8 cannot be a key, and is left out. */
struct metric_objects {
    json_t *last, *ranges;
};

static int add_metric_figures(void *arg, const char *name, const struct metric_figures *figures)
{
    struct metric_objects *series = arg;

    json_object_set_new(series->last, name, value_metric(figures->last));
    json_object_set_new(series->ranges, name,
                        json_pack("{s:o, s:o}", "min", value_real(figures->min), "max", value_real(figures->max)));
    return 0;
}

/* Returns how long members and training wait for each other. */
static json_t *waits_json(const struct request *r, int64_t ensemble)
{
    double for_samples, for_room;

    if (!engine_training_waits(request_config(r)->engine, ensemble, &for_samples, &for_room))
        return json_null();
    return json_pack("{s:f, s:f}", "for_samples", for_samples, "for_room", for_room);
}

/* Returns what a training that ended early did not need; null if it did not. `sum` is of its ranks. Members that are
 * still being ended count. */
static int early_json(const struct request *r, const struct training_row *row, const struct rank_row *sum,
                      int64_t unneeded, json_t **json, struct error *err)
{
    int64_t n[MEMBER_STATE_COUNT] = {0}, members = 0;

    *json = json_null();
    if (!row->early)
        return 0;
    if (store_tally_get(request_store(r), row->ensemble, n, err) < 0)
        return -1;
    for (enum member_state state = 0; state < MEMBER_STATE_COUNT; state++)
        members += state != MEMBER_SUCCEEDED && state != MEMBER_FAILED ? n[state] : 0;
    *json = json_pack("{s:I, s:o, s:I}", "members", (json_int_t)members, "steps",
                      row->missing[0] ? json_integer(unneeded) : json_null(), "undrawn",
                      (json_int_t)(sum->unique - sum->drawn));
    return 0;
}

json_t *training_json(const struct request *r, const struct training_row *row, struct error *err)
{
    struct metric_objects series = {json_object(), json_object()};
    struct training_checkpoint_row newest;
    int64_t retries = engine_training_retries_left(request_config(r)->engine, row->ensemble);
    struct rank_row sum;
    char waits_for[400];
    json_t *json, *missing = row->missing[0] ? json_loads(row->missing, 0, NULL) : json_null(), *early;
    int64_t unneeded = json_integer_value(json_object_get(missing, "unneeded"));
    char *dir;
    int rc;

    rc = store_training_checkpoint_newest(request_store(r), row->id, &newest, err);
    if (rc < 0 || store_rank_sum(request_store(r), row, &sum, err) < 0 ||
        store_metric_each_series(request_store(r), row->id, add_metric_figures, &series, err) < 0 ||
        early_json(r, row, &sum, unneeded, &early, err) < 0) {
        json_decref(series.last);
        json_decref(series.ranges);
        json_decref(missing);
        return NULL;
    }
    json = json_object();
    json_object_set_new(json, "id", json_integer(row->id));
    json_object_set_new(json, "ensemble", json_integer(row->ensemble));
    json_object_set_new(json, "state", value_text(training_state_name(row->state)));
    json_object_set_new(json, "reason", training_is_over(row) ? value_text_or_null(row->reason) : json_null());
    json_object_set_new(json, "before", training_is_over(row) ? json_null() : value_text_or_null(row->reason));
    engine_training_waits_for(request_config(r)->engine, row->ensemble, waits_for, sizeof waits_for);
    json_object_set_new(json, "waits_for", value_text_or_null(waits_for));
    json_object_set_new(json, "adapter", value_text(row->adapter));
    json_object_set_new(json, "hosts", engine_training_hosts(request_config(r)->engine, row->ensemble));
    json_object_set_new(json, "ranks", json_integer(row->ranks));
    json_object_set_new(json, "wanted_ranks", row->wanted > 0 ? json_integer(row->wanted) : json_null());
    json_object_set_new(json, "can_resize",
                        json_boolean(engine_can_resize_training(request_config(r)->engine, row->ensemble)));
    json_object_set_new(json, "generation", json_integer(row->generation));
    json_object_set_new(json, "restarts", json_integer(row->restarts));
    json_object_set_new(json, "failures", json_integer(row->failures));
    json_object_set_new(json, "retries_left", retries >= 0 ? json_integer(retries) : json_null());
    json_object_set_new(json, "resumed_from", value_text_or_null(row->resumed.name));
    json_object_set_new(json, "checkpoint", rc == 1 ? training_checkpoint_json(r, &newest) : json_null());
    json_object_set_new(json, "received", json_integer(sum.received));
    json_object_set_new(json, "unique", json_integer(sum.unique));
    json_object_set_new(json, "duplicates", json_integer(sum.duplicates));
    json_object_set_new(json, "skipped", json_integer(sum.skipped));
    json_object_set_new(json, "drawn", json_integer(sum.drawn));
    json_object_set_new(json, "batches", json_integer(sum.batches));
    json_object_set_new(json, "repeats", json_integer(sum.repeats));
    json_object_del(missing, "unneeded");
    json_object_set_new(json, "missing", missing);
    json_object_set_new(json, "ended_early", early);
    json_object_set_new(json, "samples_per_second", value_real(sum.samples_per_second));
    json_object_set_new(json, "waits", waits_json(r, row->ensemble));
    json_object_set_new(json, "created", value_time(row->created_ms));
    json_object_set_new(json, "started", value_time(row->started_ms));
    json_object_set_new(json, "ended", value_time(training_is_over(row) ? row->ended_ms : 0));
    dir = engine_generation_dir(request_config(r)->engine, row->ensemble, row->generation);
    json_object_set_new(json, "dir", value_text(dir));
    free(dir);
    json_object_set_new(json, "metrics", series.last);
    json_object_set_new(json, "metric_ranges", series.ranges);
    return json;
}
