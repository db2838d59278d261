/* Combinations of parameters that a spec leaves out. */
#include "daemon/spec/needs.h"
#include "daemon/spec/remains.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads JSON with ' in the place of ". */
static json_t *read_json(const char *text)
{
    char *copy = strdup(text);
    json_error_t wrong;
    json_t *json;

    for (char *c = copy; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    json = json_loads(copy, JSON_DECODE_ANY, &wrong);
    if (json == NULL)
        fail_msg("%s: %s", wrong.text, text);
    free(copy);
    return json;
}

static struct params *parse(const char *text, json_t **json)
{
    struct error err = {.text = ""};
    struct params *p;

    *json = read_json(text);
    p = params_parse(*json, "/p", NULL, &err);
    if (p == NULL)
        fail_msg("%s: %s at %s", text, err.text, err.pointer);
    return p;
}

#define GRID "{'grid': {'workers': [1, 2, 4], 'batch': [32, 64, 128], 'opt': ['sgd', 'adam'], 'net': [{'w': 1}, [2, 3.0]]}, 'exclude': "

static json_int_t integer(const json_t *row, const char *name)
{
    return json_integer_value(json_object_get(row, name));
}

static bool is_adam(const json_t *row)
{
    return strcmp(json_string_value(json_object_get(row, "opt")), "adam") == 0;
}

static bool is_large(const json_t *row)
{
    return integer(row, "workers") * integer(row, "batch") > 256;
}

static bool is_large_or_small(const json_t *row)
{
    return is_large(row) || (integer(row, "batch") / integer(row, "workers") <= 8 && is_adam(row));
}

static bool is_one_of(const json_t *row)
{
    return integer(row, "workers") != 2 && is_adam(row) && integer(row, "batch") > 32;
}

static bool is_double(const json_t *row)
{
    return 2 * integer(row, "workers") >= 8 || 0.5 + (double)integer(row, "batch") == 64.5;
}

static bool is_list(const json_t *row)
{
    return json_is_array(json_object_get(row, "net"));
}

static bool is_object(const json_t *row)
{
    return json_is_object(json_object_get(row, "net")) && integer(row, "workers") + integer(row, "batch") < 66;
}

static bool is_w(const json_t *row)
{
    return json_is_object(json_object_get(row, "net"));
}

static bool is_product_inside(const json_t *row)
{
    return is_list(row) && integer(row, "workers") == 1 && 3 * integer(row, "batch") > 100;
}

static bool is_between(const json_t *row)
{
    return integer(row, "batch") - integer(row, "workers") > 28 &&
           integer(row, "batch") - integer(row, "workers") <= 31;
}

/* Members are the points that remain, in the order of the grid: as a plain look at each point has it. */
static void what_remains_keeps_its_order(void **state)
{
    static const struct {
        const char *exclude;
        bool (*excluded)(const json_t *row);
        int64_t count;
    } cases[] = {
        {"[{'opt': 'adam'}]", is_adam, 18},
        {"[{'workers * batch': {'above': 256}}]", is_large, 32},
        {"[{'workers * batch': {'above': 256}}, {'opt': 'adam', 'batch / workers': {'at_most': 8}}]", is_large_or_small, 30},
        {"[{'opt': 'adam', 'workers': {'in': [1, 4.0]}, 'batch': {'at_least': 64}}]", is_one_of, 28},
        {"[{'net': [2.0, 3]}]", is_list, 18},
        {"[{'net': {'w': 1}, 'workers + batch': {'below': 66}}]", is_object, 28},
        {"[{'batch - workers': {'above': 28, 'at_most': 31}}]", is_between, 28},
        {"[{'2 * workers': {'at_least': 8}}, {'batch + 0.5': 64.5}]", is_double, 16},
        {"[{'net.w': 1}]", is_w, 18},
        {"[{'net.1 * batch': {'above': 100}, 'workers': 1}]", is_product_inside, 32},
        {"[]", NULL, 36},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        json_t *all_json, *json;
        struct params *all = parse(GRID "[]}", &all_json), *p;
        char text[500];
        int64_t index = 0;

        snprintf(text, sizeof text, GRID "%s}", cases[c].exclude);
        p = parse(text, &json);
        assert_int_equal(params_count(p), cases[c].count);
        for (int64_t point = 0; point < params_count(all); point++) {
            json_t *wanted = params_at(all, point), *got, *one;

            if (cases[c].excluded == NULL || !cases[c].excluded(wanted)) {
                got = params_at(p, index);
                one = params_one(p, 1, index);
                assert_true(json_equal(got, wanted));
                assert_true(json_equal(one, json_object_get(wanted, "batch")));
                /* a member's seed is that of its index */
                assert_true(params_seed(p, index) == params_seed(all, index));
                json_decref(one);
                json_decref(got);
                index++;
            }
            json_decref(wanted);
        }
        assert_int_equal(index, cases[c].count);
        params_destroy(p);
        params_destroy(all);
        json_decref(json);
        json_decref(all_json);
    }
}

/* There are as many members as were asked for, each a draw of the same sequence; excluded draws are skipped. */
static void draws_are_passed_over(void **state)
{
    static const char *const methods[] = {"halton", "monte-carlo"};

    for (size_t m = 0; m < 2; m++) {
        json_t *json, *all_json;
        struct params *p, *all;
        char text[300];
        int64_t draw = 0;

        snprintf(text, sizeof text,
                 "{'method': '%s', 'seed': 3, 'count': 200, 'space': {'a': [0, 1], 'b': [0, 1], 'c': [0, 1]}, "
                 "'exclude': [{'a + b': {'above': 1}}, {'c': {'below': 0.1}}]}",
                 methods[m]);
        p = parse(text, &json);
        snprintf(text, sizeof text,
                 "{'method': '%s', 'seed': 3, 'count': 100000, 'space': {'a': [0, 1], 'b': [0, 1], 'c': [0, 1]}}", methods[m]);
        all = parse(text, &all_json);
        assert_int_equal(params_count(p), 200);
        for (int64_t i = 0; i < 200; i++) {
            json_t *got = params_at(p, i), *drawn = NULL;
            double a, b, c;

            do {
                json_decref(drawn);
                drawn = params_at(all, draw++);
                a = json_number_value(json_object_get(drawn, "a"));
                b = json_number_value(json_object_get(drawn, "b"));
                c = json_number_value(json_object_get(drawn, "c"));
            } while (a + b > 1 || c < 0.1);
            assert_true(json_equal(got, drawn));
            json_decref(drawn);
            json_decref(got);
        }
        assert_true(draw > 300 && draw < 800); /* a little less than half of them remain */
        params_destroy(p);
        params_destroy(all);
        json_decref(json);
        json_decref(all_json);
    }
}

static void mistakes_are_named_with_their_places(void **state)
{
    static const struct {
        const char *parameters, *pointer, *says;
    } cases[] = {
        {GRID "{}}", "/p/exclude", "array"},
        {GRID "[7]}", "/p/exclude/0", "an object of conditions, not an integer"},
        {GRID "[{'opt': 'sgd'}, {}]}", "/p/exclude/1", "would exclude everything"},
        {GRID "[{'optimiser': 'sgd'}]}", "/p/exclude/0/optimiser", "no parameter \"optimiser\""},
        {GRID "[{'opt': 'sdg'}]}", "/p/exclude/0/opt", "no such value of \"opt\""},
        {GRID "[{'opt': {'in': ['sgd', 'sdg']}}]}", "/p/exclude/0/opt/in/1", "no such value"},
        {GRID "[{'opt': {'in': []}}]}", "/p/exclude/0/opt/in", "1"},
        {GRID "[{'opt': {'in': ['sgd'], 'above': 1}}]}", "/p/exclude/0/opt", "no bounds"},
        {GRID "[{'opt': {'above': 1}}]}", "/p/exclude/0/opt", "no numbers"},
        {GRID "[{'batch': {'abov': 1}}]}", "/p/exclude/0/batch/abov", "above"},
        {GRID "[{'batch': {}}]}", "/p/exclude/0/batch", "bounds or a list"},
        {GRID "[{'batch': {'above': '1'}}]}", "/p/exclude/0/batch/above", "number"},
        {GRID "[{'batch * opt': 7}]}", "/p/exclude/0/batch * opt", "\"opt\" are no numbers"},
        {GRID "[{'batch * workers': 'x'}]}", "/p/exclude/0/batch * workers", "a term is a number"},
        {GRID "[{'batch / lr': {'above': 1}}]}", "/p/exclude/0/batch ~1 lr", "no parameter \"lr\""},
        {GRID "[{'batch *': {'above': 1}}]}", "/p/exclude/0/batch *", "a term is"},
        {GRID "[{'batch workers': {'above': 1}}]}", "/p/exclude/0/batch workers", "a term is"},
        {GRID "[{'batch ** workers': {'above': 1}}]}", "/p/exclude/0/batch ** workers", "a term is"},
        {GRID "[{'batch * workers + batch': {'above': 1}}]}", "/p/exclude/0/batch * workers + batch", "not both"},
        {GRID "[{'batch + batch + batch + batch + batch + batch + batch + batch + batch': 9}]}", NULL, "at most 8"},
        {GRID "[{'2': 2}]}", "/p/exclude/0/2", "at least one parameter"},
        {GRID "[{'2 * 3': 6}]}", "/p/exclude/0/2 * 3", "at least one parameter"},
        {GRID "[{'batch * 2x': {'above': 1}}]}", "/p/exclude/0/batch * 2x", "no parameter \"2x\""},
        {GRID "[{'batch * nan': {'above': 1}}]}", "/p/exclude/0/batch * nan", "no parameter \"nan\""},
        {GRID "[{'batch * 1e999': {'above': 1}}]}", "/p/exclude/0/batch * 1e999", "no parameter \"1e999\""},
        {GRID "[{'batch / 0': {'above': 1}}]}", "/p/exclude/0/batch ~1 0", "not divided by 0"},
        {GRID "[{'opt * 2': {'above': 1}}]}", "/p/exclude/0/opt * 2", "\"opt\" are no numbers"},
        {"{'file': 'x.csv', 'exclude': [{'a': 1}]}", "/p/exclude", "leave rows out of the file"},
        {GRID "[{'net.w': 2}]}", "/p/exclude/0/net.w", "no such value"},
        {GRID "[{'net.v': {'above': 2}}]}", "/p/exclude/0/net.v", "\"net.v\" are no numbers"},
        {GRID "[{'batch.x * workers': 1}]}", "/p/exclude/0/batch.x * workers", "\"batch.x\" are no numbers"},
        {GRID "[{'batch': {'above': 0}}]}", "/p/exclude", "all points of the grid are excluded"},
        {"{'method': 'halton', 'count': 10, 'space': {'a': [0, 1]}, 'exclude': [{'a': 0.5}]}", "/p/exclude/0/a", "write bounds"},
        {"{'method': 'halton', 'count': 10, 'space': {'a': [0, 1]}, 'exclude': [{'a': {'above': -1}}]}", "/p/exclude",
         "only 0 are not excluded, and \"count\" is 10"},
        {"{'method': 'latin-hypercube', 'count': 10, 'space': {'a': [0, 1]}, 'exclude': [{'a': {'above': 0.5}}]}", "/p/exclude",
         "stratum"},
        {"{'open': ['a'], 'exclude': [{'a': {'above': 0.5}}]}", "/p/exclude", "need not suggest"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = read_json(cases[i].parameters);
        struct error err = {.text = ""};

        if (params_parse(json, "/p", NULL, &err) != NULL)
            fail_msg("accepted: %s", cases[i].parameters);
        if (cases[i].pointer != NULL && strcmp(err.pointer, cases[i].pointer) != 0)
            fail_msg("%s: %s, and not %s", cases[i].parameters, err.pointer, cases[i].pointer);
        if (strstr(err.text, cases[i].says) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].parameters, err.text, cases[i].says);
        json_decref(json);
    }
}

/* A grid of a hundred million points is looked at where the parameters that are named come first, and refused if
 * not. */
static void large_grids_are_bounded(void **state)
{
    json_t *grid = json_object(), *values = json_array(), *json, *row;
    struct error err;
    struct params *p;

    for (int i = 0; i < 100; i++)
        json_array_append_new(values, json_integer(i));
    for (const char *name = "abcd"; *name != '\0'; name++)
        json_object_set(grid, (char[]){*name, '\0'}, values);
    json = json_pack("{s:o, s:o}", "grid", grid, "exclude", read_json("[{'a * b': {'above': 0}}]"));
    p = params_parse(json, "/p", NULL, &err);
    assert_non_null(p);
    assert_int_equal(params_count(p), 199 * 10000);
    row = params_at(p, 199 * 10000 - 1);
    assert_int_equal(integer(row, "a"), 99);
    assert_int_equal(integer(row, "b"), 0);
    assert_int_equal(integer(row, "d"), 99);
    json_decref(row);
    params_destroy(p);
    json_object_set_new(json, "exclude", read_json("[{'a * d': {'above': 0}}]"));
    assert_null(params_parse(json, "/p", NULL, &err));
    assert_string_equal(err.pointer, "/p/exclude");
    json_decref(values);
    json_decref(json);
}

static int add_tasks(void *arg, const struct adapter_resources *r, struct error *err)
{
    *(int *)arg += 1000 + r->tasks;
    return 0;
}

/* Resources that no member has, since their combination is excluded, are neither checked nor the most that members
 * have. */
static void resources_are_those_of_members(void **state)
{
    json_t *json = read_json("{'name': 'x', 'members': {'command': ['x', '{c}'], 'parameters': {'grid': {'nodes': [1, 2, 4], 'tasks': [1, 2, 4, 8], "
                             "'c': [1, 2], 'gpus': [0, 1]}, 'exclude': [{'tasks / nodes': {'below': 1}}, {'tasks': 8}]}, "
                             "'resources': {'nodes': '{nodes}', 'tasks': '{tasks}', 'gpus': '{gpus}', 'launcher': 'copies'}}}");
    struct error err = {.text = ""};
    struct spec *spec = spec_parse(json, NULL, &err);
    int seen = 0;

    if (spec == NULL)
        fail_msg("%s at %s", err.text, err.pointer);
    assert_int_equal(params_count(spec->params), (3 + 2 + 1) * 4);
    assert_int_equal(spec->members.resources.tasks, 4);
    assert_int_equal(needs_each(spec, add_tasks, &seen, &err), 0);
    assert_int_equal(seen, 12000 + 2 * (1 + 2 + 4 + 2 + 4 + 4));
    spec_destroy(spec);
    json_object_del(json_object_get(json_object_get(json, "members"), "parameters"), "exclude");
    assert_null(spec_parse(json, NULL, &err));
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_remains_keeps_its_order), cmocka_unit_test(draws_are_passed_over),
        cmocka_unit_test(mistakes_are_named_with_their_places), cmocka_unit_test(large_grids_are_bounded),
        cmocka_unit_test(resources_are_those_of_members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
