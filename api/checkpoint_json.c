#include "api/checkpoint_json.h"

#include "api/value.h"
#include "common/xalloc.h"

#include <stdlib.h>

json_t *checkpoint_json(const struct request *r, const struct member_checkpoint_row *row)
{
    char *path = engine_checkpoint_path(request_config(r)->engine, row->home, row->index, row->path);
    json_t *json = json_object();

    json_object_set_new(json, "of", value_text("member"));
    json_object_set_new(json, "ensemble", json_integer(row->home));
    json_object_set_new(json, "member", json_integer(row->index));
    json_object_set_new(json, "number", json_integer(row->number));
    json_object_set_new(json, "path", value_text(path));
    json_object_set_new(json, "step", row->step >= 0 ? json_integer(row->step) : json_null());
    json_object_set_new(json, "size", json_integer(row->size));
    json_object_set_new(json, "digest", value_text(row->digest));
    json_object_set_new(json, "time", value_time(row->time_ms));
    json_object_set_new(
        json, "made_by",
        json_pack("{s:I, s:I}", "ensemble", (json_int_t)row->ensemble, "attempt", (json_int_t)row->attempt));
    free(path);
    return json;
}

json_t *training_checkpoint_json(const struct request *r, const struct training_checkpoint_row *row)
{
    char *dir = engine_training_checkpoint_path(request_config(r)->engine, row->ensemble, row->name);
    char *path = xasprintf("%s/state-rank0", dir);
    json_t *json = json_object();

    json_object_set_new(json, "of", value_text("training"));
    json_object_set_new(json, "ensemble", json_integer(row->ensemble));
    json_object_set_new(json, "training", json_integer(row->training));
    json_object_set_new(json, "number", json_integer(row->number));
    json_object_set_new(json, "name", value_text(row->name));
    json_object_set_new(json, "path", value_text(path));
    json_object_set_new(json, "generation", json_integer(row->generation));
    json_object_set_new(json, "ranks", json_integer(row->ranks));
    json_object_set_new(json, "step", json_integer(row->step));
    json_object_set_new(json, "batches", json_integer(row->batches));
    json_object_set_new(json, "drawn", json_integer(row->drawn));
    json_object_set_new(json, "whole", json_integer(row->members));
    json_object_set_new(json, "size", json_integer(row->size));
    json_object_set_new(json, "digest", value_text(row->digest));
    json_object_set_new(json, "damaged", json_boolean(row->damaged));
    json_object_set_new(json, "time", value_time(row->time_ms));
    free(path);
    free(dir);
    return json;
}
