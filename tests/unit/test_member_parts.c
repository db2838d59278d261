/* Parts of a member's library: steps of which fields lack, what an idle stream takes, and metrics. */
#include "tasks/member/declare.h"
#include "tasks/member/steps.h"
#include "tests/unit/member_metrics.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct error err;

static void steps_are_open_until_they_have_all_fields(void **state)
{
    struct steps *steps = steps_create(3);
    int64_t step;
    int field;

    assert_false(steps_first_incomplete(steps, &step, &field));
    assert_true(steps_oldest(steps) == UINT64_MAX);
    steps_note(steps, 10, 1, 1);
    steps_note(steps, 20, 0, 2);
    steps_note(steps, 30, 0, 3);
    steps_note(steps, 20, 0, 4); /* again */
    steps_note(steps, 20, 1, 5);
    assert_true(steps_first_incomplete(steps, &step, &field) && step == 10 && field == 0);
    assert_int_equal(steps_oldest(steps), 1);
    assert_true(steps_may_begin(steps, 40, 4));
    assert_false(steps_may_begin(steps, 40, 3));
    assert_true(steps_may_begin(steps, 30, 3));
    steps_note(steps, 10, 0, 6);
    steps_note(steps, 10, 2, 7);
    assert_true(steps_first_incomplete(steps, &step, &field) && step == 20 && field == 2);
    assert_int_equal(steps_oldest(steps), 2);
    steps_note(steps, 20, 2, 8);
    assert_int_equal(steps_oldest(steps), 3);
    assert_true(steps_may_begin(steps, 40, 2));
    steps_destroy(steps);

    steps = steps_create(64);
    for (field = 0; field < 63; field++)
        steps_note(steps, 1, field, 1);
    assert_true(steps_first_incomplete(steps, &step, &field) && field == 63);
    steps_note(steps, 1, 63, 2);
    assert_false(steps_first_incomplete(steps, &step, &field));
    steps_destroy(steps);
}

static void an_idle_stream_has_as_many_fields_as_any(void **state)
{
    int64_t shape[] = {2};
    struct stretto *s;
    char name[16];

    unsetenv("STRETTO_STREAM");
    assert_int_equal(stretto_open(&s), 0);
    assert_int_equal(stretto_active(s), 0);
    for (int i = 0; i < FIELDS_MAX; i++) {
        snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(stretto_field(s, name, STRETTO_FLOAT32, 1, shape), i);
        assert_int_equal(stretto_field(s, name, STRETTO_FLOAT32, 1, shape), i);
    }
    assert_int_equal(stretto_field(s, "more", STRETTO_FLOAT32, 1, shape), -1);
    assert_non_null(strstr(stretto_error(s), "64"));
    assert_int_equal(stretto_close(s), 0);
}

static int declared(int ndim, uint64_t a, uint64_t b, enum stretto_dtype dtype, struct field *field)
{
    *field = (struct field){.name = "u"};
    return declare_set(field, dtype, ndim, (uint64_t[]){a, b}, &err);
}

static void a_field_of_an_idle_stream_is_as_large_as_any(void **state)
{
    const uint64_t all = FIELD_BYTES_MAX;
    struct field field;
    int64_t extent;

    assert_int_equal(declared(2, 3, 5, STRETTO_FLOAT64, &field), 0);
    assert_true(field.count == 15 && field.bytes == 120 && field.unit == 40 && field.max == 0);
    assert_int_equal(declare_fixed(&field, &extent, &err), 0);
    assert_int_equal(extent, 3);
    assert_int_equal(declare_extent(&field, 3, &err), 0);
    assert_int_equal(declare_extent(&field, 2, &err), -1);
    assert_int_equal(declared(0, 0, 0, STRETTO_INT32, &field), 0);
    assert_true(field.count == 1 && field.bytes == 4);
    assert_int_equal(declare_fixed(&field, &extent, &err), 0);
    assert_int_equal(extent, 1);
    assert_int_equal(declared(1, all / 8, 0, STRETTO_FLOAT64, &field), 0);
    assert_int_equal(declared(1, all / 8 + 1, 0, STRETTO_FLOAT64, &field), -1);
    assert_int_equal(declared(2, all / 16, 2, STRETTO_FLOAT64, &field), 0);
    assert_int_equal(declared(2, all / 16 + 1, 2, STRETTO_FLOAT64, &field), -1);
    assert_int_equal(declared(2, 2, 0, STRETTO_FLOAT64, &field), -1);
    assert_int_equal(declared(1, 1, 0, (enum stretto_dtype)0, &field), -1);
    assert_int_equal(declared(2, EXTENT_VARIES, 2, STRETTO_FLOAT32, &field), 0);
    assert_true(field.max == all / 8 && field.unit == 8);
    assert_int_equal(declare_extent(&field, (int64_t)field.max, &err), 0);
    assert_int_equal(declare_extent(&field, 0, &err), 0);
    assert_int_equal(declare_extent(&field, -1, &err), -1);
    assert_int_equal(declare_extent(&field, (int64_t)field.max + 1, &err), -1);
    assert_int_equal(declare_fixed(&field, &extent, &err), -1);
    assert_int_equal(declared(2, 2, EXTENT_VARIES, STRETTO_FLOAT32, &field), -1); /* only the first may vary */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_stream_has_as_many_fields_as_any),
        cmocka_unit_test(steps_are_open_until_they_have_all_fields),
        cmocka_unit_test(a_field_of_an_idle_stream_is_as_large_as_any),
        cmocka_unit_test(metrics_are_lines_of_json),
    };

    test_limit(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
