#include "daemon/spec/rules.h"

#include "common/jsonx.h"
#include "daemon/spec/internal.h"
#include "daemon/spec/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys that are not compared here: they decide when members run, or are compared in another way. */
static const char *const free_places[] = {
    "/name", "/rules", "/width", "/share", "/max_failures", "/max_same_failures", "/members/parameters", "/after"};

static bool is_sha256(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int parse_files(const json_t *rules, struct error *err)
{
    static const char *const keys[] = {"path", "sha256", "at", NULL};
    const json_t *files = NULL, *file;
    const char *path, *sha256, *place;
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
            jsonx_string(file, at, "sha256", JSONX_REQUIRED, &sha256, err) < 0 ||
            jsonx_string(file, at, "at", JSONX_OPTIONAL, &place, err) < 0)
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
    if (reference != NULL && may_vary != NULL)
        return error_at(err, "spec_impossible_value", "/rules/may_vary",
                        "the rules of the reference say what may vary, not those of a spec that is compared with it: "
                        "move \"may_vary\" there");
    return 0;
}

/* Returns where a file of the rules lies: its "at", or its path. */
static const char *rules_file_at(const json_t *file)
{
    const char *at = json_string_value(json_object_get(file, "at"));

    return at != NULL ? at : json_string_value(json_object_get(file, "path"));
}

json_t *rules_attest(const struct spec *spec)
{
    json_t *paths = spec->rules != NULL ? json_array() : NULL;
    const json_t *file;
    size_t i;

    json_array_foreach (json_object_get(spec->rules, "files"), i, file)
        json_array_append_new(paths, json_string(rules_file_at(file)));
    return paths;
}

int rules_check_places(const struct spec *spec, struct error *err)
{
    const json_t *file;
    char at[64];
    size_t i;

    json_array_foreach (json_object_get(spec->rules, "files"), i, file) {
        if (rules_file_at(file)[0] == '/')
            continue;
        snprintf(at, sizeof at, "/rules/files/%zu/at", i);
        return error_at(err, "spec_impossible_value", at,
                        "each attempt hashes the file \"%.100s\" where it runs, so \"at\" must be its absolute path",
                        json_string_value(json_object_get(file, "path")));
    }
    return 0;
}

const json_t *rules_reference(const struct spec *spec)
{
    return json_object_get(spec->rules, "reference");
}

/* Returns what a reference with these rules lets vary. One that has a reference itself is as free as that lets it
 * be. */
static json_t *free_by(const json_t *rules)
{
    const json_t *older = json_object_get(rules, "reference");

    return json_object_get(older != NULL ? json_object_get(older, "rules") : rules, "may_vary");
}

bool rules_let_vary(const struct spec *reference, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach (free_by(reference->rules), i, item)
        if (strcmp(json_string_value(item), name) == 0)
            return true;
    return false;
}

static bool is_free_place(const struct spec *rules, const char *at)
{
    for (size_t i = 0; i < sizeof free_places / sizeof *free_places; i++)
        if (strcmp(at, free_places[i]) == 0)
            return true;
    return at[0] == '/' && rules_let_vary(rules, at);
}

void rules_show(char out[RULES_SHOWN + 8], const json_t *value)
{
    char *text = value != NULL ? jsonx_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    snprintf(out, RULES_SHOWN + 8, text == NULL ? "nothing" : strlen(text) > RULES_SHOWN ? "%.80s…" : "%s", text);
    free(text);
}

static int broken(const json_t *own, const json_t *reference, const char *at, struct error *err)
{
    char here[RULES_SHOWN + 8], there[RULES_SHOWN + 8];

    rules_show(here, own);
    rules_show(there, reference);
    return error_at(err, "rules_broken", at, "it is %s here and %s in the reference, and the rules do not let it vary",
                    here, there);
}

static int compare_to_reference(const struct spec *rules, const json_t *own, const json_t *reference, const char *at,
                                struct error *err);

static int compare_objects(const struct spec *rules, const json_t *own, const json_t *reference, const char *at,
                           struct error *err)
{
    char place[256];
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)own, key, value)
        if (compare_to_reference(rules, value, json_object_get(reference, key),
                                 jsonx_pointer(place, sizeof place, at, key), err) < 0)
            return -1;
    json_object_foreach ((json_t *)reference, key, value)
        if (json_object_get(own, key) == NULL &&
            compare_to_reference(rules, NULL, value, jsonx_pointer(place, sizeof place, at, key), err) < 0)
            return -1;
    return 0;
}

