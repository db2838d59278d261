/* Takes members that a generator suggests to an open ensemble. */
#include "api/handlers.h"
#include "api/idempotency.h"
#include "api/value.h"
#include "common/jsonx.h"
#include "common/xalloc.h"
#include "daemon/store/suggestion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUGGESTIONS_MAX 1000 /* of one call, so that no turn is long */

static int check_suggested_name(const char *name, const char *at, struct error *err)
{
    char place[80];

    jsonx_pointer(place, sizeof place, at, "name");
    if (name == NULL)
        return 0;
    if (strlen(name) >= SUGGESTION_NAME)
        return error_at(err, "spec_impossible_value", place, "a name has at most %d bytes", SUGGESTION_NAME - 1);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return error_at(err, "spec_impossible_value", place, "a name has no control characters");
    return 0;
}

static int read_suggestion(const json_t *json, size_t i, struct engine_suggestion *out, struct error *err)
{
    static const char *const known[] = {"name", "parameters", "priority", NULL};
    char at[48];

    snprintf(at, sizeof at, "/suggestions/%zu", i);
    if (!json_is_object(json))
        return error_at(err, "spec_wrong_type", at, "a suggestion is an object with \"parameters\", not %s",
                        jsonx_type_name(json));
    if (jsonx_only(json, at, known, err) < 0 || jsonx_string(json, at, "name", JSONX_OPTIONAL, &out->name, err) < 0 ||
        check_suggested_name(out->name, at, err) < 0 ||
        jsonx_object(json, at, "parameters", JSONX_REQUIRED, &out->parameters, err) < 0)
        return -1;
    return jsonx_int(json, at, "priority", JSONX_OPTIONAL, -SUGGESTION_PRIORITY_MAX, SUGGESTION_PRIORITY_MAX,
                     &out->priority, err);
}

/* Reads the list. *out is to be freed. */
static int read_suggestions(const json_t *json, struct engine_suggestion **out, size_t *n, struct error *err)
{
    static const char *const known[] = {"suggestions", NULL};
    const json_t *list = NULL;

    if (!json_is_object(json))
        return error_at(err, "spec_wrong_type", "", "the body must be an object with \"suggestions\", not %s",
                        jsonx_type_name(json));
    if (jsonx_only(json, "", known, err) < 0 || jsonx_array(json, "", "suggestions", JSONX_REQUIRED, 1, &list, err) < 0)
        return -1;
    *n = json_array_size(list);
    if (*n > SUGGESTIONS_MAX)
        return error_at(err, "spec_impossible_value", "/suggestions",
                        "one call has at most %d suggestions, and these are %zu", SUGGESTIONS_MAX, *n);
    *out = xcalloc(*n, sizeof **out);
    for (size_t i = 0; i < *n; i++)
        if (read_suggestion(json_array_get(list, i), i, &(*out)[i], err) < 0)
            return -1;
    return 0;
}

static void reply_suggested(struct request *r, const struct idempotency *key, const struct engine_suggestion *list,
                            size_t n)
{
    json_t *items = json_array();
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(items, json_pack("{s:I, s:o, s:b}", "index", (json_int_t)list[i].index, "name",
                                               value_text_or_null(list[i].name), "new", list[i].made));
        any = any || list[i].made;
    }
    idempotency_reply(r, key, any ? 201 : 200,
                      json_pack("{s:I, s:o}", "ensemble", (json_int_t)request_id(r, 0), "suggestions", items));
}

void suggestions_post(struct request *r)
{
    struct engine_suggestion *list = NULL;
    struct idempotency key;
    struct error err;
    char call[64];
    json_t *json;
    size_t n = 0;

    snprintf(call, sizeof call, "POST /v1/ensembles/%" PRId64 "/suggestions", request_id(r, 0));
    if (idempotency_answered(r, call, &key, NULL))
        return;
    json = request_json(r);
    if (json == NULL)
        return;
    if (read_suggestions(json, &list, &n, &err) < 0 ||
        engine_suggest(request_config(r)->engine, request_id(r, 0), list, n, &err) < 0)
        request_reply_problem(r, &err);
    else
        reply_suggested(r, &key, list, n);
    free(list);
    json_decref(json);
}
