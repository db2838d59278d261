#include "daemon/spec/params.h"

#include "common/jsonx.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/spec/draw.h"
#include "daemon/spec/ingest.h"
#include "daemon/spec/remains.h"
#include "daemon/spec/template.h"
#include "daemon/spec/value.h"

#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX INT64_C(1000000000)
#define PARAMS_NUMBER_MAX 24 /* bytes of the longest number, -1.7976931348623157e+308 */

enum method { METHOD_MONTE_CARLO, METHOD_LATIN_HYPERCUBE, METHOD_HALTON, METHOD_GRID, METHOD_FILE, METHOD_OPEN };
static const char *const method_names[] = {"monte-carlo", "latin-hypercube", "halton"};

struct param {
    const char *name;
    double low, high;
    const json_t *values;         /* for a grid */
    size_t longest, longest_json; /* bytes of a value as text, and as JSON */
};

struct params {
    enum method method;
    uint64_t seed;
    int64_t count;
    size_t n;
    struct exclude *exclude;
    struct remains *remains; /* NULL if nothing is excluded: then the points are the members */
    struct rows *rows;       /* for a file; list is then empty */
    int64_t most;            /* for suggestions: how many of them there may be; 0 if the spec does not say */
    params_give *give;       /* for suggestions; the others are its arguments */
    void *giver;
    int64_t root;
    const char *word; /* that templates may have beside the names, or NULL */
    struct param list[];
};

/* Names become {placeholders}, and must not hide the built-in ones. */
int params_check_name(const char *name, const char *place, struct error *err)
{
    static const char *const taken[] = {"index", "seed", "ensemble", "attempt", "checkpoint"};

    json_t *text = json_string(name); /* NULL if it is not UTF-8, as names from a CSV file may be */
    bool speakable = text != NULL;

    json_decref(text);
    for (const char *c = name; *c; c++)
        speakable = speakable && (unsigned char)*c >= ' ' && *c != 0x7f;
    if (!speakable)
        return error_at(err, "spec_impossible_value", place, "a parameter's name is UTF-8 without control characters");
    if (name[0] == '\0' || strlen(name) > 63 || strpbrk(name, "{} \t\n=") != NULL)
        return error_at(err, "spec_impossible_value", place,
                        "a parameter's name has 1 to 63 bytes and no blank, brace or =");
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0)
            return error_at(err, "spec_impossible_value", place,
                            "\"%s\" is a placeholder of its own: choose another name", name);
    return 0;
}

static int parse_param_range(struct param *param, const json_t *value, const char *at, struct error *err)
{
    char place[256];
    const json_t *low = json_array_get(value, 0), *high = json_array_get(value, 1);

    jsonx_pointer(place, sizeof place, at, param->name);
    if (!json_is_array(value) || json_array_size(value) != 2 || !json_is_number(low) || !json_is_number(high))
        return error_at(err, "spec_wrong_type", place, "\"%s\" must be a pair of numbers, [low, high]", param->name);
    param->longest = param->longest_json = PARAMS_NUMBER_MAX;
    param->low = json_number_value(low);
    param->high = json_number_value(high);
    if (!(param->low < param->high))
        return error_at(err, "spec_impossible_value", place, "the low end of \"%s\" must be below the high end",
                        param->name);
    if (!isfinite(param->high - param->low))
        return error_at(err, "spec_impossible_value", place, "the range of \"%s\" is wider than a double can hold",
                        param->name);
    return 0;
}

static void note_longest_value(struct param *param, const json_t *value, struct text *scratch)
{
    scratch->size = 0;
    template_put_value(scratch, value);
    param->longest = scratch->size > param->longest ? scratch->size : param->longest;
    scratch->size = 0;
    text_json(scratch, value);
    param->longest_json = scratch->size > param->longest_json ? scratch->size : param->longest_json;
}

