#include "tasks/member/steps.h"
#include "tasks/train/random.h"
#include "tasks/proto/stepset.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <unistd.h>

static bool add(struct stepset *set, uint64_t member, int64_t step)
{
    assert_int_equal(stepset_reserve(set), 0);
    return stepset_add(set, member, step);
}

static void what_was_added_is_there_and_nothing_else(void **state)
{
    enum { MEMBERS = 300, STEPS = 200 };
    char *reference = calloc(MEMBERS * STEPS, 1);
    struct stepset *set = stepset_create();
    struct random r;

    random_seed(&r, 4);
    for (int i = 0; i < 50000; i++) {
        uint64_t member = random_below(&r, MEMBERS);
        int64_t step = (int64_t)random_below(&r, STEPS);
        size_t at = member * STEPS + (size_t)step;

        assert_int_equal(add(set, member, step), !reference[at]);
        reference[at] = 1;
    }
    for (size_t at = 0; at < MEMBERS * STEPS; at++)
        assert_int_equal(stepset_has(set, at / STEPS, (int64_t)(at % STEPS)), reference[at]);
    stepset_destroy(set);
    free(reference);
}

static void the_extremes_are_told_apart(void **state)
{
    struct stepset *set = stepset_create();

    assert_true(add(set, 0, 0));
    assert_true(add(set, 0, STEPSET_STEP_MAX));
    assert_true(add(set, STEPSET_MEMBER_MAX, 0));
    assert_true(add(set, STEPSET_MEMBER_MAX, STEPSET_STEP_MAX));
    assert_false(stepset_has(set, 0, 64));
    assert_false(stepset_has(set, 1, 0));
    assert_false(add(set, STEPSET_MEMBER_MAX, STEPSET_STEP_MAX));
    stepset_destroy(set);
}

static void a_million_members_are_small(void **state)
{
    struct stepset *set = stepset_create();

    for (uint64_t member = 0; member < 1000000; member++)
        for (int64_t step = 0; step < 100; step += 33)
            assert_true(add(set, member, step));
    assert_true(stepset_bytes(set) <= (size_t)64 << 20);
    stepset_destroy(set);
}

static void steps_that_lack_fields_are_known(void **state)
{
    struct steps *steps = steps_create(3);
    int64_t step;
    int field;

    assert_false(steps_first_incomplete(steps, &step, &field));
    for (int64_t n = 0; n < 10; n++) {
        steps_note(steps, n, 0, (uint64_t)(2 * n + 1));
        steps_note(steps, n, 2, (uint64_t)(2 * n + 2));
    }
    assert_int_equal(steps_oldest(steps), 1);
    assert_true(steps_first_incomplete(steps, &step, &field));
    assert_int_equal(step, 0);
    assert_int_equal(field, 1);
    assert_false(steps_may_begin(steps, 10, 10));
    assert_true(steps_may_begin(steps, 9, 10));
    for (int64_t n = 0; n < 10; n++)
        if (n != 4)
            steps_note(steps, n, 1, (uint64_t)(n + 21));
    assert_int_equal(steps_oldest(steps), 9);
    assert_true(steps_first_incomplete(steps, &step, &field));
    assert_int_equal(step, 4);
    steps_note(steps, 4, 1, 31);
    assert_true(steps_oldest(steps) == UINT64_MAX);
    assert_false(steps_first_incomplete(steps, &step, &field));
    steps_destroy(steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_there_and_nothing_else),
        cmocka_unit_test(the_extremes_are_told_apart),
        cmocka_unit_test(a_million_members_are_small),
        cmocka_unit_test(steps_that_lack_fields_are_known),
    };

    test_limit(100); /* a search that finds no end must not keep others waiting */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
