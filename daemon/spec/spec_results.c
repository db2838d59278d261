/* Reads the keys about files that members leave: `artefacts`, and `results`, the directory for links to them, named by
 * parameters. */
#include "daemon/spec/results.h"

#include "common/jsonx.h"
#include "common/xalloc.h"
#include "daemon/spec/internal.h"
#include "daemon/spec/paths.h"
#include "daemon/spec/template.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARED_MAX 10000 /* members whose directories are compared one by one at submission */
#define AT "/members/results"

static const char below[] = "results/"; /* where relative ones lie in the ensemble's directory */

static bool is_known_placeholder(void *params, const char *name)
{
    return params_reach(params, name) || strcmp(name, "index") == 0;
}

/* Checks the parts of the path that the spec itself gives; values cannot add parts. */
static int check_parts(const char *path, struct error *err)
{
    for (const char *part = path + (*path == '/');; part++) {
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
        if (spec_check_path(spec, json_string_value(pattern), at, "the member's directory", err) < 0)
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
    if (template_check(spec->results, is_known_placeholder, spec->params, AT, err) < 0)
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

static void put_value(struct text *out, const json_t *value)
{
    struct text plain = {0};

    text_put(&plain, "", 0);
    template_put_value(&plain, value);
    put_part(out, plain.data);
    free(plain.data);
}

static bool fits_file_names(const char *path)
{
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strcspn(part, "/") > NAME_MAX)
            return false;
    }
    return true;
}

char *spec_results_of(const struct spec *spec, int64_t index, const json_t *values, struct error *err)
{
    char number[24], name[TEMPLATE_NAME_MAX + 1];
    struct template_word words[] = {{"index", number}, {NULL, NULL}};
    struct text path = {0};

    snprintf(number, sizeof number, "%" PRId64, index);
    if (!template_is_full(spec->results, words, values, name))
        error_set(err, "spec_impossible_value", "nothing fills {%s} in the path of its results", name);
    else if (template_fill_by(&path, spec->results, words, values, put_value, PATH_MAX) == 0 &&
             fits_file_names(path.data))
        return path.data;
    else
        error_set(err, "spec_impossible_value", "the path of its results is longer than a file system takes");
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

static int compare_paths(const struct spec *spec, char **paths, int64_t n, struct error *err)
{
    for (int64_t i = 0; i < n; i++) {
        json_t *values = params_at(spec->params, i);

        struct error why = {.text = "its parameters cannot be read"};

        paths[i] = values != NULL ? spec_results_of(spec, i, values, &why) : NULL;
        json_decref(values);
        if (paths[i] == NULL)
            return error_at(err, "spec_impossible_value", AT, "member %" PRId64 ": %.300s", i, why.text);
    }
    qsort(paths, (size_t)n, sizeof *paths, by_text);
    for (int64_t i = 1; i < n; i++)
        if (strcmp(paths[i], paths[i - 1]) == 0)
            return error_at(err, "spec_impossible_value", AT,
                            "more than one member would have the directory \"%.200s\": name all parameters in which "
                            "members differ, or {index}",
                            paths[i]);
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
    rc = compare_paths(spec, paths, n, err);
    for (int64_t i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
    return rc;
}