static int parse_values(struct param *param, const json_t *value, const char *at, struct error *err)
{
    struct text scratch = {0};
    char place[256], item_place[300];
    const json_t *item;
    size_t i;

    jsonx_pointer(place, sizeof place, at, param->name);
    if (!json_is_array(value) || json_array_size(value) == 0)
        return error_at(err, "spec_wrong_type", place, "\"%s\" must be a list of values", param->name);
    json_array_foreach (value, i, item) {
        snprintf(item_place, sizeof item_place, "%s/%zu", place, i);
        if (value_check(item, item_place, err) < 0)
            return -1;
    }
    json_array_foreach (value, i, item)
        note_longest_value(param, item, &scratch);
    free(scratch.data);
    param->values = value;
    return 0;
}

/* Reads the named parameters of `space` or `grid` into p->list. */
static int parse_params_list(struct params *p, const json_t *obj, const char *at, struct error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)obj, name, value) {
        struct param *param = &p->list[p->n++];
        char place[256];

        param->name = name;
        if (params_check_name(name, jsonx_pointer(place, sizeof place, at, name), err) < 0)
            return -1;
        if ((p->method == METHOD_GRID ? parse_values : parse_param_range)(param, value, at, err) < 0)
            return -1;
        if (p->method == METHOD_GRID &&
            (__builtin_mul_overflow(p->count, (int64_t)json_array_size(value), &p->count) || p->count > COUNT_MAX))
            return error_at(err, "spec_impossible_value", at, "the grid has more than %lld points",
                            (long long)COUNT_MAX);
    }
    return 0;
}

static void list_parameters(const struct params *p, struct exclude_parameter out[PARAMS_MAX])
{
    for (size_t i = 0; i < p->n; i++)
        out[i] = (struct exclude_parameter){p->list[i].name, p->list[i].values};
}

static int parse_method(struct params *p, const json_t *obj, const char *at, struct error *err)
{
    const char *method = NULL;
    char place[256];

    if (jsonx_string(obj, at, "method", JSONX_REQUIRED, &method, err) < 0 ||
        jsonx_int(obj, at, "count", JSONX_REQUIRED, 1, COUNT_MAX, &p->count, err) < 0)
        return -1;
    for (p->method = METHOD_MONTE_CARLO; p->method < METHOD_GRID; p->method++)
        if (strcmp(method, method_names[p->method]) == 0)
            return 0;
    return error_at(err, "spec_impossible_value", jsonx_pointer(place, sizeof place, at, "method"),
                    "unknown method \"%.60s\"; known: monte-carlo, latin-hypercube, halton", method);
}

int params_file(const json_t *obj, const char *at, const char **path, struct error *err)
{
    static const char *const keys[] = {"file", "seed", NULL};
    char place[256];

    if (json_object_get(obj, "file") == NULL)
        return 0;
    if (jsonx_only(obj, at, keys, err) < 0 || jsonx_string(obj, at, "file", JSONX_REQUIRED, path, err) < 0)
        return -1;
    jsonx_pointer(place, sizeof place, at, "file");
    if ((*path)[0] != '/')
        return error_at(err, "spec_impossible_value", place,
                        "the path must be absolute, since the daemon does not know your working directory");
    if (!ingest_knows(*path))
        return error_at(err, "spec_impossible_value", place,
                        "a file of parameters ends in .csv, .jsonl, .ndjson or .npz");
    return 1;
}

static struct params *parse_file(const json_t *obj, const char *at, struct rows *rows, struct error *err)
{
    struct params *p;
    int64_t seed = 0;

    if (jsonx_int(obj, at, "seed", JSONX_OPTIONAL, 0, INT64_MAX, &seed, err) < 0)
        return NULL;
    if (rows == NULL) {
        error_set(err, "internal", "the parameters' file has not been read");
        return NULL;
    }
    p = xcalloc(1, sizeof *p);
    p->method = METHOD_FILE;
    p->seed = (uint64_t)seed;
    p->count = rows_count(rows);
    p->n = rows_columns(rows);
    p->rows = rows;
    return p;
}

/* Reads the names of the parameters that each suggestion will have. */
static struct params *parse_open(const json_t *obj, const char *at, struct error *err)
{
    static const char *const keys[] = {"open", "most", "seed", NULL};
    const json_t *names = NULL, *name;
    char place[256], item[300];
    struct params *p;
    int64_t seed = 0, most = 0;
    size_t i;

