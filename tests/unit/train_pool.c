#include "tests/unit/train_pool.h"

#include "tasks/train/config.h"
#include "tasks/train/pool.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

static struct pool *make_pool(const char *policy, size_t capacity, size_t batch)
{
    struct buffer_config config = {.policy = policy, .capacity = capacity, .batch = batch, .seed = 1};
    struct pool *pool = pool_create(buffer_create(&config, &err), batch);

    assert_non_null(pool);
    return pool;
}

void samples_are_counted_by_how_often_they_are_drawn(void **state)
{
    static const struct {
        uint64_t draws;
        int bin;
    } all[] = {{1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}, {16, 4}, {17, 5}, {32, 5}, {33, 6}, {64, 6}, {65, 7}, {300, 7}};
    struct field_set set = {.count = 1, .field = {{.name = "a", .dtype = STRETTO_FLOAT32, .bytes = 4}}};
    struct sample_store *store = sample_store_create(&set, NULL, 0);
    struct pool *pool = make_pool("reservoir", 1, 1);
    struct sample_params *params = sample_params_create(0);
    struct sample *sample = sample_create(store, 0, 0, params), **batch;
    struct pool_counters c;
    uint64_t n = 0;

    sample_params_unref(params);
    assert_int_equal(pool_put(pool, &sample, 1), 1);
    pool_counters(pool, &c);
    assert_true(c.population == 1 && c.unseen == 1 && c.drawn == 0 && c.batches == 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        while (n < all[i].draws) {
            assert_int_equal(pool_take(pool, 0, &batch), 1);
            pool_done(pool);
            n++;
        }
        pool_counters(pool, &c);
        assert_true(c.drawn == 1 && c.repeats == n - 1 && c.batches == n && c.population == 1 && c.unseen == 0);
        for (int bin = 0; bin < POOL_DRAWS; bin++)
            assert_int_equal(c.draws[bin], bin == all[i].bin);
    }
    pool_destroy(pool);
    sample_store_destroy(store);
}

static void put(struct pool *pool, struct sample_store *store, struct sample_params *params, int from, int to, int wanted)
{
    struct sample *samples[POOL_PUT_MAX];
    int n;

    for (int i = from; i < to; i++)
        samples[i - from] = sample_create(store, 0, i, params);
    n = pool_put(pool, samples, to - from);
    assert_int_equal(n, wanted);
    for (int i = n > 0 ? n : 0; i < to - from; i++)
        sample_unref(samples[i]);
}

static void count_one(void *arg, struct sample *sample)
{
    ++*(int *)arg;
}

void a_batch_is_whole_but_for_the_last_one(void **state)
{
    struct field_set set = {.count = 1, .field = {{.name = "a", .dtype = STRETTO_FLOAT32, .bytes = 4}}};
    struct sample_store *store = sample_store_create(&set, NULL, 0);
    struct sample_params *params = sample_params_create(0);
    struct pool *pool = make_pool("fifo", 5, 4);
    struct pool_counters c;
    struct sample **batch;
    int undrawn = 0;

    put(pool, store, params, 0, 3, 3);
    assert_int_equal(pool_take(pool, 0, &batch), POOL_TIMEOUT); /* the three are kept for the batch */
    pool_counters(pool, &c);
    assert_true(c.starved && !c.over && c.drawn == 0 && c.population == 0);
    pool_each_undrawn(pool, count_one, &undrawn);
    assert_int_equal(undrawn, 3);
    put(pool, store, params, 3, 11, 5);
    assert_int_equal(pool_take(pool, 0, &batch), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(batch[i]->step, i);
    pool_done(pool);
    pool_counters(pool, &c);
    assert_true(!c.starved && c.drawn == 4 && c.repeats == 0 && c.batches == 1 && c.population == 4);
    assert_int_equal(pool_take(pool, 0, &batch), 4);
    assert_int_equal(batch[0]->step, 4);
    pool_done(pool);
    put(pool, store, params, 8, 10, 2);
    pool_over(pool);
    assert_int_equal(pool_take(pool, -1, &batch), 2);
    pool_counters(pool, &c);
    assert_true(c.over && !c.ended);
    pool_done(pool);
    assert_int_equal(pool_take(pool, -1, &batch), POOL_END);
    pool_counters(pool, &c);
    assert_true(c.ended && c.drawn == 10 && c.batches == 3 && c.draws[0] == 10);
    put(pool, store, params, 10, 11, POOL_PUT_ENDED); /* a straggler */
    pool_wait_for_room(pool);
    pool_destroy(pool);

    pool = make_pool("fifo", 5, 4);
    put(pool, store, params, 0, 5, 5);
    put(pool, store, params, 5, 6, 0);
    pool_finish(pool);
    assert_int_equal(pool_take(pool, -1, &batch), POOL_END);
    pool_counters(pool, &c);
    assert_false(c.ended); /* not everything was drawn */
    put(pool, store, params, 5, 6, POOL_PUT_STOPPED);
    pool_stop(pool);
    assert_int_equal(pool_take(pool, -1, &batch), POOL_INTERRUPTED);
    put(pool, store, params, 5, 6, POOL_PUT_STOPPED);
    pool_destroy(pool);
    sample_params_unref(params);
    sample_store_destroy(store);
}
