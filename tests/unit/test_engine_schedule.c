/* Trainings that run elsewhere than their members, and wait for each other: who may go on is told, and nobody for
 * ever. */
#include "common/log.h"
#include "tests/sim/memory.h"
#include "tests/sim/sim.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STEPS_MAX 5000 /* the whole of it takes a tenth */

static char dir[64];
static struct sim *sim;

static int begin(void **state)
{
    static const struct sim_faults calm = {0};

    snprintf(dir, sizeof dir, "%s/stretto-test-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    sim_memory(true);
    sim = sim_create(1, &calm, dir);
    return 0;
}

static int end(void **state)
{
    sim_destroy(sim);
    sim_remove_state(dir);
    return rmdir(dir);
}

static void submit_spec(json_t *spec)
{
    struct error err;
    int64_t id;

    if (sim_submit(sim, spec, &id, &err) < 0)
        fail_msg("%s %s", err.pointer, err.text);
    assert_int_equal(sim_turn(sim), 0);
    json_decref(spec);
}

/* Three members, one at a time, and a training of `ranks`, each of two CPUs. */
static void submit_ranks(int members, int trains, int ranks)
{
    submit_spec(json_pack("{s:s, s:s, s:i, s:{s:[s], s:{s:s, s:i, s:i, s:{s:[ii]}}}, s:{s:[s], s:s, s:i, s:{s:i}, s:{s:{s:s, s:[i]}}}}",
                          "name", "x", "adapter", sim_adapters[members], "width", 1, "members", "command", "x", "parameters",
                          "method", "monte-carlo", "count", 3, "seed", 1, "space", "x", 0, 1, "training", "command", "y",
                          "adapter", sim_adapters[trains], "ranks", ranks, "resources", "tasks", 2, "fields", "u", "dtype",
                          "float32", "shape", 4));
}

static void submit(int members, int trains)
{
    submit_ranks(members, trains, 1);
}

static void all_end(void)
{
    for (int step = 0; !sim_is_over(sim); step++) {
        if (step > STEPS_MAX || !sim_step(sim))
            fail_msg("after %d steps it is not over, and %s", step,
                     step > STEPS_MAX ? "goes on" : "nothing will happen any more");
        assert_null(sim_violation(sim));
    }
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM training WHERE state <> 'done'"), 0);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state <> 'succeeded'"), 0);
}

/* Nothing else happens to the second one, whose members wait for it: the end of the first must tell it. */
static void the_next_to_train_is_told(void **state)
{
    sim_limit(sim, 1, 2, 0);
    sim_boot(sim);
    submit(0, 1);
    submit(0, 1);
    submit(0, 1);
    all_end();
}

static void who_train_where_the_other_runs_do_not_wake_each_other_for_ever(void **state)
{
    for (int i = 0; i < SIM_ADAPTERS; i++)
        sim_limit(sim, i, 3, 0);
    sim_boot(sim);
    submit(0, 1);
    submit(1, 0);
    submit(0, 1);
    submit(1, 0);
    all_end();
}

/* The slots hold four members of one CPU, beside which one of four waits; if each counted as the largest, two would be
 * made. */
static void each_job_counts_what_it_asks_for(void **state)
{
    json_t *spec = json_pack("{s:s, s:s, s:i, s:{s:[s], s:{s:{s:[iiiii]}}, s:{s:s}}}", "name", "x", "adapter",
                             sim_adapters[0], "width", 5, "members", "command", "x", "parameters", "grid", "n", 1, 1, 1,
                             1, 4, "resources", "tasks", "{n}");

    sim_limit(sim, 0, 4, 0);
    sim_boot(sim);
    submit_spec(spec);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state <> 'pending'"), 5);
    all_end();
}

/* SIM_SEED=6141956. The second training waits, since its members do not fit beside the first one. Beside two ranks of
 * it no member of the last ensemble fits, and beside one rank two do. */
static void members_that_fit_beside_fewer_ranks_start_at_once(void **state)
{
    json_t *plain = json_pack("{s:s, s:s, s:i, s:{s:[s], s:{s:s, s:i, s:i, s:{s:[ii]}}}}", "name", "x", "adapter",
                              sim_adapters[0], "width", 2, "members", "command", "x", "parameters", "method",
                              "monte-carlo", "count", 2, "seed", 1, "space", "x", 0, 1);
    struct error err;

    sim_limit(sim, 0, 4, 0);
    sim_limit(sim, 1, 2, 0);
    sim_boot(sim);
    submit(0, 1);
    submit_ranks(1, 0, 2);
    submit_spec(plain);
    assert_int_equal(sim_number(sim, "SELECT state = 'pending' FROM training WHERE ensemble = 2"), 1);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE ensemble = 3"), 0);
    assert_int_equal(engine_resize_training(sim_engine(sim), sim_number(sim, "SELECT id FROM training WHERE ensemble = 2"), 1, "", &sim_left_training, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    assert_int_equal(sim_number(sim, "SELECT state = 'pending' FROM training WHERE ensemble = 2"), 1);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE ensemble = 3"), 2);
    all_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_next_to_train_is_told),
        TEST(who_train_where_the_other_runs_do_not_wake_each_other_for_ever),
        TEST(each_job_counts_what_it_asks_for),
        TEST(members_that_fit_beside_fewer_ranks_start_at_once),
    };

    test_limit(300); /* what wakes itself never comes back */
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
