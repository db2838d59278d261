#include "daemon/spec/rules.h"

#include "common/jsonx.h"
#include "daemon/spec/internal.h"
#include "daemon/spec/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARED_MAX 10000 /* members whose parameters are compared */
#define SHOWN 80           /* characters of a value in a message */

/* Keys that are not compared here: they decide when and how often members run, or are compared in another way. */
static const char *const free_places[] = {
    "/name", "/rules", "/width", "/share", "/max_failures", "/max_same_failures", "/follow_up", "/members/parameters",
    "/after"};

static bool is_sha256(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int parse_files(const json_t *rules, struct error *err)
{
    static const char *const keys[] = {"path", "sha256", NULL};
    const json_t *files = NULL, *file;
    const char *path, *sha256;
    char at[64];
    size_t i;

    if (jsonx_array(rules, "/rules", "files", JSONX_OPTIONAL, 1, &files, err) < 0)
        return -1;
    json_array_foreach ((json_t *)files, i, file) {
        snprintf(at, sizeof at, "/rules/files/%zu", i);
        if (json_is_string(file))
            return error_at(err, "spec_wrong_type", at,
                            "the daemon does not see the file \"%.100s\": `stretto submit` writes "
                            "{\"path\": …, \"sha256\": …} in its place",
                            json_string_value(file));
        if (!json_is_object(file))
            return error_at(err, "spec_wrong_type", at, "a file is an object with \"path\" and \"sha256\", not %s",
                            jsonx_type_name(file));
        if (jsonx_only(file, at, keys, err) < 0 || jsonx_string(file, at, "path", JSONX_REQUIRED, &path, err) < 0 ||
            jsonx_string(file, at, "sha256", JSONX_REQUIRED, &sha256, err) < 0)
            return -1;
        if (!is_sha256(sha256))
            return error_at(err, "spec_impossible_value", at, "\"sha256\" is 64 hexadecimal digits");
    }
    return 0;
}

int spec_parse_rules(struct spec *spec, struct error *err)
{
    static const char *const keys[] = {"reference", "reference_ensemble", "may_vary", "files", NULL};
    const json_t *may_vary = NULL, *reference;
    int64_t ensemble = 0;

    if (jsonx_object(spec->json, "", "rules", JSONX_OPTIONAL, &spec->rules, err) < 0)
        return -1;
    if (spec->rules == NULL)
        return 0;
    reference = json_object_get(spec->rules, "reference");
    if (jsonx_only(spec->rules, "/rules", keys, err) < 0 ||
        jsonx_strings(spec->rules, "/rules", "may_vary", JSONX_OPTIONAL, 0, &may_vary, err) < 0 ||
        jsonx_int(spec->rules, "/rules", "reference_ensemble", JSONX_OPTIONAL, 1, INT64_MAX, &ensemble, err) < 0 ||
        parse_files(spec->rules, err) < 0)
        return -1;
    if (json_is_string(reference))
        return error_at(err, "spec_wrong_type", "/rules/reference",
                        "the daemon does not see the file \"%.100s\": `stretto submit` puts its content in its place",
                        json_string_value(reference));
    if (reference != NULL && !json_is_object(reference) && !json_is_integer(reference))
        return error_at(err, "spec_wrong_type", "/rules/reference",
                        "a reference is a spec or the number of an ensemble, not %s", jsonx_type_name(reference));
    if (reference == NULL && may_vary != NULL)
        return error_at(err, "spec_missing_key", "/rules/reference", "there is no reference that could be varied");
    return 0;
}

const json_t *rules_reference(const struct spec *spec)
{
    return json_object_get(spec->rules, "reference");
}

/* Tells whether the rules let a parameter, or a place (a pointer), vary. */
static bool may_vary(const struct spec *spec, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach (json_object_get(spec->rules, "may_vary"), i, item)
        if (strcmp(json_string_value(item), name) == 0)
            return true;
    return false;
}

static bool is_free(const struct spec *spec, const char *at)
{
    for (size_t i = 0; i < sizeof free_places / sizeof *free_places; i++)
        if (strcmp(at, free_places[i]) == 0)
            return true;
    return at[0] == '/' && may_vary(spec, at);
}

/* Writes a value into a message; missing ones have words. */
static void show(char out[SHOWN + 8], const json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    snprintf(out, SHOWN + 8, text == NULL ? "nothing" : strlen(text) > SHOWN ? "%.80s…" : "%s", text);
    free(text);
}

static int broken(const json_t *own, const json_t *reference, const char *at, struct error *err)
{
    char here[SHOWN + 8], there[SHOWN + 8];

    show(here, own);
    show(there, reference);
    return error_at(err, "rules_broken", at, "it is %s here and %s in the reference, and the rules do not let it vary",
                    here, there);
}

static int compare(const struct spec *spec, const json_t *own, const json_t *reference, const char *at,
                   struct error *err);

static int compare_objects(const struct spec *spec, const json_t *own, const json_t *reference, const char *at,
                           struct error *err)
{
    char place[256];
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)own, key, value)
        if (compare(spec, value, json_object_get(reference, key), jsonx_pointer(place, sizeof place, at, key), err) < 0)
            return -1;
    json_object_foreach ((json_t *)reference, key, value)
        if (json_object_get(own, key) == NULL &&
            compare(spec, NULL, value, jsonx_pointer(place, sizeof place, at, key), err) < 0)
            return -1;
    return 0;
}

