#include "daemon/spec/exclude.h"

#include "common/jsonx.h"
#include "common/xalloc.h"
#include "daemon/spec/params.h"
#include "daemon/spec/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TERM_MAX 8        /* parameters and constants of a term */
#define CONSTANT SIZE_MAX /* in the place of a parameter */

enum test { TEST_VALUE, TEST_LIST, TEST_BOUNDS };

struct exclude_condition {
    size_t n; /* parameters of the term */
    struct {
        char operation; /* between it and the one before */
        size_t parameter;
        char *path; /* to what is inside of its values; NULL for the whole */
        double constant;
    } term[TERM_MAX];
    enum test test;
    const json_t *value; /* that it must have, or a list of such */
    double at_least, at_most;
    double above, below; /* NAN for none */
};

struct exclude {
    size_t n_items, n; /* objects, and conditions of all of them */
    size_t *ends;      /* the number of conditions up to and with each object's */
    struct exclude_condition *conditions;
    bool named[PARAMS_MAX];
};

struct exclude_reader {
    struct exclude *exclude;
    const struct exclude_parameter *parameters;
    size_t n;
};

static const char *const bounds[] = {"above", "at_least", "at_most", "below", NULL};
static const char *const keys[] = {"above", "at_least", "at_most", "below", "in", NULL};

/* Finds the parameter that a word names, or reaches into; *path is then what is behind its name, else NULL. */
static size_t find_term_parameter(const struct exclude_reader *in, const char *word, size_t size, const char **path)
{
    size_t found = in->n, longest = 0;

    *path = NULL;
    for (size_t i = 0; i < in->n; i++) {
        const char *name = in->parameters[i].name;
        size_t len = strlen(name);

        if (len > size || strncmp(name, word, len) != 0)
            continue;
        if (len == size) {
            *path = NULL;
            return i;
        }
        if (word[len] == '.' && len > longest) {
            *path = word + len + 1;
            longest = len;
            found = i;
        }
    }
    return found;
}

/* Returns whether the word is a finite number. */
static bool is_constant(const char *word, size_t size, double *number)
{
    char text[64], *end;

    if (size >= sizeof text || strchr("+-.0123456789", *word) == NULL)
        return false;
    memcpy(text, word, size);
    text[size] = '\0';
    *number = strtod(text, &end);
    return *end == '\0' && isfinite(*number);
}

static int add_operand(struct exclude_reader *in, struct exclude_condition *c, char operation, const char *word,
                       size_t size, const char *place, struct error *err)
{
    const char *path;
    size_t i = find_term_parameter(in, word, size, &path);
    double number = NAN;

    if (i == in->n && is_constant(word, size, &number))
        i = CONSTANT;
    if (i == in->n)
        return error_at(err, "spec_impossible_value", place, "members have no parameter \"%.*s\"",
                        size > 63 ? 63 : (int)size, word);
    if (c->n == TERM_MAX)
        return error_at(err, "spec_impossible_value", place, "a term has at most %d parameters and constants",
                        TERM_MAX);
    if (number == 0 && operation == '/')
        return error_at(err, "spec_impossible_value", place, "a term is not divided by 0");
    c->term[c->n].constant = number;
    c->term[c->n].operation = operation;
    c->term[c->n].path = path != NULL ? xasprintf("%.*s", (int)(word + size - path), path) : NULL;
    c->term[c->n++].parameter = i;
    if (i != CONSTANT)
        in->exclude->named[i] = true;
    return 0;
}

/* Takes the next word off the text at *p. Returns its size, 0 at the end. */
static size_t next_word(const char **p, const char **word)
{
    size_t size;

    *word = *p + strspn(*p, " ");
    size = strcspn(*word, " ");
    *p = *word + size;
    return size;
}

static bool has_term_parameter(const struct exclude_condition *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->term[i].parameter != CONSTANT)
            return true;
    return false;
}

/* Reads a name, or names and constants with signs between them. Names have no blanks. */
static int parse_term(struct exclude_reader *in, struct exclude_condition *c, const char *key, const char *place,
                      struct error *err)
{
    const char *p = key, *word, *sign;
    size_t size = next_word(&p, &word);
    bool products = false, sums = false;

    if (add_operand(in, c, '+', word, size, place, err) < 0)
        return -1;
    while ((size = next_word(&p, &sign)) > 0) {
        if (size != 1 || strchr("*/+-", *sign) == NULL || (size = next_word(&p, &word)) == 0)
            return error_at(err, "spec_impossible_value", place,
                            "a term is a parameter, or parameters and constants with *, /, + or - between them and "
                            "blanks around these");
        products |= *sign == '*' || *sign == '/';
        sums |= *sign == '+' || *sign == '-';
        if (add_operand(in, c, *sign, word, size, place, err) < 0)
            return -1;
    }
    if (products && sums)
        return error_at(err, "spec_impossible_value", place, "a term has * and /, or + and -, and not both");
    if (!has_term_parameter(c))
        return error_at(err, "spec_impossible_value", place, "a term has at least one parameter");
    return 0;
}

