#include "daemon/spec/sizes.h"

#include "common/files.h"
#include "common/jsonx.h"
#include "common/text.h"
#include "daemon/spec/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct measure {
    const struct params *params; /* NULL if there are no placeholders */
    size_t total;
};

/* Returns how many bytes the text of a placeholder can have. The paths of an interpreter and of a checkpoint are left
 * to the planning, which knows them. */
static size_t longest(void *arg, const char *name)
{
    const struct params *params = arg;
    const char *path;
    size_t i = params != NULL ? params_find(params, name, &path) : 0;

    if (params != NULL && i < params_size(params))
        return params_longest(params, i); /* a part of a value is not longer than the whole */
    return strcmp(name, "index") == 0 || strcmp(name, "seed") == 0 ? TEXT_DIGITS - 1 : 0;
}

static int add_string_size(struct measure *m, size_t size, const char *what, const char *pointer, struct error *err)
{
    m->total += size + 1 + SIZES_POINTER;
    if (size <= SIZES_STRING_MAX)
        return 0;
    return error_at(err, "spec_impossible_value", pointer,
                    "%s can have more than %zu bytes once its placeholders are filled, which no program can be given",
                    what, SIZES_STRING_MAX);
}

static int add_words(struct measure *m, const json_t *words, const char *at, struct error *err)
{
    char pointer[256];
    const json_t *item;
    size_t i;

    json_array_foreach (words, i, item) {
        snprintf(pointer, sizeof pointer, "%s/%zu", at, i);
        if (add_string_size(m, template_longest(json_string_value(item), SIZES_STRING_MAX, longest, (void *)m->params),
                            "the argument", pointer, err) < 0)
            return -1;
    }
    return 0;
}

static int add_env(struct measure *m, const json_t *env, const char *at, struct error *err)
{
    char pointer[256];
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)env, name, value) {
        size_t size = template_longest(json_string_value(value), SIZES_STRING_MAX, longest, (void *)m->params);

        if (add_string_size(m, strlen(name) + 1 + size, "the variable",
                            jsonx_pointer(pointer, sizeof pointer, at, name), err) < 0)
            return -1;
    }
    return 0;
}

/* Adds the variables that the daemon makes from the spec. A row of a file always fits into one (ROWS_BYTES_MAX). */
static int add_own(struct measure *m, const struct spec *spec, struct error *err)
{
    size_t parameters = strlen("STRETTO_PARAMS=") + params_longest_json(spec->params),
           fields = strlen("STRETTO_FIELDS=");
    struct text text = {0};

    if (parameters > SIZES_STRING_MAX)
        return error_at(err, "spec_impossible_value", "/members/parameters/grid",
                        "the parameters of a member can have %zu bytes together, and STRETTO_PARAMS has room for %zu",
                        parameters, SIZES_STRING_MAX);
    m->total += parameters + 1 + SIZES_POINTER;
    if (!spec->has_training)
        return 0;
    text_json(&text, spec->fields);
    fields += text.size;
    free(text.data);
    return add_string_size(m, fields, "STRETTO_FIELDS", "/training/fields", err);
}

static int check_total(const struct measure *m, const char *pointer, struct error *err)
{
    if (m->total <= SIZES_TOTAL_MAX)
        return 0;
    return error_at(err, "spec_impossible_value", pointer,
                    "arguments and environment can have %zu bytes together, and a program can be given %zu", m->total,
                    SIZES_TOTAL_MAX);
}

static int check_member_sizes(const struct spec *spec, size_t *total, struct error *err)
{
    struct measure m = {.params = spec->params};

    if (add_words(&m, spec->members.resources.launch, "/members/resources/launcher", err) < 0 ||
        add_words(&m, spec->members.command, "/members/command", err) < 0 ||
        add_words(&m, spec->checkpoint.resume, "/members/checkpoint/resume", err) < 0 ||
        add_env(&m, spec->members.env, "/members/env", err) < 0 || add_own(&m, spec, err) < 0)
        return -1;
    *total = m.total;
    return check_total(&m, "/members", err);
}

static int check_training_sizes(const struct spec *spec, struct error *err)
{
    struct measure m = {0};

    if (add_words(&m, spec->training.resources.launch, "/training/resources/launcher", err) < 0 ||
        add_words(&m, spec->training.command, "/training/command", err) < 0 ||
        add_env(&m, spec->training.env, "/training/env", err) < 0)
        return -1;
    return check_total(&m, "/training", err);
}

int spec_check_sizes(const struct spec *spec, struct error *err)
{
    size_t member = 0;

    if (check_member_sizes(spec, &member, err) < 0 || (spec->has_training && check_training_sizes(spec, err) < 0))
        return -1;
    if ((size_t)spec->pack <= FILE_JSON_MAX / member)
        return 0;
    return error_at(
        err, "spec_impossible_value", "/pack",
        "arguments and environment of a member can have %zu bytes, and a job of %lld members can be given %zu", member,
        (long long)spec->pack, FILE_JSON_MAX);
}
