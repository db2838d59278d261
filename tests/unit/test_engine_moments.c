/* Reports of ranks are kept over time: the further apart the older the training, whatever they say, and the last one
 * always. */
#include "common/log.h"
#include "daemon/store/moment.h"
#include "tests/sim/memory.h"
#include "tests/sim/sim.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_MS 3600000
#define STATUS "/run/e1/training/g1/status-rank0.json"

static char dir[64];
static struct sim *sim;

static int begin(void **state)
{
    static const struct sim_faults calm = {.queue_ms = 1000, .run_ms = 100 * HOUR_MS, .disk_ms = 10, .answer_ms = 10};
    json_t *spec = json_pack("{s:s, s:s, s:i, s:{s:[s], s:{s:s, s:i, s:i, s:{s:[ii]}}}, s:{s:[s], s:{s:{s:s, s:[i]}}}}",
                             "name", "x", "adapter", sim_adapters[1], "width", 1, "members", "command", "x",
                             "parameters", "method", "monte-carlo", "count", 2, "seed", 1, "space", "x", 0, 1,
                             "training", "command", "y", "fields", "u", "dtype", "float32", "shape", 4);
    struct error err;
    int64_t id;

    snprintf(dir, sizeof dir, "%s/stretto-test-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    sim_memory(true);
    sim = sim_create(1, &calm, dir);
    sim_boot(sim);
    assert_int_equal(sim_submit(sim, spec, &id, &err), 0);
    json_decref(spec);
    return sim_turn(sim);
}

static int end(void **state)
{
    sim_destroy(sim);
    sim_remove_state(dir);
    return rmdir(dir);
}

static struct moment_row last(void)
{
    struct moment_row row = {0};
    struct error err;

    assert_true(store_moment_last(sim_store(sim), 1, &row, &err) >= 0);
    return row;
}

static json_t *status_of(int batches)
{
    return json_pack("{s:i, s:f, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f}", "version", 1, "time",
                     (double)sim_now(sim) / 1000, "state", "receiving", "received", 10 * batches, "unique", 9 * batches,
                     "drawn", 8 * batches, "repeats", batches, "batches", batches, "population", 70, "unseen", 7,
                     "capacity", 700, "room_wait_seconds", 0.5, "sample_wait_seconds", 1.5);
}

/* Time goes on until then, and the ranks tell all the while. */
static void until(int64_t when_ms)
{
    for (int64_t told = -1; sim_now(sim) < when_ms; ) {
        if (sim_now(sim) / 1000 != told) {
            told = sim_now(sim) / 1000;
            json_object_set_new(sim_files(sim), STATUS, status_of((int)(told % 1000000)));
        }
        assert_true(sim_step(sim));
        assert_null(sim_violation(sim));
    }
}

struct spacing {
    int64_t created_ms, before_ms, n;
};

static int look(void *arg, const struct moment_row *row)
{
    struct spacing *spacing = arg;
    int64_t apart = row->time_ms - spacing->before_ms, age = row->time_ms - spacing->created_ms;

    if (spacing->n > 0) {
        assert_true(apart >= 1000 && apart >= age / 250);
        assert_true(apart <= 5000 + age / 200); /* looks are a second apart, or a little more */
    }
    spacing->before_ms = row->time_ms;
    spacing->n++;
    return 0;
}

static void the_older_the_further_apart(void **state)
{
    struct spacing spacing = {0};
    struct error err;

    until(sim_now(sim) + 3 * HOUR_MS);
    spacing.created_ms = sim_number(sim, "SELECT created FROM training");
    assert_int_equal(store_moment_each(sim_store(sim), 1, look, &spacing, &err), 0);
    assert_true(spacing.n > 600 && spacing.n < 1250); /* of 10,800 s */
    assert_int_equal(last().generation, 1);
    assert_int_equal(last().ranks, 1);
    assert_int_equal(last().received, 10 * last().batches);
    assert_int_equal(last().drawn, 8 * last().batches);
    assert_int_equal(last().population, 70);
    assert_int_equal(last().unseen, 7);
    assert_int_equal(last().capacity, 700);
    assert_true(last().room_wait == 0.5 && last().sample_wait == 1.5);
}

/* Less than a 250th of its age after the one before. */
static void the_last_is_always_kept(void **state)
{
    int64_t before;

    until(sim_now(sim) + 3 * HOUR_MS);
    for (before = last().time_ms; last().time_ms == before; )
        until(sim_now(sim) + 1000);
    before = last().time_ms;
    json_object_set_new(sim_files(sim), "/run/e1/training/g1/done-rank0.json", status_of(4711));
    for (int i = 0; i < 1000 && last().batches != 4711; i++)
        assert_true(sim_step(sim));
    assert_int_equal(last().batches, 4711);
    assert_true(last().time_ms < before + 3 * HOUR_MS / 250);
}

static void what_cannot_be_counts_for_nothing(void **state)
{
    until(sim_now(sim) + HOUR_MS / 20);
    json_object_set_new(sim_files(sim), STATUS,
                        json_pack("{s:s, s:i, s:I, s:f, s:s, s:f}", "received", "many", "batches", -3, "drawn",
                                  INT64_MAX, "population", 1e300, "room_wait_seconds", "x", "sample_wait_seconds",
                                  -1.0));
    for (int i = 0; i < 10000 && last().received != 0; i++)
        assert_true(sim_step(sim));
    assert_int_equal(last().received, 0);
    assert_int_equal(last().batches, 0);
    assert_int_equal(last().drawn, 0);
    assert_int_equal(last().population, 0);
    assert_true(last().room_wait == 0 && last().sample_wait == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_older_the_further_apart),
        TEST(the_last_is_always_kept),
        TEST(what_cannot_be_counts_for_nothing),
    };

    test_limit(300);
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