static bool has_key(const json_t *object, const char *const *known)
{
    for (; *known != NULL; known++)
        if (json_object_get(object, *known) != NULL)
            return true;
    return false;
}

/* Returns the k-th value of a grid of the i-th parameter of a term, or what the path reaches inside of it, or NULL. */
static const json_t *grid_value(const struct exclude_reader *in, const struct exclude_condition *c, size_t i, size_t k)
{
    const json_t *value = json_array_get(in->parameters[c->term[i].parameter].values, k);

    return c->term[i].path != NULL ? jsonx_inside(value, c->term[i].path) : value;
}

static size_t count_values(const struct exclude_reader *in, const struct exclude_condition *c, size_t i)
{
    return json_array_size(in->parameters[c->term[i].parameter].values);
}

/* Returns whether an object is a value that is compared, and no bounds: that of a parameter which has such values. */
static bool is_a_value(const struct exclude_reader *in, const struct exclude_condition *c, const json_t *object)
{
    if (has_key(object, keys))
        return false;
    for (size_t k = 0; c->n == 1 && k < count_values(in, c, 0); k++)
        if (json_is_object(grid_value(in, c, 0, k)))
            return true;
    return false;
}

static bool has_numbers(const struct exclude_reader *in, const struct exclude_condition *c, size_t i)
{
    size_t numbers = 0, all = count_values(in, c, i);

    for (size_t k = 0; k < all; k++)
        numbers += json_is_number(grid_value(in, c, i, k));
    if (in->parameters[c->term[i].parameter].values == NULL)
        return c->term[i].path == NULL; /* drawn values are numbers */
    return c->n > 1 && c->term[i].path == NULL ? numbers == all : numbers > 0;
}

/* Refuses arithmetic and bounds if there are no numbers. */
static int check_numbers(const struct exclude_reader *in, const struct exclude_condition *c, const char *place,
                         struct error *err)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->term[i].parameter != CONSTANT && !has_numbers(in, c, i))
            return error_at(err, "spec_wrong_type", place, "the values of \"%s%s%.60s\" are no numbers",
                            in->parameters[c->term[i].parameter].name, c->term[i].path != NULL ? "." : "",
                            c->term[i].path != NULL ? c->term[i].path : "");
    }
    return 0;
}

static int parse_bounds(const struct exclude_reader *in, struct exclude_condition *c, const json_t *object,
                        const char *at, struct error *err)
{
    double *const out[] = {&c->above, &c->at_least, &c->at_most, &c->below};

    c->test = TEST_BOUNDS;
    for (size_t i = 0; bounds[i] != NULL; i++)
        if (jsonx_number(object, at, bounds[i], JSONX_OPTIONAL, out[i], err) < 0)
            return -1;
    if (!has_key(object, bounds))
        return error_at(err, "spec_missing_key", at,
                        "a condition is a value, or an object with bounds or a list: above, "
                        "at_least, at_most, below, in");
    return check_numbers(in, c, at, err);
}

/* Refuses a value that no combination has, since a wrong one would leave out nothing. */
static int check_condition_value(const struct exclude_reader *in, const struct exclude_condition *c,
                                 const json_t *value, const char *at, struct error *err)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->term[i].parameter != CONSTANT && in->parameters[c->term[i].parameter].values == NULL)
            return error_at(err, "spec_impossible_value", at,
                            "\"%s\" is drawn from a range, and hardly ever has a certain value: write bounds, such as "
                            "{\"at_least\": 1}",
                            in->parameters[c->term[i].parameter].name);
    if (c->n > 1 && !json_is_number(value))
        return error_at(err, "spec_wrong_type", at, "a term is a number, not %s", jsonx_type_name(value));
    if (c->n > 1)
        return 0;
    for (size_t k = 0; k < count_values(in, c, 0); k++)
        if (value_equal(grid_value(in, c, 0, k), value))
            return 0;
    return error_at(err, "spec_impossible_value", at, "the grid has no such value of \"%s\"",
                    in->parameters[c->term[0].parameter].name);
}

static int parse_value_list(const struct exclude_reader *in, struct exclude_condition *c, const json_t *object,
                            const char *at, struct error *err)
{
    char place[256], item_place[300];
    const json_t *item;
    size_t i;

    c->test = TEST_LIST;
    if (json_object_size(object) > 1)
        return error_at(err, "spec_impossible_value", at, "with \"in\" go no bounds");
    if (jsonx_array(object, at, "in", JSONX_REQUIRED, 1, &c->value, err) < 0)
        return -1;
    jsonx_pointer(place, sizeof place, at, "in");
    json_array_foreach (c->value, i, item) {
        snprintf(item_place, sizeof item_place, "%s/%zu", place, i);
        if (check_condition_value(in, c, item, item_place, err) < 0)
            return -1;
    }
    return c->n > 1 ? check_numbers(in, c, at, err) : 0;
}

static int parse_condition(struct exclude_reader *in, const char *key, const json_t *value, const char *at,
                           struct error *err)
{
    struct exclude_condition *c = &in->exclude->conditions[in->exclude->n++];
    char place[256];

