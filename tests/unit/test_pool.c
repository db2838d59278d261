/* The pool's counts of how long the receiver waits for room, and the training for samples. */
#include "tasks/train/pool.h"

#include "common/timefmt.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 60000

static struct sample sample = {.refs = 1000};
static int64_t began; /* monotonic ms */

static struct pool *make(size_t held)
{
    struct buffer_config config = {.policy = "fifo", .capacity = 1, .batch = 1};
    struct error err;
    struct buffer *buffer = buffer_create(&config, &err);
    struct pool *pool = pool_create(buffer, 1);
    struct sample *one = &sample;

    began = time_monotonic_ms();
    assert_non_null(pool);
    if (held > 0)
        assert_int_equal(pool_put(pool, &one, 1), 1);
    return pool;
}

static void *wait_for_room(void *pool)
{
    pool_wait_for_room(pool);
    return NULL;
}

static void *wait_for_samples(void *pool)
{
    struct sample **batch;

    pool_take(pool, -1, &batch);
    return NULL;
}

static uint64_t waited(struct pool *pool)
{
    struct pool_counters counters;

    pool_counters(pool, &counters);
    return counters.room_waits_us + counters.sample_waits_us;
}

static void until_more_than(struct pool *pool, uint64_t us)
{
    int64_t limit = time_monotonic_ms() + LIMIT_MS;

    while (waited(pool) <= us && time_monotonic_ms() < limit)
        usleep(1000);
    assert_true(waited(pool) > us);
    /* one thread has waited, however often it was asked how long; a millisecond may have been cut off at both ends */
    assert_true(waited(pool) <= 1000 * (uint64_t)(time_monotonic_ms() - began + 2));
}

/* A wait is counted, but for the time in which reception is held for a checkpoint, and counted on after that. */
static void check(void *(*wait)(void *pool), size_t held)
{
    struct pool *pool = make(held);
    pthread_t thread;
    uint64_t before;

    assert_int_equal(pthread_create(&thread, NULL, wait, pool), 0);
    until_more_than(pool, 50000);
    for (int i = 0; i < 3; i++) {
        pool_hold(pool, true);
        before = waited(pool);
        usleep(2000);
        assert_int_equal(waited(pool), before);
        pool_hold(pool, false);
        until_more_than(pool, before);
    }
    pool_stop(pool);
    assert_int_equal(pthread_join(thread, NULL), 0);
    before = waited(pool);
    usleep(2000);
    assert_int_equal(waited(pool), before);
    pool_destroy(pool);
}

static void a_wait_for_room_does_not_count_while_a_checkpoint_is_waited_for(void **state)
{
    check(wait_for_room, 1);
}

static void nor_does_a_wait_for_samples(void **state)
{
    check(wait_for_samples, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_room_does_not_count_while_a_checkpoint_is_waited_for),
        cmocka_unit_test(nor_does_a_wait_for_samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
