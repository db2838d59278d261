#include "daemon/spec/needs.h"

#include "common/text.h"
#include "common/units.h"
#include "daemon/spec/template.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMBINATIONS_MAX 100000
#define TEXT_MAX 64                       /* bytes of a value */
#define UNKNOWN_MS INT64_C(3155760000000) /* a walltime that is only known when the member is started: 100 years */
#define AT "/members/resources"

enum kind { KIND_NUMBER, KIND_SIZE, KIND_DURATION };

static const struct key {
    const char *name;
    enum kind kind;
    int64_t least, most;
    size_t offset;
} keys[] = {
    {"nodes", KIND_NUMBER, 1, 1000000, offsetof(struct adapter_resources, nodes)},
    {"tasks", KIND_NUMBER, 1, 100000, offsetof(struct adapter_resources, tasks)},
    {"cpus_per_task", KIND_NUMBER, 1, 10000, offsetof(struct adapter_resources, cpus_per_task)},
    {"gpus", KIND_NUMBER, 0, 10000, offsetof(struct adapter_resources, gpus)},
    {"memory", KIND_SIZE, 0, INT64_MAX, offsetof(struct adapter_resources, memory)},
    {"walltime", KIND_DURATION, 1000, INT64_MAX, offsetof(struct adapter_resources, walltime_ms)},
};

#define KEYS (sizeof keys / sizeof *keys)

static int64_t get_resource(const struct adapter_resources *r, const struct key *key)
{
    const char *at = (const char *)r + key->offset;

    return key->kind == KIND_NUMBER ? *(const int *)(const void *)at : *(const int64_t *)(const void *)at;
}

static void set_resource(struct adapter_resources *r, const struct key *key, int64_t value)
{
    char *at = (char *)r + key->offset;

    if (key->kind == KIND_NUMBER)
        *(int *)(void *)at = (int)value;
    else
        *(int64_t *)(void *)at = value;
}

bool needs_is_template(const char *name, const json_t *value)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return json_is_string(value) && strchr(json_string_value(value), '{') != NULL;
    return false;
}

/* Returns the key's template, NULL if all members have the same. */
static const char *template_of(const struct spec *spec, const struct key *key)
{
    const json_t *value = json_object_get(spec->members.needs, key->name);

    return needs_is_template(key->name, value) ? json_string_value(value) : NULL;
}

static int parse_need(const struct key *key, const char *text, int64_t *out)
{
    char *end;

    if (key->kind == KIND_SIZE)
        return size_parse(text, out);
    if (key->kind == KIND_DURATION)
        return duration_parse(text, out);
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' ? 0 : -1;
}

static int fill_one(const struct spec *spec, const struct key *key, const json_t *values, struct text *scratch,
                    struct adapter_resources *out, struct error *err)
{
    static const char *const what[] = {
        [KIND_NUMBER] = "whole number", [KIND_SIZE] = "size", [KIND_DURATION] = "duration"};
    const char *template = template_of(spec, key);
    char place[64], name[TEMPLATE_NAME_MAX + 1];
    int64_t value;

    if (template == NULL)
        return 0;
    snprintf(place, sizeof place, AT "/%s", key->name);
    if (!template_is_full(template, NULL, values, name))
        return error_at(err, "spec_impossible_value", place, "nothing fills {%s} for a member", name);
    if (template_fill(scratch, template, NULL, values, TEXT_MAX) < 0)
        return error_at(err, "spec_impossible_value", place, "\"%s\" has more than %d bytes for a member", template,
                        TEXT_MAX);
    if (parse_need(key, scratch->data, &value) < 0)
        return error_at(err, "spec_impossible_value", place, "\"%s\" is \"%s\" for a member, which is no %s", template,
                        scratch->data, what[key->kind]);
    if (value < key->least || value > key->most)
        return error_at(err, "spec_impossible_value", place,
                        "\"%s\" is \"%s\" for a member, and must be from %lld to %lld%s", template, scratch->data,
                        (long long)key->least, (long long)key->most, key->kind == KIND_DURATION ? " ms" : "");
    set_resource(out, key, value);
    return 0;
}