static int compare_arrays(const struct spec *rules, const json_t *own, const json_t *reference, const char *at,
                          struct error *err)
{
    char place[256];

    for (size_t i = 0; i < json_array_size(own) || i < json_array_size(reference); i++) {
        snprintf(place, sizeof place, "%.230s/%zu", at, i);
        if (compare_to_reference(rules, json_array_get(own, i), json_array_get(reference, i), place, err) < 0)
            return -1;
    }
    return 0;
}

/* Compares two values, of which either may be missing; null counts as missing. */
static int compare_to_reference(const struct spec *rules, const json_t *own, const json_t *reference, const char *at,
                                struct error *err)
{
    own = json_is_null(own) ? NULL : own;
    reference = json_is_null(reference) ? NULL : reference;
    if (is_free_place(rules, at) || (own == NULL && reference == NULL))
        return 0;
    if (json_is_object(own) && json_is_object(reference))
        return compare_objects(rules, own, reference, at, err);
    if (json_is_array(own) && json_is_array(reference))
        return compare_arrays(rules, own, reference, at, err);
    return own != NULL && reference != NULL && value_equal(own, reference) ? 0 : broken(own, reference, at, err);
}

static bool is_parameter(const struct params *params, const char *name)
{
    for (size_t i = 0; i < params_size(params); i++)
        if (strcmp(params_name(params, i), name) == 0)
            return true;
    return false;
}

/* Checks that names in the reference's may_vary mean something, since a wrong one would let nothing vary. */
static int check_names(const struct spec *reference, struct error *err)
{
    const json_t *item;
    char at[64];
    size_t i;

    json_array_foreach (free_by(reference->rules), i, item) {
        const char *name = json_string_value(item);

        if (name[0] == '/' || is_parameter(reference->params, name))
            continue;
        snprintf(at, sizeof at, "/rules/reference/rules/may_vary/%zu", i);
        return error_at(err, "spec_impossible_value", at,
                        "the reference has no parameter \"%.100s\"; a place in the spec begins with /", name);
    }
    return 0;
}

static const char *digest_in_rules(const json_t *files, const char *path)
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
        const char *path = json_string_value(json_object_get(file, "path")), *digest = digest_in_rules(other, path);

        snprintf(at, sizeof at, "/rules/files/%zu", i);
        if (digest == NULL)
            return error_at(err, "rules_broken", at, "the rules of the reference have no file \"%.100s\"", path);
        if (strcmp(digest, json_string_value(json_object_get(file, "sha256"))) != 0)
            return error_at(err, "rules_broken", at, "the file \"%.100s\" has SHA-256 %s here and %s in the reference",
                            path, json_string_value(json_object_get(file, "sha256")), digest);
    }
    json_array_foreach ((json_t *)other, i, file)
        if (digest_in_rules(own, json_string_value(json_object_get(file, "path"))) == NULL)
            return error_at(err, "rules_broken", "/rules/files", "the file \"%.100s\" of the reference is missing",
                            json_string_value(json_object_get(file, "path")));
    return 0;
}

int rules_check(const struct spec *spec, const struct spec *reference, const json_t *text, struct error *err)
{
    return check_names(reference, err) < 0 || compare_to_reference(reference, spec->json, text, "", err) < 0 ||
                   rules_compare_parameters(spec, reference, err) < 0 || compare_files(spec, reference, err) < 0
               ? -1
               : 0;
}

json_t *rules_freeze(const json_t *spec, int64_t id, const json_t *reference)
{
    json_t *frozen = json_deep_copy(spec), *copy = json_deep_copy(reference), *kept = json_object();
    json_t *rules = json_object_get(frozen, "rules"), *own = json_object_get(copy, "rules");
    json_t *files = json_object_get(own, "files"), *may_vary = free_by(own);

    if (files != NULL)
        json_object_set(kept, "files", files);
    if (may_vary != NULL)
        json_object_set(kept, "may_vary", may_vary);
    if (json_object_size(kept) > 0)
        json_object_set(copy, "rules", kept);
    else
        json_object_del(copy, "rules");
    json_decref(kept);
    json_object_set_new(rules, "reference", copy);
    json_object_set_new(rules, "reference_ensemble", json_integer(id));
    return frozen;
}
