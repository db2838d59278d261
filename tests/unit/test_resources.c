/* The table of resources: what is done with all of them goes by it, so each row is tried in each way. */
#include "tests/unit/unit.h"

#include "scheduler-adapters/resources.h"

#include <string.h>

static void each_resource_makes_jobs_differ(void **state)
{
    char another[] = "x"; /* not at the same address */
    json_t *words = json_pack("[s]", "-x"), *same = json_pack("[s]", "-x");

    for (const struct resource *one = resource_table; one->key != NULL; one++) {
        struct adapter_resources a, b;

        assert_ptr_equal(resource_find(one->key), one);
        resources_init(&a);
        resources_init(&b);
        assert_true(resources_are_equal(&a, &b));
        assert_int_equal(resource_get(&a, one), one->otherwise);
        if (one->kind == RESOURCE_PROGRAM)
            continue;
        if (one->kind == RESOURCE_NAME)
            *resource_name(&a, one) = "x";
        else if (one->kind == RESOURCE_WORDS)
            *resource_words(&a, one) = words;
        else
            resource_set(&a, one, one->most);
        if (resources_are_equal(&a, &b) || resources_are_equal(&b, &a))
            fail_msg("%s makes no difference", one->key);
        if (one->kind == RESOURCE_NAME)
            *resource_name(&b, one) = another;
        else if (one->kind == RESOURCE_WORDS)
            *resource_words(&b, one) = same;
        else
            resource_set(&b, one, one->most);
        assert_true(resources_are_equal(&a, &b));
    }
    assert_null(resource_find("cores"));
    json_decref(words);
    json_decref(same);
}

static void copies_outlive_what_they_are_of(void **state)
{
    char queue[] = "long";
    struct adapter_resources r;
    json_t *extra = json_pack("[s]", "-x"), *json, *wanted, *value;
    const char *key;

    resources_init(&r);
    r.queue = queue;
    r.extra = extra;
    r.gpus = 3;
    r.memory = 5;
    r.walltime_ms = 7000;
    r.launcher = "mpiexec";
    resources_keep(&r);
    memset(queue, '-', sizeof queue - 1);
    json_decref(extra);
    json = resources_json(&r);
    wanted = json_loads("{\"gpus\": 3, \"memory\": 5, \"walltime\": 7000, \"queue\": \"long\", \"extra\": [\"-x\"]}", 0, NULL);
    json_object_foreach (wanted, key, value)
        assert_true(json_equal(json_object_get(json, key), value));
    assert_null(json_object_get(json, "launcher"));
    assert_null(r.launcher);
    json_decref(json);
    json_decref(wanted);
    resources_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_resource_makes_jobs_differ),
        cmocka_unit_test(copies_outlive_what_they_are_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
