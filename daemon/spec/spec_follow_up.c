/* Reads `follow_up`, and makes the specs of follow-ups. */
#include "daemon/spec/internal.h"

#include "common/jsonx.h"

#include <stdio.h>
#include <string.h>

#define MEMBERS_RESOURCES "/members/resources"

int spec_parse_follow_up(struct spec *spec, struct error *err)
{
    static const char *const keys[] = {"auto", "max", NULL};
    const json_t *obj = NULL;

    spec->follow_ups = SPEC_FOLLOW_UPS;
    if (jsonx_object(spec->json, "", "follow_up", JSONX_OPTIONAL, &obj, err) < 0)
        return -1;
    if (obj == NULL)
        return 0;
    if (jsonx_only(obj, "/follow_up", keys, err) < 0 ||
        jsonx_bool(obj, "/follow_up", "auto", JSONX_OPTIONAL, &spec->follows_up, err) < 0 ||
        jsonx_int(obj, "/follow_up", "max", JSONX_OPTIONAL, 1, 10000, &spec->follow_ups, err) < 0)
        return -1;
    if (spec->follows_up && spec->has_training)
        return error_at(
            err, "spec_impossible_value", "/follow_up/auto",
            "members that stream into a training cannot go on in a follow-up: their training has ended by then, "
            "and `stretto resubmit ID.training` takes it on");
    return 0;
}

static json_t *object_at(json_t *obj, const char *key)
{
    json_t *value = json_object_get(obj, key);

    if (!json_is_object(value)) {
        value = json_object();
        json_object_set_new(obj, key, value);
    }
    return value;
}

json_t *spec_follow_up(const json_t *spec, const json_t *changes, struct error *err)
{
    static const char *const keys[] = {"states", "adapter", "width", "pack", "resources", NULL};
    static const char *const copied[] = {"adapter", "width", "pack"};
    const json_t *resources = NULL;
    json_t *out;

    if (jsonx_only(changes, "", keys, err) < 0 ||
        jsonx_object(changes, "", "resources", JSONX_OPTIONAL, &resources, err) < 0)
        return NULL;
    out = json_deep_copy(spec);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *value = json_object_get(changes, copied[i]);

        if (value != NULL && !json_is_null(value))
            json_object_set(out, copied[i], value);
    }
    if (resources != NULL)
        json_object_update(object_at(object_at(out, "members"), "resources"), (json_t *)resources);
    return out;
}

void spec_follow_up_place(struct error *err)
{
    size_t n = strlen(MEMBERS_RESOURCES);

    if (strncmp(err->pointer, MEMBERS_RESOURCES, n) == 0)
        memmove(err->pointer, err->pointer + strlen("/members"), strlen(err->pointer + strlen("/members")) + 1);
}

int spec_follow_up_check(const json_t *changes, struct error *err)
{
    json_t *any = json_pack("{s:s, s:{s:[s], s:{s:s, s:i, s:{s:[i, i]}}}}", "name", "any", "members", "command", "true",
                            "parameters", "method", "halton", "count", 1, "space", "x", 0, 1);
    json_t *changed = spec_follow_up(any, changes, err);
    struct spec *spec = changed != NULL ? spec_parse(changed, NULL, err) : NULL;
    int rc = spec != NULL ? 0 : -1;

    if (changed != NULL && spec == NULL)
        spec_follow_up_place(err);
    spec_destroy(spec);
    json_decref(changed);
    json_decref(any);
    return rc;
}