    jsonx_pointer(place, sizeof place, at, "open");
    if (jsonx_only(obj, at, keys, err) < 0 || jsonx_strings(obj, at, "open", JSONX_REQUIRED, 1, &names, err) < 0 ||
        jsonx_int(obj, at, "most", JSONX_OPTIONAL, 1, ROWS_MAX, &most, err) < 0 ||
        jsonx_int(obj, at, "seed", JSONX_OPTIONAL, 0, INT64_MAX, &seed, err) < 0)
        return NULL;
    if (json_array_size(names) > PARAMS_MAX) {
        error_at(err, "spec_impossible_value", place, "\"open\" must name 1 to %d parameters", PARAMS_MAX);
        return NULL;
    }
    p = xcalloc(1, sizeof *p + json_array_size(names) * sizeof p->list[0]);
    p->method = METHOD_OPEN;
    p->seed = (uint64_t)seed;
    p->most = most;
    json_array_foreach (names, i, name) {
        snprintf(item, sizeof item, "%s/%zu", place, i);
        if (params_check_name(json_string_value(name), item, err) < 0)
            goto fail;
        for (size_t k = 0; k < p->n; k++) {
            if (strcmp(p->list[k].name, json_string_value(name)) == 0) {
                error_at(err, "spec_impossible_value", item, "\"%s\" is named twice", p->list[k].name);
                goto fail;
            }
        }
        p->list[p->n++].name = json_string_value(name);
    }
    return p;
fail:
    free(p);
    return NULL;
}

static double draw_unit(const struct params *p, int64_t index, size_t dim)
{
    switch (p->method) {
    case METHOD_HALTON: return draw_halton(p->seed, (uint64_t)index, (unsigned)dim);
    case METHOD_LATIN_HYPERCUBE:
        return draw_latin_hypercube(p->seed, (uint64_t)index, (uint64_t)p->count, (unsigned)dim);
    default: return draw_monte_carlo(p->seed, (uint64_t)index, (unsigned)dim);
    }
}

static double draw_value(void *arg, int64_t point, size_t i)
{
    const struct params *p = arg;

    return p->list[i].low + (p->list[i].high - p->list[i].low) * draw_unit(p, point, i);
}

/* Reads the conditions of excluded combinations, and finds the remaining ones. */
static int parse_exclude(struct params *p, const json_t *obj, const char *at, struct error *err)
{
    struct exclude_parameter parameters[PARAMS_MAX];
    const json_t *list = NULL;
    char place[256];

    if (jsonx_array(obj, at, "exclude", JSONX_OPTIONAL, 0, &list, err) < 0)
        return -1;
    if (json_array_size(list) == 0)
        return 0;
    jsonx_pointer(place, sizeof place, at, "exclude");
    if (p->method == METHOD_LATIN_HYPERCUBE)
        return error_at(
            err, "spec_impossible_value", place,
            "a Latin hypercube has a point in each stratum, and would have holes: exclude goes with a grid, "
            "halton and monte-carlo");
    list_parameters(p, parameters);
    p->exclude = exclude_parse(list, place, parameters, p->n, err);
    if (p->exclude == NULL)
        return -1;
    p->remains = p->method == METHOD_GRID ? remains_of_grid(p->exclude, parameters, p->n, place, err)
                                          : remains_of_draws(p->exclude, p->n, p->count, draw_value, p, place, err);
    if (p->remains == NULL)
        return -1;
    p->count = remains_count(p->remains);
    return 0;
}

/* Returns those of the single member of a spec that has none: the grid of no parameter, which has one point. */
static struct params *without_parameters(void)
{
    struct params *p = xcalloc(1, sizeof *p);

    p->method = METHOD_GRID;
    p->count = 1;
    return p;
}

/* Refuses to exclude members that are listed, and not generated. */
static int check_exclude(const json_t *obj, const char *at, struct error *err)
{
    bool file = json_object_get(obj, "file") != NULL;
    char place[256];

    if (json_object_get(obj, "exclude") == NULL || (!file && json_object_get(obj, "open") == NULL))
        return 0;
    jsonx_pointer(place, sizeof place, at, "exclude");
    return error_at(err, "spec_impossible_value", place, "\"exclude\" is for a grid or a space: %s",
                    file ? "leave rows out of the file" : "a generator need not suggest what it does not want");
}