static int compare_arrays(const struct spec *spec, const json_t *own, const json_t *reference, const char *at,
                          struct error *err)
{
    char place[256];

    for (size_t i = 0; i < json_array_size(own) || i < json_array_size(reference); i++) {
        snprintf(place, sizeof place, "%.230s/%zu", at, i);
        if (compare(spec, json_array_get(own, i), json_array_get(reference, i), place, err) < 0)
            return -1;
    }
    return 0;
}

/* Compares two values, of which either may be missing; null counts as missing. */
static int compare(const struct spec *spec, const json_t *own, const json_t *reference, const char *at,
                   struct error *err)
{
    own = json_is_null(own) ? NULL : own;
    reference = json_is_null(reference) ? NULL : reference;
    if (is_free(spec, at) || (own == NULL && reference == NULL))
        return 0;
    if (json_is_object(own) && json_is_object(reference))
        return compare_objects(spec, own, reference, at, err);
    if (json_is_array(own) && json_is_array(reference))
        return compare_arrays(spec, own, reference, at, err);
    return own != NULL && reference != NULL && value_equal(own, reference) ? 0 : broken(own, reference, at, err);
}

static int find_parameter(const struct params *params, const char *name)
{
    for (size_t i = 0; i < params_size(params); i++)
        if (strcmp(params_name(params, i), name) == 0)
            return (int)i;
    return -1;
}

/* Returns the values that a parameter has, each once; a new reference. */
static json_t *values_of(const struct params *params, size_t which)
{
    json_t *values = json_array(), *seen = json_object();

    for (int64_t i = 0; i < params_count(params); i++) {
        json_t *value = params_one(params, which, i);
        char *text = value != NULL ? json_dumps(value, JSON_ENCODE_ANY) : NULL;

        if (text != NULL && json_object_get(seen, text) == NULL) {
            json_object_set_new(seen, text, json_true());
            json_array_append(values, value);
        }
        free(text);
        json_decref(value);
    }
    json_decref(seen);
    return values;
}

static bool has_value(const json_t *values, const json_t *value)
{
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)values, i, item)
        if (value_equal(item, value))
            return true;
    return false;
}

static const char *parameter_place(const struct spec *spec, const char *name, char place[256])
{
    const json_t *parameters = json_object_get(json_object_get(spec->json, "members"), "parameters");

    if (json_object_get(json_object_get(parameters, "grid"), name) != NULL)
        return jsonx_pointer(place, 256, "/members/parameters/grid", name);
    if (json_object_get(json_object_get(parameters, "space"), name) != NULL)
        return jsonx_pointer(place, 256, "/members/parameters/space", name);
    return "/members/parameters";
}

static int compare_values(const struct spec *spec, const struct spec *reference, size_t own, size_t other,
                          struct error *err)
{
    json_t *here = values_of(spec->params, own), *there = values_of(reference->params, other), *value;
    const char *name = params_name(spec->params, own);
    char place[256], shown[SHOWN + 8], values[SHOWN + 8];
    int rc = 0;
    size_t i;

    json_array_foreach (here, i, value) {
        if (rc < 0 || has_value(there, value))
            continue;
        show(shown, value);
        show(values, json_array_size(there) == 1 ? json_array_get(there, 0) : there);
        rc = error_at(err, "rules_broken", parameter_place(spec, name, place),
                      "the parameter \"%s\" is %s for some member and %s in the reference, and the rules do not let it "
                      "vary",
                      name, shown, values);
    }
    json_decref(here);
    json_decref(there);
    return rc;
}

