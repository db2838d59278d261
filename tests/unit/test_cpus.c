/* CPUs are divided so that each has a whole part of the machine. */
#include "tasks/runner/cpus.h"
#include "tests/unit/unit.h"

/* Two packages of two cores of two threads, numbered as Linux does: the second threads of all cores come last. */
static void neighbours_stay_together(void **state)
{
    struct cpu list[8];
    static const int wanted[8] = {0, 4, 1, 5, 2, 6, 3, 7};

    for (int id = 0; id < 8; id++)
        list[id] = (struct cpu){.package = id % 4 / 2, .core = id % 2, .id = id};
    cpus_sort(list, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(list[i].id, wanted[i]);
}

static void parts_are_all_and_differ_by_one(void **state)
{
    for (size_t n = 1; n <= 70; n++)
        for (size_t parts = 1; parts <= n; parts++) {
            size_t next = 0, first;

            for (size_t i = 0; i < parts; i++) {
                size_t k = cpus_part(n, parts, i, &first);

                assert_int_equal(first, next);
                assert_true(k == n / parts || k == n / parts + 1);
                next += k;
            }
            assert_int_equal(next, n);
        }
}

static void too_few_are_not_divided(void **state)
{
    size_t first;

    assert_int_equal(cpus_part(3, 4, 0, &first), 0);
    assert_int_equal(cpus_part(0, 1, 0, &first), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_stay_together),
        cmocka_unit_test(parts_are_all_and_differ_by_one),
        cmocka_unit_test(too_few_are_not_divided),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
