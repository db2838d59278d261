#include "api/ensemble_json.h"
#include "api/follow_up_body.h"
#include "api/handlers.h"
#include "api/value.h"
#include "common/jsonx.h"

#include <inttypes.h>

#define CALL "POST /v1/follow-ups"
#define MADE_MAX 20 /* follow-ups of one call, since each takes over its first members at once */

struct follow_ups_reply {
    struct request *r;
    json_t *made, *refused;
    bool failed;
    struct error err; /* of the first that cannot be shown */
};

static void add_follow_up_result(void *arg, int64_t root, const struct ensemble_row *follow_up,
                                 const struct error *failed)
{
    struct follow_ups_reply *m = arg;
    json_t *json;

    if (failed != NULL) {
        json_array_append_new(m->refused, json_pack("{s:I, s:s, s:o, s:o}", "ensemble", (json_int_t)root, "code",
                                                    failed->code, "detail", value_text(failed->text), "pointer",
                                                    value_text_or_null(failed->pointer)));
        return;
    }
    json = m->failed ? NULL : ensemble_json(m->r, follow_up, &m->err);
    m->failed = json == NULL;
    if (json != NULL)
        json_array_append_new(m->made, json);
}

static void follow_up_all(struct request *r, json_t *body, const struct idempotency *key)
{
    struct follow_ups_reply m = {.r = r, .made = json_array(), .refused = json_array()};
    int64_t after = 0;
    struct error err;

    if (!json_is_object(body))
        after = 0; /* follow_up_body_check() below reports the mistake */
    else if (jsonx_int(body, "", "after", JSONX_OPTIONAL, 0, INT64_MAX, &after, &err) < 0)
        goto fail;
    else
        json_object_del(body, "after");
    if (follow_up_body_check(body, NULL, &err) < 0 ||
        engine_follow_up_all(request_config(r)->engine, body, MADE_MAX, &after, add_follow_up_result, &m, &err) < 0)
        goto fail;
    if (m.failed) {
        err = m.err;
        goto fail;
    }
    idempotency_reply(r, key, 200,
                      json_pack("{s:o, s:o, s:o}", "follow_ups", m.made, "refused", m.refused, "next",
                                after != 0 ? json_integer(after) : json_null()));
    return;
fail:
    json_decref(m.made);
    json_decref(m.refused);
    request_reply_problem(r, &err);
}

void follow_ups_post(struct request *r)
{
    struct idempotency key;
    json_t *body;

    if (idempotency_answered(r, CALL, &key, NULL))
        return;
    body = request_json(r);
    if (body == NULL)
        return;
    follow_up_all(r, body, &key);
    json_decref(body);
}
