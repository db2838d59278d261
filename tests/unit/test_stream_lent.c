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

static void an_idle_stream_lends_memory(void **state)
{
    int64_t shape[STRETTO_NDIM_MAX] = {3, 2}, wrong[] = {3, 0};
    enum stretto_dtype dtype;
    struct stretto *s;
    void *memory, *other;
    char name[16];
    int ndim;

    unsetenv("STRETTO_STREAM");
    unsetenv("STRETTO_DEADLINE");
    assert_int_equal(stretto_open(&s), 0);
    assert_int_equal(stretto_describe(s, "a", &dtype, &ndim, shape), 0);
    assert_int_equal(stretto_field(s, "a", STRETTO_FLOAT64, 2, shape), 0);
    assert_int_equal(stretto_field(s, "b", STRETTO_UINT8, 2, wrong), -1);
    assert_int_equal(stretto_lend(s, 0, &memory), 0);
    memset(memory, 1, 6 * sizeof(double));
    assert_int_equal(stretto_lend(s, 0, &other), 0);
    assert_ptr_equal(other, memory);
    assert_int_equal(stretto_send_lent(s, 0, 1), 0);
    assert_int_equal(stretto_send_lent(s, 0, 1), -1);
    assert_non_null(strstr(stretto_error(s), "nothing is lent for field \"a\""));
    assert_int_equal(stretto_lend(s, 3, &memory), -1);
    assert_null(memory);
    for (int i = 2; i < 64; i++) {
        snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(stretto_field(s, name, STRETTO_FLOAT64, 0, NULL), i);
    }
    assert_int_equal(stretto_field(s, "one too many", STRETTO_FLOAT64, 0, NULL), -1);
    assert_int_equal(stretto_field(s, "f7", STRETTO_INT32, 0, NULL), 7);
    assert_int_equal(stretto_close(s), 0);
}

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

static void lent_memory_is_the_message_s_own(void **state)
{
    struct sendbuf_pool *pool = sendbuf_pool_create();
    struct lending l = {.lent = false};
    unsigned char *data, *next;
    struct parcel p;

    data = lending_lend(&l, pool, NULL, 1000);
    lending_take(&l, &p);
    assert_ptr_equal((unsigned char *)zmq_msg_data(&p.msg) + FRAME_HEADER_SIZE, data);
    assert_int_equal(zmq_msg_size(&p.msg), FRAME_HEADER_SIZE + 1000);
    next = lending_lend(&l, pool, NULL, 1000);
    assert_ptr_not_equal(next, data);
    lending_fini(&l);
    zmq_msg_close(&p.msg);
    sendbuf_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_stream_lends_memory),
        cmocka_unit_test(what_is_written_into_lent_memory_is_sent),
        cmocka_unit_test(lent_memory_is_the_message_s_own),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}
