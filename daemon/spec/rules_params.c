/* Rules: compares the parameters of a spec with those of its reference. */
#include "daemon/spec/rules.h"

#include "common/jsonx.h"
#include "common/xalloc.h"
#include "daemon/spec/params.h"
#include "daemon/spec/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARED_MAX 10000 /* members whose parameters are compared */
#define SEED "/members/parameters/seed"

static int find_named_parameter(const struct params *params, const char *name)
{
    for (size_t i = 0; i < params_size(params); i++)
        if (strcmp(params_name(params, i), name) == 0)
            return (int)i;
    return -1;
}

static json_t *parameters_of(const struct spec *spec)
{
    return json_object_get(json_object_get(spec->json, "members"), "parameters");
}

static const char *parameter_place(const struct spec *spec, const char *name, char place[256])
{
    const json_t *parameters = parameters_of(spec);

    if (json_object_get(json_object_get(parameters, "grid"), name) != NULL)
        return jsonx_pointer(place, 256, "/members/parameters/grid", name);
    if (json_object_get(json_object_get(parameters, "space"), name) != NULL)
        return jsonx_pointer(place, 256, "/members/parameters/space", name);
    return "/members/parameters";
}

/* Compares the seeds. The seed gives each member its own, so a user who may choose it may choose a lucky one. */
static int compare_seeds(const struct spec *spec, const struct spec *reference, struct error *err)
{
    int64_t own = json_integer_value(json_object_get(parameters_of(spec), "seed"));
    int64_t other = json_integer_value(json_object_get(parameters_of(reference), "seed"));

    if (own == other || rules_let_vary(reference, SEED))
        return 0;
    return error_at(err, "rules_broken", SEED,
                    "it is %" PRId64 " here and %" PRId64 " in the reference, and the rules do not let it vary", own,
                    other);
}

/* Returns a value such that values which are equal have the same text: 1.0 is 1. A new reference. */
static json_t *plain_value(json_t *value)
{
    double real = json_real_value(value);

    if (json_is_real(value) && real >= -9e15 && real <= 9e15 && real == (double)(int64_t)real)
        return json_integer((json_int_t)real);
    return json_incref(value);
}

/* Returns the combinations of values that some parameters have: an object whose keys are their text, and whose values
 * are lists. A new reference. */
static json_t *combinations(const struct params *params, const size_t *which, size_t n)
{
    json_t *all = json_object();

    for (int64_t index = 0; index < params_count(params); index++) {
        json_t *values = json_array();
        char *text;

        for (size_t i = 0; i < n; i++) {
            json_t *value = params_one(params, which[i], index);

            json_array_append_new(values, plain_value(value));
            json_decref(value);
        }
        text = json_dumps(values, JSON_COMPACT | JSON_SORT_KEYS);
        if (text != NULL && json_object_get(all, text) == NULL)
            json_object_set(all, text, values);
        free(text);
        json_decref(values);
    }
    return all;
}

/* Parameters that may not vary: their numbers in the spec and in the reference. */
struct fixed {
    size_t *own, *other, n;
};

static int fixed_find(struct fixed *fixed, const struct spec *spec, const struct spec *reference, struct error *err)
{
    char place[256];

    fixed->own = xcalloc(params_size(spec->params) + 1, sizeof *fixed->own);
    fixed->other = xcalloc(params_size(spec->params) + 1, sizeof *fixed->other);
    for (size_t i = 0; i < params_size(spec->params); i++) {
        const char *name = params_name(spec->params, i);
        int other = find_named_parameter(reference->params, name);

        if (rules_let_vary(reference, name))
            continue;
        if (other < 0)
            return error_at(err, "rules_broken", parameter_place(spec, name, place),
                            "the reference has no parameter \"%s\"", name);
        fixed->own[fixed->n] = i;
        fixed->other[fixed->n++] = (size_t)other;
    }
    for (size_t i = 0; i < params_size(reference->params); i++)
        if (!rules_let_vary(reference, params_name(reference->params, i)) &&
            find_named_parameter(spec->params, params_name(reference->params, i)) < 0)
            return error_at(err, "rules_broken", "/members/parameters",
                            "the parameter \"%s\" of the reference is missing", params_name(reference->params, i));
    return 0;
}

/* Returns the number of the first value that no combination of `all` has; n if each is in some. */
static size_t value_alone(const json_t *values, const json_t *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool there = false;
        const char *key;
        json_t *item;

        json_object_foreach ((json_t *)all, key, item)
            there = there || value_equal(json_array_get(item, i), json_array_get(values, i));
        if (!there)
            return i;
    }
    return n;
}

/* Names the first combination of one side that the other lacks: by the parameter whose value is not there, if there is
 * one. `lacks` is the sentence's end. */
