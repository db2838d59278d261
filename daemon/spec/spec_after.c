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

/* A replacement of one text by another. */
struct filling {
    const char *from, *to;
};

/* Returns the next place of the text `from`. A directory that ends in a number, e1, is not in e12. */
static const char *find_from(const char *text, const char *from)
{
    size_t size = strlen(from);

    while ((text = strstr(text, from)) != NULL && text[size - 1] != '}' && text[size] >= '0' && text[size] <= '9')
        text += size;
    return text;
}

/* Returns the text with the replacement made everywhere; NULL if there is nothing to replace. */
static json_t *fill_in_text(const char *text, const struct filling *filling)
{
    struct text out = {0};
    const char *at = text, *found;
    json_t *value = NULL;

    if (find_from(text, filling->from) == NULL)
        return NULL;
    for (; (found = find_from(at, filling->from)) != NULL; at = found + strlen(filling->from)) {
        text_put(&out, at, (size_t)(found - at));
        text_string(&out, filling->to);
    }
    text_string(&out, at);
    value = json_string(out.data);
    free(out.data);
    return value;
}

static void fill_task(json_t *task, const struct filling *filling)
{
    json_t *command = json_object_get(task, "command"), *env = json_object_get(task, "env"), *value;
    const char *name;
    size_t i;

    json_array_foreach (command, i, value) {
        json_t *text = json_is_string(value) ? fill_in_text(json_string_value(value), filling) : NULL;

        if (text != NULL)
            json_array_set_new(command, i, text);
    }
    json_object_foreach (env, name, value) {
        json_t *text = json_is_string(value) ? fill_in_text(json_string_value(value), filling) : NULL;

        if (text != NULL)
            json_object_set_new(env, name, text);
    }
}

static void fill_in_ensemble(json_t *json, const char *from, const char *to)
{
    const struct filling filling = {from, to};

    fill_task(json_object_get(json, "members"), &filling);
    fill_task(json_object_get(json, "training"), &filling);
}

/* Returns the directory as it stands in a text with placeholders: with its braces doubled. To be freed. */
static char *dir_text(const struct spec_dirs *dirs, int64_t ensemble)
{
    struct text out = {0};
    char *dir = dirs->of(dirs->arg, ensemble);

    for (const char *c = dir; *c; c++)
        text_put(&out, *c == '{' ? "{{" : *c == '}' ? "}}" : c, *c == '{' || *c == '}' ? 2 : 1);
    free(dir);
    return out.data;
}

static int64_t ensemble_before(const json_t *json)
{
    return json_integer_value(json_object_get(json_object_get(json, "after"), "ensemble"));
}

json_t *spec_fill_after(const json_t *json, const struct spec_dirs *dirs)
{
    const json_t *ensemble = json_object_get(json_object_get(json, "after"), "ensemble");
    json_t *copy = json_is_integer(ensemble) ? json_deep_copy(json) : NULL;
    char *dir;

    if (copy == NULL)
        return NULL;
    dir = dir_text(dirs, json_integer_value(ensemble));
    fill_in_ensemble(copy, PLACEHOLDER, dir);
    free(dir);
    return copy;
}

json_t *spec_align_after(const json_t *reference, int64_t after, const struct spec_dirs *dirs)
{
    int64_t own = ensemble_before(reference);
    json_t *copy = json_deep_copy(reference);
    char *to, *from;

    if (after <= 0 && own <= 0)
        return copy;
    to = dir_text(dirs, after > 0 ? after : own);
    fill_in_ensemble(copy, PLACEHOLDER, to);
    if (own > 0 && after > 0 && own != after) {
        from = dir_text(dirs, own);
        fill_in_ensemble(copy, from, to);
        free(from);
    }
    free(to);
    return copy;
}
