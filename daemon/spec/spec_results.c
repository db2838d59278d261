/* Reads what members leave: `artefacts`, and `results`, the directory for links to them, named by parameters. */
#include "daemon/spec/results.h"

#include "common/jsonx.h"
#include "common/xalloc.h"
#include "daemon/spec/internal.h"
#include "daemon/spec/template.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARED_MAX 10000 /* members whose directories are compared one by one at submission */
#define AT "/members/results"

static const char below[] = "results/"; /* where relative ones lie in the ensemble's directory */

static bool is_known(void *arg, const char *name)
{
    const struct params *params = arg;

    for (size_t i = 0; i < params_size(params); i++)
        if (strcmp(params_name(params, i), name) == 0)
            return true;
    return strcmp(name, "index") == 0;
}

/* Checks the parts of the path that the spec itself gives; values cannot add parts. */
static int check_parts(const char *path, struct error *err)
{
    for (const char *part = path + (*path == '/'); ; part++) {
        size_t len = strcspn(part, "/");

        if (len == 0)
            return error_at(err, "spec_impossible_value", AT, "the path has an empty part");
        if ((len == 1 && part[0] == '.') || (len == 2 && strncmp(part, "..", 2) == 0))
            return error_at(err, "spec_impossible_value", AT, "the path must not have the parts \".\" and \"..\"");
        part += len;
        if (*part == '\0')
            return 0;
    }
}

int spec_parse_results(struct spec *spec, const json_t *members, struct error *err)
{
    const json_t *pattern;
    char at[64];
    size_t i;

    if (jsonx_strings(members, "/members", "artefacts", JSONX_OPTIONAL, 1, &spec->artefacts, err) < 0 ||
        jsonx_string(members, "/members", "results", JSONX_OPTIONAL, &spec->results, err) < 0)
        return -1;
    json_array_foreach ((json_t *)spec->artefacts, i, pattern) {
        snprintf(at, sizeof at, "/members/artefacts/%zu", i);
        if (json_string_length(pattern) == 0)
            return error_at(err, "spec_impossible_value", at, "a pattern is not empty");
        if (spec_check_relative(json_string_value(pattern), at, "the member's directory", err) < 0)
            return -1;
    }
    if (spec->results == NULL)
        return 0;
    if (spec->artefacts == NULL)
        return error_at(err, "spec_impossible_value", AT, "there are no \"artefacts\" that could be placed there");
    if (spec->results[0] != '/' && strncmp(spec->results, below, strlen(below)) != 0)
        return error_at(err, "spec_impossible_value", AT,
                        "the path must be absolute, or begin with \"%s\", which lies in the ensemble's directory",
                        below);
    if (template_check(spec->results, is_known, spec->params, AT, err) < 0)
        return -1;
    return check_parts(spec->results, err);
}

/* Adds a value as a part of a path, or a piece of one: it adds no parts, is never empty, and differs for each value. */
static void put_part(struct text *out, const char *value)
{
    if (*value == '\0')
        text_string(out, "%");
    for (const char *c = value; *c; c++) {
        bool plain = (unsigned char)*c > ' ' && *c != 0x7f && *c != '/' && *c != '%' && (*c != '.' || c > value);

        if (plain)
            text_put(out, c, 1);
        else
            text_add(out, "%%%02X", (unsigned char)*c);
    }
}

static json_t *parts_of(const json_t *values)
{
    json_t *parts = json_object(), *value;
    struct text plain = {0}, part = {0};
    const char *name;

    json_object_foreach ((json_t *)values, name, value) {
        plain.size = part.size = 0;
        text_put(&plain, "", 0);
        template_put_value(&plain, value);
        text_put(&part, "", 0);
        put_part(&part, plain.data);
        json_object_set_new(parts, name, json_stringn(part.data, part.size));
    }
    free(plain.data);
    free(part.data);
    return parts;
}

char *spec_results_of(const struct spec *spec, int64_t index, const json_t *values)
{
    json_t *parts = parts_of(values);
    char number[24];
    struct template_word words[] = {{"index", number}, {NULL, NULL}};
    struct text path = {0};
    int rc;

    snprintf(number, sizeof number, "%" PRId64, index);
    rc = template_fill(&path, spec->results, words, parts, PATH_MAX);
    json_decref(parts);
    for (const char *part = path.data; rc == 0 && part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strcspn(part, "/") > NAME_MAX)
            rc = -1;
    }
    if (rc == 0)
        return path.data;
    free(path.data);
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_index(const char *template)
{
    for (const char *at = strstr(template, "{index}"); at != NULL; at = strstr(at + 1, "{index}")) {
        size_t braces = 0;

        while (at - braces >= template && at[-(ptrdiff_t)braces] == '{')
            braces++;
        if (braces % 2 == 1)
            return true;
    }
    return false;
}

static int compare(const struct spec *spec, char **paths, int64_t n, struct error *err)
{
    for (int64_t i = 0; i < n; i++) {
        json_t *values = params_at(spec->params, i);

        paths[i] = values != NULL ? spec_results_of(spec, i, values) : NULL;
        json_decref(values);
        if (paths[i] == NULL)
            return error_at(err, "spec_impossible_value", AT,
                            "for member %" PRId64 " the path, or a part of it, is longer than a file system takes", i);
    }
    qsort(paths, (size_t)n, sizeof *paths, by_text);
    for (int64_t i = 1; i < n; i++)
        if (strcmp(paths[i], paths[i - 1]) == 0)
            return error_at(err, "spec_impossible_value", AT,
                            "more than one member would have the directory \"%.200s\": name all parameters in which "
                            "members differ, or {index}", paths[i]);
    return 0;
}

int spec_check_results(const struct spec *spec, struct error *err)
{
    int64_t n = params_count(spec->params);
    char **paths;
    int rc;

    if (spec->results != NULL && params_are_open(spec->params) && !has_index(spec->results))
        return error_at(err, "spec_impossible_value", AT,
                        "members that are suggested may be alike: the path must name {index}");
    if (spec->results == NULL || params_are_open(spec->params) || (n > COMPARED_MAX && has_index(spec->results)))
        return 0;
    if (n > COMPARED_MAX)
        return error_at(err, "spec_impossible_value", AT,
                        "of more than %d members the path must name {index}, since it is not compared for all of them",
                        COMPARED_MAX);
    paths = xcalloc((size_t)n, sizeof *paths);
    rc = compare(spec, paths, n, err);
    for (int64_t i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
    return rc;
}