/* Checks the resources of one member against the rest of the spec, as spec_parse() checks those of all. */
static int check_member(const struct spec *spec, const struct adapter_resources *r, struct error *err)
{
    if (spec_starts_copies(&spec->members) && r->tasks < r->nodes)
        return error_at(err, "spec_impossible_value", AT "/tasks", "%d tasks of a member cannot be on %d nodes",
                        r->tasks, r->nodes);
    if (spec_starts_copies(&spec->members) && spec->pack > 1 && r->nodes > 1)
        return error_at(err, "spec_impossible_value", "/pack", "\"copies\" on %d nodes cannot share a job", r->nodes);
    if (spec->members.silence_ms > 0 && r->nodes > 1)
        return error_at(err, "spec_impossible_value", "/members/silence",
                        "\"silence\" is only for one node, and a member has %d", r->nodes);
    if (spec->checkpoint.before_ms > 0 && r->walltime_ms <= spec->checkpoint.before_ms)
        return error_at(err, "spec_impossible_value", "/members/checkpoint/before",
                        "\"before\" must be shorter than the walltime, and that of a member is %g s",
                        (double)r->walltime_ms / 1000);
    return 0;
}

int needs_fill(const struct spec *spec, const json_t *values, struct adapter_resources *out, struct error *err)
{
    struct text scratch = {0};
    int rc = 0;

    *out = spec->members.resources;
    for (size_t i = 0; i < KEYS && rc == 0; i++)
        rc = fill_one(spec, &keys[i], values, &scratch, out, err);
    free(scratch.data);
    if (rc == 0)
        rc = check_member(spec, out, err);
    if (rc < 0)
        *out = spec->members.resources;
    return rc;
}

int needs_of(const struct spec *spec, int64_t index, struct adapter_resources *out, struct error *err)
{
    json_t *values;
    int rc;

    *out = spec->members.resources;
    if (spec->members.needs == NULL)
        return 0;
    values = params_at(spec->params, index);
    if (values == NULL)
        return error_set(err, "internal", "the member's parameters cannot be read");
    rc = needs_fill(spec, values, out, err);
    json_decref(values);
    return rc;
}

bool needs_are_equal(const struct adapter_resources *a, const struct adapter_resources *b)
{
    for (size_t i = 0; i < KEYS; i++)
        if (get_resource(a, &keys[i]) != get_resource(b, &keys[i]))
            return false;
    return true;
}

struct mention {
    const struct params *params;
    size_t parameter;
};

static bool is_another(void *arg, const char *name)
{
    const struct mention *mention = arg;
    const char *path;

    return params_find(mention->params, name, &path) != mention->parameter; /* stops the check at the parameter */
}

/* Returns whether a template has a placeholder of this parameter. */
static bool mentions(const struct spec *spec, size_t parameter)
{
    struct mention mention = {spec->params, parameter};
    struct error ignored;

    for (size_t i = 0; i < KEYS; i++) {
        const char *template = template_of(spec, &keys[i]);

        if (template != NULL && template_check(template, is_another, &mention, "", &ignored) < 0)
            return true;
    }
    return false;
}

/* Goes on to the next combination: the i-th parameter has n[i] values, of which the at[i]-th is chosen. */
static bool next_combination(size_t *at, const size_t *n, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (++at[i] < n[i])
            return true;
        at[i] = 0;
    }
    return false;
}

