#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "common/jsonx.h"

#include <inttypes.h>
#include <stdio.h>

/* The states from which a member can go again, unless some of them are named; each once. */
static int read_body(const json_t *json, enum member_state states[2], size_t *n, bool *afresh, struct error *err)
{
    static const char *const known[] = {"states", "from", NULL};
    static const enum member_state possible[] = {MEMBER_FAILED, MEMBER_UNFINISHED};
    bool wanted[MEMBER_STATE_COUNT] = {[MEMBER_FAILED] = true, [MEMBER_UNFINISHED] = true};
    const json_t *names = NULL, *name;
    size_t i;

    if (!json_is_object(json))
        return error_at(err, "spec_wrong_type", "", "what to resubmit is an object, not %s", jsonx_type_name(json));
    if (jsonx_only(json, "", known, err) < 0 || jsonx_strings(json, "", "states", JSONX_OPTIONAL, 1, &names, err) < 0 ||
        resubmission_from(json, afresh, err) < 0)
        return -1;
    if (names != NULL)
        wanted[MEMBER_FAILED] = wanted[MEMBER_UNFINISHED] = false;
    json_array_foreach (names, i, name) {
        enum member_state state;
        char pointer[32];

        snprintf(pointer, sizeof pointer, "/states/%zu", i);
        if (member_state_parse(json_string_value(name), &state) < 0 ||
            (state != MEMBER_FAILED && state != MEMBER_UNFINISHED))
            return error_at(err, "spec_impossible_value", pointer, "members that are failed or unfinished can be resubmitted");
        wanted[state] = true;
    }
    *n = 0;
    for (i = 0; i < sizeof possible / sizeof possible[0]; i++)
        if (wanted[possible[i]])
            states[(*n)++] = possible[i];
    return 0;
}

static void resubmit(struct request *r, const json_t *json, const struct idempotency *key)
{
    enum member_state states[2];
    struct error err;
    int64_t n;
    size_t n_states = 0;
    bool afresh;

    if (read_body(json, states, &n_states, &afresh, &err) < 0 ||
        engine_resubmit(request_config(r)->engine, request_id(r, 0), states, n_states, afresh, &n, &err) < 0)
        request_reply_problem(r, &err);
    else
        resubmission_reply(r, key, n);
}

void ensemble_resubmit_post(struct request *r)
{
    struct idempotency key;
    char call[64];
    json_t *json;

    snprintf(call, sizeof call, "POST /v1/ensembles/%" PRId64 "/resubmit", request_id(r, 0));
    if (idempotency_answered(r, call, &key, NULL))
        return;
    json = request_json(r);
    if (json == NULL)
        return;
    resubmit(r, json, &key);
    json_decref(json);
}
