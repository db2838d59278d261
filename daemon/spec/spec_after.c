#include "daemon/spec/internal.h"

#include "common/jsonx.h"
#include "common/text.h"

#include <stdlib.h>
#include <string.h>

#define PLACEHOLDER "{after}"

int spec_parse_after(struct spec *spec, struct error *err)
{
    static const char *const keys[] = {"ensemble", NULL};
    const json_t *obj = NULL;

    if (jsonx_object(spec->json, "", "after", JSONX_OPTIONAL, &obj, err) < 0)
        return -1;
    if (obj == NULL)
        return 0;
    if (jsonx_only(obj, "/after", keys, err) < 0)
        return -1;
    return jsonx_int(obj, "/after", "ensemble", JSONX_REQUIRED, 1, INT64_MAX, &spec->after, err);
}

/* Returns a text with the directory in the place of the placeholder; NULL where there is none. Braces of the directory
 * are doubled, as in any text with placeholders. */
static json_t *filled(const char *text, const char *dir)
{
    struct text out = {0};
    const char *at = text, *found;
    json_t *value = NULL;

    if (strstr(text, PLACEHOLDER) == NULL)
        return NULL;
    for (; (found = strstr(at, PLACEHOLDER)) != NULL; at = found + strlen(PLACEHOLDER)) {
        text_put(&out, at, (size_t)(found - at));
        for (const char *c = dir; *c; c++)
            text_put(&out, *c == '{' ? "{{" : *c == '}' ? "}}" : c, *c == '{' || *c == '}' ? 2 : 1);
    }
    text_string(&out, at);
    value = json_string(out.data);
    free(out.data);
    return value;
}

static void fill_task(json_t *task, const char *dir)
{
    json_t *command = json_object_get(task, "command"), *env = json_object_get(task, "env"), *value;
    const char *name;
    size_t i;

    json_array_foreach (command, i, value) {
        json_t *text = json_is_string(value) ? filled(json_string_value(value), dir) : NULL;

        if (text != NULL)
            json_array_set_new(command, i, text);
    }
    json_object_foreach (env, name, value) {
        json_t *text = json_is_string(value) ? filled(json_string_value(value), dir) : NULL;

        if (text != NULL)
            json_object_set_new(env, name, text);
    }
}

json_t *spec_fill_after(const json_t *json, char *(*dir_of)(void *arg, int64_t ensemble), void *arg)
{
    const json_t *ensemble = json_object_get(json_object_get(json, "after"), "ensemble");
    json_t *copy = json_is_integer(ensemble) ? json_deep_copy(json) : NULL;
    char *dir;

    if (copy == NULL)
        return NULL;
    dir = dir_of(arg, json_integer_value(ensemble));
    fill_task(json_object_get(copy, "members"), dir);
    fill_task(json_object_get(copy, "training"), dir);
    free(dir);
    return copy;
}
