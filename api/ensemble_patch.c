#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "api/who.h"
#include "common/jsonx.h"

#include <string.h>

static int read_width_change(const json_t *json, int64_t *width, enum engine_shrink *shrink, struct error *err)
{
    static const char *const known[] = {"width", "when", NULL};
    const char *when = "later";

    if (!json_is_object(json))
        return error_at(err, "spec_wrong_type", "", "a change is an object, not %s", jsonx_type_name(json));
    if (jsonx_only(json, "", known, err) < 0 ||
        jsonx_int(json, "", "width", JSONX_REQUIRED, 1, SPEC_WIDTH_MAX, width, err) < 0 ||
        jsonx_string(json, "", "when", JSONX_OPTIONAL, &when, err) < 0)
        return -1;
    if (strcmp(when, "now") != 0 && strcmp(when, "later") != 0)
        return error_at(err, "spec_impossible_value", "/when",
                        "\"when\" is \"later\" (what is in flight goes on) or \"now\" (the youngest are stopped)");
    *shrink = strcmp(when, "now") == 0 ? ENGINE_SHRINK_NOW : ENGINE_SHRINK_LATER;
    return 0;
}

void ensemble_patch(struct request *r)
{
    json_t *json = request_json(r);
    enum engine_shrink shrink = ENGINE_SHRINK_LATER;
    char by[WHO_SIZE];
    struct ensemble_row row;
    struct error err;
    int64_t width = 0;

    if (json == NULL)
        return;
    who_asks(r, by);
    if (read_width_change(json, &width, &shrink, &err) < 0 ||
        engine_resize(request_config(r)->engine, request_id(r, 0), width, shrink, by, &row, &err) < 0)
        request_reply_problem(r, &err);
    else
        ensemble_reply(r, 200, &row);
    json_decref(json);
}