static int compare_sides(const struct spec *spec, const struct fixed *fixed, const json_t *has, const json_t *other,
                         const char *lacks, struct error *err)
{
    char shown[RULES_SHOWN + 8], place[256];
    const char *key, *name;
    json_t *values;
    size_t i;

    json_object_foreach ((json_t *)has, key, values) {
        if (json_object_get(other, key) != NULL)
            continue;
        i = value_alone(values, other, fixed->n);
        if (i == fixed->n) {
            rules_show(shown, values);
            return error_at(err, "rules_broken", "/members/parameters",
                            "the parameters that may not vary are together %s %s", shown, lacks);
        }
        name = params_name(spec->params, fixed->own[i]);
        rules_show(shown, json_array_get(values, i));
        return error_at(err, "rules_broken", parameter_place(spec, name, place), "the parameter \"%s\" is %s %s", name,
                        shown, lacks);
    }
    return 0;
}

static int compare_fixed(const struct spec *spec, const struct spec *reference, const struct fixed *fixed,
                         struct error *err)
{
    json_t *here = combinations(spec->params, fixed->own, fixed->n);
    json_t *there = combinations(reference->params, fixed->other, fixed->n);
    int rc = compare_sides(spec, fixed, here, there,
                           "for some member and for none of the reference, and the rules do not let it vary", err);

    if (rc == 0)
        rc =
            compare_sides(spec, fixed, there, here,
                          "for some member of the reference and for none here: a spec with rules has all of them", err);
    json_decref(there);
    json_decref(here);
    return rc;
}

/* A number is one kind, integer or not. */
static int json_kind(const json_t *value)
{
    return json_is_real(value) ? JSON_INTEGER : json_is_false(value) ? JSON_TRUE : (int)json_typeof(value);
}

/* Returns whether a text is one word to a shell, and no option. */
static bool is_plain_word(const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,:+-/@%=";

    return text[0] != '\0' && text[0] != '-' && strspn(text, plain) == strlen(text);
}

static int check_value_kind(const struct spec *spec, const char *name, const json_t *value, const json_t *known,
                            struct error *err)
{
    char shown[RULES_SHOWN + 8], place[256];
    bool kind = false;
    const char *key;
    json_t *other;

    json_object_foreach ((json_t *)known, key, other) {
        if (value_equal(json_array_get(other, 0), value))
            return 0;
        kind = kind || json_kind(json_array_get(other, 0)) == json_kind(value);
    }
    rules_show(shown, value);
    if (!kind)
        return error_at(err, "rules_broken", parameter_place(spec, name, place),
                        "the parameter \"%s\" may vary, but it is %s here, which is %s, and in the reference it never "
                        "is one",
                        name, shown, jsonx_type_name(value));
    if (json_is_array(value) || json_is_object(value))
        return error_at(err, "rules_broken", parameter_place(spec, name, place),
                        "the parameter \"%s\" may vary among numbers and words, and %s is neither", name, shown);
    if (json_is_string(value) && !is_plain_word(json_string_value(value)))
        return error_at(err, "rules_broken", parameter_place(spec, name, place),
                        "the parameter \"%s\" may vary, but %s could be more than a value to a shell: only letters, "
                        "digits and _.,:+-/@%%= may be in it, and no - at its beginning",
                        name, shown);
    return 0;
}

/* Checks the kinds of values of the parameters that may vary. */
static int check_kinds(const struct spec *spec, const struct spec *reference, struct error *err)
{
    for (size_t i = 0; i < params_size(spec->params); i++) {
        const char *name = params_name(spec->params, i), *key;
        int other = find_named_parameter(reference->params, name), rc = 0;
        json_t *here, *there, *values;

        if (other < 0 || !rules_let_vary(reference, name))
            continue;
        here = combinations(spec->params, &i, 1);
        there = combinations(reference->params, &(size_t){(size_t)other}, 1);
        json_object_foreach (here, key, values)
            if (rc == 0)
                rc = check_value_kind(spec, name, json_array_get(values, 0), there, err);
        json_decref(there);
        json_decref(here);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int rules_compare_parameters(const struct spec *spec, const struct spec *reference, struct error *err)
{
    struct fixed fixed = {0};
    int rc;

    if (params_are_open(spec->params) || params_are_open(reference->params))
        return error_at(err, "spec_unsupported", "/rules",
                        "rules compare the parameters of all members, and those of an open ensemble are not known yet");
    if (params_count(spec->params) > COMPARED_MAX || params_count(reference->params) > COMPARED_MAX)
        return error_at(err, "rules_broken", "/members/parameters",
                        "rules compare the parameters of at most %d members", COMPARED_MAX);
    rc = compare_seeds(spec, reference, err) < 0 || fixed_find(&fixed, spec, reference, err) < 0 ||
                 compare_fixed(spec, reference, &fixed, err) < 0 || check_kinds(spec, reference, err) < 0
             ? -1
             : 0;
    free(fixed.own);
    free(fixed.other);
    return rc;
}