int needs_each(const struct spec *spec, int (*each)(void *arg, const struct adapter_resources *r, struct error *err),
               void *arg, struct error *err)
{
    const struct params *params = spec->params;
    size_t count = 0, all = 1, which[PARAMS_MAX], at[PARAMS_MAX] = {0}, n[PARAMS_MAX];
    struct adapter_resources r;
    bool *has; /* for each combination: whether a member has it; NULL: they all occur */
    int rc = 0;

    if (params_are_rows(params))
        return 0;
    for (size_t i = 0; i < params_size(params) && all <= COMBINATIONS_MAX; i++) {
        if (!mentions(spec, i))
            continue;
        which[count] = i;
        n[count] = params_choices(params, i);
        all *= n[count++];
    }
    if (all > COMBINATIONS_MAX)
        return error_at(err, "spec_impossible_value", AT, "members have more than %d different resources",
                        COMBINATIONS_MAX);
    has = params_combinations(params, which, n, count);
    all = 0;
    do {
        json_t *values;

        if (has != NULL && !has[all++])
            continue;
        values = json_object();
        for (size_t i = 0; i < count; i++)
            json_object_set_new(values, params_name(params, which[i]), params_choice(params, which[i], at[i]));
        rc = needs_fill(spec, values, &r, err);
        json_decref(values);
        if (rc == 0)
            rc = each(arg, &r, err);
    } while (rc == 0 && next_combination(at, n, count));
    free(has);
    return rc;
}

static int take_most(void *arg, const struct adapter_resources *r, struct error *err)
{
    struct adapter_resources *most = arg;

    for (size_t i = 0; i < KEYS; i++)
        if (get_resource(r, &keys[i]) > get_resource(most, &keys[i]))
            set_resource(most, &keys[i], get_resource(r, &keys[i]));
    return 0;
}

int needs_measure(struct spec *spec, struct error *err)
{
    struct adapter_resources most = spec->members.resources;

    if (spec->members.needs == NULL)
        return 0;
    for (size_t i = 0; i < KEYS; i++) {
        char place[64];

        snprintf(place, sizeof place, AT "/%s", keys[i].name);
        if (template_of(spec, &keys[i]) != NULL && params_are_drawn(spec->params))
            return error_at(
                err, "spec_impossible_value", place,
                "parameters that are drawn are no whole numbers: resources can only depend on those of a grid or a "
                "file");
    }
    if (params_are_rows(spec->params) && template_of(spec, &keys[KEYS - 1]) != NULL)
        most.walltime_ms = UNKNOWN_MS;
    if (needs_each(spec, take_most, &most, err) < 0)
        return -1;
    spec->members.resources = most;
    return 0;
}

static int ignore(void *arg, const struct adapter_resources *r, struct error *err)
{
    return 0;
}

int needs_check(const struct spec *spec, struct error *err)
{
    if (spec->members.needs == NULL)
        return 0;
    if (spec->has_allocation)
        return error_at(err, "spec_unsupported", AT, "members that share %s have equal resources",
                        spec->refill ? "places of \"refill\"" : "an allocation");
    if (spec->has_training && params_are_rows(spec->params))
        return error_at(
            err, "spec_unsupported", AT,
            "members of a training cannot take their resources from a file or a suggestion: it is not known "
            "whether they fit beside the training; a grid has them");
    return needs_each(spec, ignore, NULL, err);
}

json_t *needs_json(const struct spec *spec, const json_t *values)
{
    struct text scratch = {0};
    json_t *json;

    if (spec->members.needs == NULL || values == NULL)
        return NULL;
    json = json_object();
    for (size_t i = 0; i < KEYS; i++) {
        const char *template = template_of(spec, &keys[i]);
        char name[TEMPLATE_NAME_MAX + 1];
        int64_t value;

        if (template == NULL || !template_is_full(template, NULL, values, name) ||
            template_fill(&scratch, template, NULL, values, TEXT_MAX) < 0)
            continue;
        json_object_set_new(json, keys[i].name,
                            keys[i].kind == KIND_NUMBER && parse_need(&keys[i], scratch.data, &value) == 0
                                ? json_integer(value)
                                : json_string(scratch.data));
    }
    free(scratch.data);
    return json;
}