    *c = (struct exclude_condition){
        .at_least = -INFINITY, .at_most = INFINITY, .above = NAN, .below = NAN, .value = value};
    jsonx_pointer(place, sizeof place, at, key);
    if (parse_term(in, c, key, place, err) < 0)
        return -1;
    if (json_is_object(value) && !is_a_value(in, c, value)) {
        if (jsonx_only(value, place, keys, err) < 0)
            return -1;
        return json_object_get(value, "in") != NULL ? parse_value_list(in, c, value, place, err)
                                                    : parse_bounds(in, c, value, place, err);
    }
    if (check_condition_value(in, c, value, place, err) < 0)
        return -1;
    return c->n > 1 ? check_numbers(in, c, place, err) : 0;
}

static int parse_items(struct exclude_reader *in, const json_t *list, const char *at, struct error *err)
{
    char place[256];
    const json_t *item;
    const char *key;
    json_t *value;
    size_t i;

    json_array_foreach (list, i, item) {
        snprintf(place, sizeof place, "%.200s/%zu", at, i);
        if (!json_is_object(item))
            return error_at(err, "spec_wrong_type", place, "what is excluded is an object of conditions, not %s",
                            jsonx_type_name(item));
        if (json_object_size(item) == 0)
            return error_at(err, "spec_impossible_value", place,
                            "an object without conditions would exclude everything");
        json_object_foreach ((json_t *)item, key, value)
            if (parse_condition(in, key, value, place, err) < 0)
                return -1;
        in->exclude->ends[i] = in->exclude->n;
    }
    return 0;
}

struct exclude *exclude_parse(const json_t *list, const char *at, const struct exclude_parameter *parameters, size_t n,
                              struct error *err)
{
    struct exclude *exclude = xcalloc(1, sizeof *exclude);
    struct exclude_reader in = {exclude, parameters, n};
    const json_t *item;
    size_t i, conditions = 0;

    exclude->n_items = json_array_size(list);
    json_array_foreach (list, i, item)
        conditions += json_object_size(item);
    exclude->ends = xcalloc(exclude->n_items + 1, sizeof *exclude->ends);
    exclude->conditions = xcalloc(conditions + 1, sizeof *exclude->conditions);
    if (parse_items(&in, list, at, err) == 0)
        return exclude;
    exclude_destroy(exclude);
    return NULL;
}

void exclude_destroy(struct exclude *exclude)
{
    if (exclude == NULL)
        return;
    for (size_t i = 0; i < exclude->n; i++)
        for (size_t k = 0; k < exclude->conditions[i].n; k++)
            free(exclude->conditions[i].term[k].path);
    free(exclude->ends);
    free(exclude->conditions);
    free(exclude);
}

size_t exclude_size(const struct exclude *exclude)
{
    return exclude->n_items;
}

bool exclude_names(const struct exclude *exclude, size_t parameter)
{
    return exclude->named[parameter];
}

static double term_number(const struct exclude_condition *c, size_t i, const struct exclude_value *values)
{
    const struct exclude_value *value;
    const json_t *inside;

    if (c->term[i].parameter == CONSTANT)
        return c->term[i].constant;
    value = &values[c->term[i].parameter];
    if (c->term[i].path == NULL)
        return value->number;
    inside = jsonx_inside(value->json, c->term[i].path);
    return json_is_number(inside) ? json_number_value(inside) : NAN;
}

/* Returns the value of a term: from left to right, since its signs are of one rank. */
static double compute(const struct exclude_condition *c, const struct exclude_value *values)
{
    double x = term_number(c, 0, values);

    for (size_t i = 1; i < c->n; i++) {
        double y = term_number(c, i, values);

        switch (c->term[i].operation) {
        case '*': x *= y; break;
        case '/': x /= y; break;
        case '+': x += y; break;
        default: x -= y;
        }
    }
    return x;
}

static bool is_term_value(const struct exclude_condition *c, const json_t *value, const struct exclude_value *values)
{
    const json_t *own = values[c->term[0].parameter].json;

    if (c->n > 1)
        return compute(c, values) == json_number_value(value);
    return value_equal(c->term[0].path != NULL ? jsonx_inside(own, c->term[0].path) : own, value);
}

static bool does_condition_hold(const struct exclude_condition *c, const struct exclude_value *values)
{
    double x;

    switch (c->test) {
    case TEST_VALUE: return is_term_value(c, c->value, values);
    case TEST_LIST:
        for (size_t i = 0; i < json_array_size(c->value); i++)
            if (is_term_value(c, json_array_get(c->value, i), values))
                return true;
        return false;
    default:
        x = compute(c, values); /* NAN is within no bounds */
        return x >= c->at_least && x <= c->at_most && !(x <= c->above) && !(x >= c->below);
    }
}

bool exclude_meets(const struct exclude *exclude, const struct exclude_value *values)
{
    size_t i = 0;

    for (size_t item = 0; item < exclude->n_items; item++) {
        bool all = true;

        for (; all && i < exclude->ends[item]; i++)
            all = does_condition_hold(&exclude->conditions[i], values);
        if (all)
            return true;
        i = exclude->ends[item];
    }
    return false;
}
