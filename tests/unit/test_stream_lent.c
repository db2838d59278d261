/* Memory that a stream lends to the solver: it is the message's own, so that nothing is copied. */
#include "tasks/member/lending.h"
#include "tasks/proto/frame.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The memory that is lent is the message's own; other memory is narrowed when it is sent. */
static void what_is_written_into_lent_memory_is_sent(void **state)
{
    enum { STEPS = 3000, WIDTH = 100 };
    int *times = calloc(STEPS, sizeof *times);
    int64_t width = WIDTH, shape[STRETTO_NDIM_MAX];
    enum stretto_dtype dtype;
    struct fixture fx;
    struct stretto *s;
    struct stretto_train *t;
    void *n, *u, *again;
    int ndim;

    fixture_init(&fx, WIDTH, 1, 1, RESERVOIR(4000, 1, 10));
    setenv("STRETTO_STREAM_CHECKSUM", "1", 1);
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(stretto_describe(s, "u", &dtype, &ndim, shape), 1);
    assert_true(dtype == STRETTO_FLOAT32 && ndim == 1 && shape[0] == WIDTH && shape[1] == 1);
    assert_int_equal(stretto_describe(s, "v", &dtype, &ndim, shape), -1);
    assert_int_equal(stretto_lend(s, 1, &u), -1);
    assert_int_equal(stretto_field(s, "n", STRETTO_INT64, 0, NULL), 0);
    assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT64, 1, &width), 1);
    for (int step = 0; step < STEPS; step++) {
        if (step == STEPS / 2) { /* given as float64 up to here, and as the spec has it from here */
            assert_int_equal(stretto_lend(s, 1, &u), 0);
            assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT32, 1, &width), 1);
            assert_int_equal(stretto_send_lent(s, 1, step), -1);
        }
        assert_int_equal(stretto_lend(s, 0, &n), 0);
        assert_int_equal(stretto_lend(s, 1, &u), 0);
        assert_true(((uintptr_t)n | (uintptr_t)u) % 64 == 0);
        *(int64_t *)n = step;
        for (int i = 0; i < WIDTH; i++)
            if (step < STEPS / 2)
                ((double *)u)[i] = step / 8.0 + i;
            else
                ((float *)u)[i] = (float)(step / 8.0 + i);
        if (step == 7) {
            assert_int_equal(stretto_send_lent(s, 1, -1), -1); /* the mistake costs nothing */
            assert_int_equal(stretto_lend(s, 1, &again), 0);
            assert_ptr_equal(again, u);
        }
        assert_int_equal(stretto_send_lent(s, 1, step), 0);
        assert_int_equal(stretto_send_lent(s, 0, step), 0);
    }
    assert_int_equal(stretto_lend(s, 1, &u), 0); /* and never sent */
    assert_int_equal(stretto_close(s), 0);
    fixture_train(&fx, t, 1, STEPS, times);
    fixture_check_books(t, times, STEPS, 0);
    stretto_train_close(t);
    fixture_fini(&fx);
    free(times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_into_lent_memory_is_sent),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}