static int compare_parameters(const struct spec *spec, const struct spec *reference, struct error *err)
{
    char place[256];

    if (params_are_open(spec->params) || params_are_open(reference->params))
        return error_at(err, "spec_unsupported", "/rules",
                        "rules compare the parameters of all members, and those of an open ensemble are not known yet");
    if (params_count(spec->params) > COMPARED_MAX || params_count(reference->params) > COMPARED_MAX)
        return error_at(err, "rules_broken", "/members/parameters",
                        "rules compare the parameters of at most %d members", COMPARED_MAX);
    for (size_t i = 0; i < params_size(spec->params); i++) {
        const char *name = params_name(spec->params, i);
        int other = find_parameter(reference->params, name);

        if (may_vary(spec, name))
            continue;
        if (other < 0)
            return error_at(err, "rules_broken", parameter_place(spec, name, place),
                            "the reference has no parameter \"%s\"", name);
        if (compare_values(spec, reference, i, (size_t)other, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < params_size(reference->params); i++)
        if (!may_vary(spec, params_name(reference->params, i)) &&
            find_parameter(spec->params, params_name(reference->params, i)) < 0)
            return error_at(err, "rules_broken", "/members/parameters",
                            "the parameter \"%s\" of the reference is missing", params_name(reference->params, i));
    return 0;
}

/* Checks that names in may_vary mean something, since a wrong one would let nothing vary. */
static int check_names(const struct spec *spec, const struct spec *reference, struct error *err)
{
    const json_t *item;
    char at[64];
    size_t i;

    json_array_foreach (json_object_get(spec->rules, "may_vary"), i, item) {
        const char *name = json_string_value(item);

        if (name[0] == '/' || find_parameter(reference->params, name) >= 0)
            continue;
        snprintf(at, sizeof at, "/rules/may_vary/%zu", i);
        return error_at(err, "spec_impossible_value", at,
                        "the reference has no parameter \"%.100s\"; a place in the spec begins with /", name);
    }
    return 0;
}

static const char *digest_of(const json_t *files, const char *path)
{
    const json_t *file;
    size_t i;

    json_array_foreach ((json_t *)files, i, file)
        if (strcmp(json_string_value(json_object_get(file, "path")), path) == 0)
            return json_string_value(json_object_get(file, "sha256"));
    return NULL;
}

static int compare_files(const struct spec *spec, const struct spec *reference, struct error *err)
{
    const json_t *own = json_object_get(spec->rules, "files"), *other = json_object_get(reference->rules, "files");
    const json_t *file;
    char at[64];
    size_t i;

    json_array_foreach ((json_t *)own, i, file) {
        const char *path = json_string_value(json_object_get(file, "path")), *digest = digest_of(other, path);

        snprintf(at, sizeof at, "/rules/files/%zu", i);
        if (digest == NULL)
            return error_at(err, "rules_broken", at, "the rules of the reference have no file \"%.100s\"", path);
        if (strcmp(digest, json_string_value(json_object_get(file, "sha256"))) != 0)
            return error_at(err, "rules_broken", at, "the file \"%.100s\" has SHA-256 %s here and %s in the reference",
                            path, json_string_value(json_object_get(file, "sha256")), digest);
    }
    json_array_foreach ((json_t *)other, i, file)
        if (digest_of(own, json_string_value(json_object_get(file, "path"))) == NULL)
            return error_at(err, "rules_broken", "/rules/files", "the file \"%.100s\" of the reference is missing",
                            json_string_value(json_object_get(file, "path")));
    return 0;
}

int rules_check(const struct spec *spec, const struct spec *reference, struct error *err)
{
    return check_names(spec, reference, err) < 0 || compare(spec, spec->json, reference->json, "", err) < 0 ||
                   compare_parameters(spec, reference, err) < 0 || compare_files(spec, reference, err) < 0
               ? -1
               : 0;
}

json_t *rules_freeze(const json_t *spec, int64_t id, const json_t *reference)
{
    json_t *frozen = json_deep_copy(spec), *copy = json_deep_copy(reference);
    json_t *rules = json_object_get(frozen, "rules"), *files = json_object_get(json_object_get(copy, "rules"), "files");

    if (files != NULL)
        json_object_set_new(copy, "rules", json_pack("{s:O}", "files", files));
    else
        json_object_del(copy, "rules");
    json_object_set_new(rules, "reference", copy);
    json_object_set_new(rules, "reference_ensemble", json_integer(id));
    return frozen;
}
