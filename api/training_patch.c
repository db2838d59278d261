#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "api/who.h"
#include "common/jsonx.h"

static int read_ranks_change(const json_t *json, int64_t *ranks, struct error *err)
{
    static const char *const known[] = {"ranks", NULL};

    if (!json_is_object(json))
        return error_at(err, "spec_wrong_type", "", "a change is an object, not %s", jsonx_type_name(json));
    if (jsonx_only(json, "", known, err) < 0)
        return -1;
    return jsonx_int(json, "", "ranks", JSONX_REQUIRED, 1, SPEC_RANKS_MAX, ranks, err);
}

void training_patch(struct request *r)
{
    json_t *json = request_json(r);
    struct training_row row;
    char by[WHO_SIZE];
    struct error err;
    int64_t ranks = 0;

    if (json == NULL)
        return;
    who_asks(r, by);
    if (read_ranks_change(json, &ranks, &err) < 0 ||
        engine_resize_training(request_config(r)->engine, request_id(r, 0), ranks, by, &row, &err) < 0)
        request_reply_problem(r, &err);
    else
        training_reply(r, &row);
    json_decref(json);
}
