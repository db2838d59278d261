/* Resources that depend on a member's parameters. */
#include "tests/unit/unit.h"

#include "daemon/spec/needs.h"
#include "scheduler-adapters/resources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A spec whose parameters, resources and other keys of members and of the whole are these. */
static struct spec *make(const char *parameters, const char *resources, const char *more, const char *whole,
                         struct error *err)
{
    json_error_t wrong;
    char text[2000];
    json_t *json;
    struct spec *spec;

    snprintf(text, sizeof text, "{'name': 'x', 'members': {'command': ['x'], 'parameters': %s, 'resources': %s%s}%s}",
             parameters, resources, more, whole);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    json = json_loads(text, 0, &wrong);
    if (json == NULL)
        fail_msg("%s: %s", wrong.text, text);
    spec = spec_parse(json, NULL, err);
    json_decref(json);
    return spec;
}

static struct spec *good(const char *parameters, const char *resources)
{
    struct error err = {0};
    struct spec *spec = make(parameters, resources, "", "", &err);

    if (spec == NULL)
        fail_msg("%s at %s", err.text, err.pointer);
    return spec;
}

static void equal_ones_are_told(void **state)
{
    struct spec *spec = good("{'grid': {'workers': [1, 2], 'lr': [0.1, 0.2]}}", "{'tasks': '{workers}'}");
    struct adapter_resources r[4];
    struct error err;

    for (int i = 0; i < 4; i++)
        assert_int_equal(needs_of(spec, i, &r[i], &err), 0);
    assert_true(resources_are_equal(&r[0], &r[1]));
    assert_false(resources_are_equal(&r[1], &r[2]));
    assert_true(resources_are_equal(&r[2], &r[3]));
    spec_destroy(spec);
}

static int count(void *arg, const struct adapter_resources *r, struct error *err)
{
    int *n = arg;

    ++*n;
    return 0;
}

static void only_what_differs_is_looked_at(void **state)
{
    struct spec *spec = good("{'grid': {'a': [1, 2, 3], 'b': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 'c': [1, 2]}}",
                             "{'tasks': '{a}', 'gpus': '{c}'}");
    struct error err;
    int n = 0;

    assert_int_equal(needs_each(spec, count, &n, &err), 0);
    assert_int_equal(n, 6);
    spec_destroy(spec);
}

static void each_mistake_is_named_with_its_place(void **state)
{
    static const struct {
        const char *parameters, *resources, *more, *whole, *pointer, *says;
    } mistakes[] = {
        {"{'grid': {'w': [1, 2.5]}}", "{'tasks': '{w}'}", "", "", "/members/resources/tasks", "\"2.5\" for a member, which is no whole number"},
        {"{'grid': {'w': [1, 0]}}", "{'tasks': '{w}'}", "", "", "/members/resources/tasks", "from 1 to 100000"},
        {"{'grid': {'w': [1, 10001]}}", "{'gpus': '{w}'}", "", "", "/members/resources/gpus", "from 0 to 10000"},
        {"{'grid': {'w': ['1h', 'long']}}", "{'walltime': '{w}'}", "", "", "/members/resources/walltime", "no duration"},
        {"{'grid': {'w': [1, true]}}", "{'memory': '{w}GiB'}", "", "", "/members/resources/memory", "no size"},
        {"{'grid': {'w': [1]}}", "{'tasks': '{v}'}", "", "", "/members/resources/tasks", "{v}"},
        {"{'grid': {'w': [1]}}", "{'tasks': '{index}'}", "", "", "/members/resources/tasks", "{index}"},
        {"{'grid': {'w': [1]}}", "{'tasks': '1'}", "", "", "/members/resources/tasks", "integer"},
        {"{'grid': {'w': [1]}}", "{'tasks': '{{'}", "", "", "/members/resources/tasks", "no whole number"},
        {"{'grid': {'w': [1]}}", "{'queue': '{w}', 'tasks': '{w'}", "", "", "/members/resources/tasks", "brace"},
        {"{'method': 'halton', 'count': 9, 'space': {'w': [1, 3]}}", "{'tasks': '{w}'}", "", "", "/members/resources/tasks", "drawn"},
        {"{'method': 'halton', 'count': 9, 'space': {'w': [1, 3]}}", "{'walltime': '{w}h'}", "", "", "/members/resources/walltime", "drawn"},
        {"{'grid': {'w': [4, 1]}}", "{'tasks': '{w}', 'nodes': 2, 'launcher': 'copies'}", "", "", "/members/resources/tasks", "1 tasks"},
        {"{'grid': {'w': [1, 2]}}", "{'tasks': 2, 'nodes': '{w}', 'launcher': 'copies'}", "", ", 'pack': 2", "/pack", "2 nodes"},
        {"{'grid': {'w': ['1h', '1m']}}", "{'walltime': '{w}'}", ", 'checkpoint': {'before': '5m'}", "", "/members/checkpoint/before", "60 s"},
        {"{'grid': {'w': [1, 2]}}", "{'tasks': '{w}'}", "", ", 'allocation': {'cpus': 8}", "/members/resources", "allocation"},
        {"{'grid': {'w': [1, 2]}}", "{'tasks': '{w}'}", "", ", 'refill': true", "/members/resources", "refill"},
        {"{'grid': {'w': [1, 2]}}", "{}", "", ", 'training': {'command': ['y'], 'resources': {'tasks': '{w}'}, 'fields': {'u': {'dtype': 'float32', 'shape': [1]}}}",
         "/training/resources/tasks", "integer"},
    };

    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct error err = {0};
        struct spec *spec =
            make(mistakes[i].parameters, mistakes[i].resources, mistakes[i].more, mistakes[i].whole, &err);

        if (spec != NULL || strcmp(err.pointer, mistakes[i].pointer) != 0 || strstr(err.text, mistakes[i].says) == NULL)
            fail_msg("%s, %s: %s at %s", mistakes[i].parameters, mistakes[i].resources,
                     spec != NULL ? "taken" : err.text, err.pointer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ones_are_told),
        cmocka_unit_test(only_what_differs_is_looked_at),
        cmocka_unit_test(each_mistake_is_named_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