struct params *params_parse(const json_t *obj, const char *at, struct rows *rows, struct error *err)
{
    static const char *const drawn_keys[] = {"method", "count", "seed", "space", "exclude", NULL};
    static const char *const grid_keys[] = {"grid", "seed", "exclude", NULL};
    static const char *const all_keys[] = {"method",  "count", "seed", "space", "grid",
                                           "exclude", "file",  "open", "most",  NULL};
    const json_t *space = json_object_get(obj, "grid");
    bool grid = space != NULL;
    const char *key = grid ? "grid" : "space";
    struct params *p;
    char place[256];
    const char *path;
    int64_t seed = 0;

    if (obj == NULL)
        return without_parameters();
    if (jsonx_only(obj, at, all_keys, err) < 0 || check_exclude(obj, at, err) < 0)
        return NULL;
    switch (params_file(obj, at, &path, err)) {
    case 1: return parse_file(obj, at, rows, err);
    case -1: return NULL;
    }
    if (json_object_get(obj, "open") != NULL)
        return parse_open(obj, at, err);
    if (jsonx_only(obj, at, grid ? grid_keys : drawn_keys, err) < 0 ||
        jsonx_object(obj, at, key, JSONX_REQUIRED, &space, err) < 0 ||
        jsonx_int(obj, at, "seed", JSONX_OPTIONAL, 0, INT64_MAX, &seed, err) < 0)
        return NULL;
    jsonx_pointer(place, sizeof place, at, key);
    if (json_object_size(space) == 0 || json_object_size(space) > PARAMS_MAX) {
        error_at(err, "spec_impossible_value", place, "\"%s\" must name 1 to %d parameters", key, PARAMS_MAX);
        return NULL;
    }
    p = xcalloc(1, sizeof *p + json_object_size(space) * sizeof p->list[0]);
    p->seed = (uint64_t)seed;
    p->count = 1;
    p->method = METHOD_GRID;
    if (!grid && parse_method(p, obj, at, err) < 0)
        goto fail;
    if (p->method == METHOD_HALTON && json_object_size(space) > DRAW_HALTON_DIMENSIONS) {
        error_at(err, "spec_impossible_value", place, "halton takes at most %d parameters", DRAW_HALTON_DIMENSIONS);
        goto fail;
    }
    if (parse_params_list(p, space, place, err) < 0 || parse_exclude(p, obj, at, err) < 0)
        goto fail;
    return p;
fail:
    params_destroy(p);
    return NULL;
}

void params_know(struct params *p, const char *word)
{
    p->word = word;
}

bool params_knows(const struct params *p, const char *word)
{
    return p->word != NULL && strcmp(p->word, word) == 0;
}

void params_keep_rows(struct params *p)
{
    if (p != NULL)
        p->rows = NULL;
}

void params_destroy(struct params *p)
{
    if (p == NULL)
        return;
    rows_close(p->rows);
    remains_destroy(p->remains);
    exclude_destroy(p->exclude);
    free(p);
}

int64_t params_count(const struct params *p)
{
    return p->count;
}

size_t params_size(const struct params *p)
{
    return p->n;
}

const char *params_name(const struct params *p, size_t i)
{
    return p->rows != NULL ? rows_column(p->rows, i) : p->list[i].name;
}

size_t params_find(const struct params *p, const char *placeholder, const char **path)
{
    size_t found = p->n, longest = 0;

    *path = NULL;
    for (size_t i = 0; i < p->n; i++) {
        const char *name = params_name(p, i);
        size_t size = strlen(name);

        if (strncmp(placeholder, name, size) != 0)
            continue;
        if (placeholder[size] == '\0') {
            *path = NULL;
            return i;
        }
        if (placeholder[size] == '.' && size > longest) {
            *path = placeholder + size + 1;
            longest = size;
            found = i;
        }
    }
    return found;
}

bool params_reach(const struct params *p, const char *placeholder)
{
    const char *path;
    const json_t *item;
    size_t i = params_find(p, placeholder, &path), k;

    if (i == p->n || path == NULL)
        return i < p->n;
    if (params_are_rows(p))
        return p->rows == NULL || !rows_is_numeric(p->rows, i);
    json_array_foreach (p->list[i].values, k, item)
        if (jsonx_inside(item, path) == NULL)
            return false;
    return p->method == METHOD_GRID;
}

size_t params_longest(const struct params *p, size_t i)
{
    return p->rows != NULL ? rows_longest(p->rows, i) : p->list[i].longest;
}

size_t params_longest_json(const struct params *p)
{
    size_t size = 2;

    for (size_t i = 0; !params_are_rows(p) && i < p->n; i++)
        size += strlen(p->list[i].name) + strlen("\"\":,") + p->list[i].longest_json;
    return size;
}

bool params_is_numeric(const struct params *p, size_t i)
{
    const json_t *item;
    size_t k;

    if (p->rows != NULL)
        return rows_is_numeric(p->rows, i);
    if (p->method != METHOD_GRID)
        return true; /* a training takes suggestions of numbers alone */
    json_array_foreach (p->list[i].values, k, item)
        if (!json_is_number(item))
            return false;
    return true;
}

bool params_are_rows(const struct params *p)
{
    return p->method >= METHOD_FILE;
}

bool params_are_open(const struct params *p)
{
    return p->method == METHOD_OPEN;
}

int64_t params_most(const struct params *p)
{
    return p->most;
}

void params_ask(struct params *p, params_give *give, void *arg, int64_t root)
{
    p->give = give;
    p->giver = arg;
    p->root = root;
}

bool params_are_drawn(const struct params *p)
{
    return p->method < METHOD_GRID;
}

size_t params_choices(const struct params *p, size_t i)
{
    return json_array_size(p->list[i].values);
}

json_t *params_choice(const struct params *p, size_t i, size_t k)
{
    return json_incref(json_array_get(p->list[i].values, k));
}

bool *params_combinations(const struct params *p, const size_t *which, const size_t *n, size_t count)
{
    struct exclude_parameter parameters[PARAMS_MAX];

    if (p->remains == NULL)
        return NULL;
    list_parameters(p, parameters);
    return remains_combinations(p->remains, parameters, which, n, count);
}

static int64_t point_of(const struct params *p, int64_t index)
{
    return p->remains != NULL ? remains_point(p->remains, index) : index;
}

/* Returns a parameter of a point of the grid or of the sequence. */
static json_t *value_at(const struct params *p, size_t i, int64_t point)
{
    const json_t *values = p->list[i].values;

    if (p->method != METHOD_GRID)
        return json_real(draw_value((void *)p, point, i));
    for (size_t later = p->n - 1; later > i; later--) /* the last parameter varies fastest */
        point /= (int64_t)json_array_size(p->list[later].values);
    return json_incref(json_array_get(values, (size_t)point % json_array_size(values)));
}

json_t *params_one(const struct params *p, size_t i, int64_t index)
{
    json_t *row, *value;

    if (!params_are_rows(p))
        return value_at(p, i, point_of(p, index));
    row = params_at(p, index);
    value = json_incref(json_object_get(row, params_name(p, i)));
    json_decref(row);
    return value;
}

json_t *params_at(const struct params *p, int64_t index)
{
    json_t *out;
    int64_t point;

    if (p->rows != NULL)
        return rows_at(p->rows, index);
    if (p->method == METHOD_OPEN)
        return p->give != NULL ? p->give(p->giver, p->root, index) : NULL;
    out = json_object();
    point = point_of(p, index);
    for (size_t i = 0; i < p->n; i++)
        json_object_set_new(out, p->list[i].name, value_at(p, i, point));
    return out;
}

const char *params_path(const struct params *p)
{
    return p->rows != NULL ? rows_path(p->rows) : NULL;
}

uint64_t params_seed(const struct params *p, int64_t index)
{
    return draw_bits(p->seed, UINT64_C(0x6d656d626572), (uint64_t)index);
}
