/* The clock of the daemon's host is set while members and a training run, or the host has slept: nothing is lost for
 * that, and nothing waits until the clock has caught up. */
#include "common/log.h"
#include "daemon/engine/memory/elastic.h"
#include "daemon/engine/memory/ensemble.h"
#include "tests/unit/engine_case.h"

#include <stdlib.h>

#define MINUTE ((int64_t)60000)
#define HOUR (60 * MINUTE)

static const int64_t steps[] = {-HOUR, -400 * 24 * HOUR, -20000, 20000, HOUR, 400 * 24 * HOUR};

/* Returns how long the ensemble takes, if the clock is set so far once three members run. Members fail now and then,
 * and wait then before they are tried again. */
static int64_t takes(int64_t by, int adapter, bool trains)
{
    static const struct sim_faults first = {.run_ms = 120000, .task_fails = 1000}, some = {.task_fails = 200};
    json_t *more = trains ? training(1) : json_object();
    int64_t began;

    if (trains)
        json_object_set_new(json_object_get(more, "training"), "checkpoint", json_object());
    json_object_set_new(more, "adapter", json_string(sim_adapters[adapter]));
    json_object_set_new(more, "max_same_failures", json_null());
    begin(7, first);
    began = sim_now(sim);
    submit(12, 1, more);
    until("SELECT (SELECT count(*) FROM attempt WHERE started IS NOT NULL AND outcome IS NULL) >= 3 AND "
          "(SELECT count(*) FROM member WHERE state = 'pending' AND attempts > 0) >= 1");
    set_faults(some);
    sim_set_clock(sim, by);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome = 'lost'"), 0);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state NOT IN ('succeeded', 'failed')"), 0);
    if (trains)
        assert_int_equal(sim_number(sim, "SELECT generation = 1 AND state = 'done' FROM training"), 1);
    began = sim_now(sim) - began;
    end();
    return began;
}

static void goes_on(int adapter, bool trains)
{
    int64_t usual = takes(0, adapter, trains);

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int64_t ms = takes(steps[i], adapter, trains);

        if (ms > usual + 10 * MINUTE)
            fail_msg("set by %lld s it takes %lld s, not %lld s", (long long)(steps[i] / 1000), (long long)(ms / 1000),
                     (long long)(usual / 1000));
    }
}

static void members_on_this_host_go_on(void **state)
{
    goes_on(0, false);
}

static void members_in_a_batch_system_go_on(void **state)
{
    goes_on(1, false);
}

static void a_training_goes_on(void **state)
{
    goes_on(1, true);
}

/* The daemon was not there when the clock was set back, as where a host has started with a wrong one. */
static void what_waits_from_before_is_not_waited_for(void **state)
{
    static const struct sim_faults all_fail = {.run_ms = 1000, .task_fails = 1000};

    begin(1, all_fail);
    submit(1, 1, json_pack("{s:n}", "max_same_failures"));
    until("SELECT count(*) = 1 FROM member WHERE state = 'pending' AND attempts > 0");
    sim_crash(sim);
    sim_set_clock(sim, -400 * 24 * HOUR);
    sim_boot(sim);
    run_for(10 * MINUTE);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'failed'"), 1);
    end();
}

/* The same as above, for a training that waits before its next generation. */
static void a_training_that_waits_from_before_goes_on(void **state)
{
    static const struct sim_faults fails = {.run_ms = 30000, .ranks_fail = 1000}, calm = {.run_ms = 30000};

    begin(3, fails);
    submit(2, 1, training(5));
    until("SELECT state = 'pending' AND generation > 0 AND not_before > ended FROM training");
    sim_crash(sim);
    sim_set_clock(sim, -400 * 24 * HOUR);
    set_faults(calm);
    sim_boot(sim);
    run_for(20 * MINUTE);
    assert_int_equal(sim_number(sim, "SELECT state = 'done' FROM training"), 1);
    until_over();
    end();
}

/* Nothing is changed for another hour after the last change, whatever the clock said then. */
static void an_elastic_ensemble_keeps_its_pause(void **state)
{
    static const struct sim_faults none;
    json_t *more = training(1);
    struct elastic_row put = {0};
    const struct elastic_row *row;

    begin(3, none);
    json_object_set_new(more, "elastic", json_pack("{s:[ii]}", "width", 1, 8));
    submit(2, 1, more);
    put.ensemble = id;
    put.changed_ms = sim_wall(sim);
    put.until_ms = put.changed_ms + HOUR;
    assert_int_equal(store_elastic_put(sim_store(sim), &put, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    sim_crash(sim);
    sim_set_clock(sim, -400 * 24 * HOUR);
    sim_boot(sim);
    row = &engine_find_ensemble(sim_engine(sim), id)->elastic->state.row;
    assert_true(row->changed_ms <= sim_wall(sim));
    assert_int_equal(row->until_ms - row->changed_ms, HOUR);
    until_over();
    end();
}

/* Since when it is silent is told by the clock as it is now. */
static void the_silence_of_a_scheduler_is_as_long_as_before(void **state)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct sim_faults silent = {.run_ms = 600000};
        struct engine_adapter adapter;
        int64_t since, answered;

        begin(3, silent);
        submit(2, 1, json_object());
        until("SELECT count(*) = 2 FROM attempt WHERE started IS NOT NULL");
        silent.silent_from = sim_now(sim);
        silent.silent_until = silent.silent_from + 30 * MINUTE;
        set_faults(silent);
        run_for(5 * MINUTE);
        assert_true(engine_adapter(sim_engine(sim), sim_adapters[0], &adapter));
        since = adapter.failing_since_ms;
        answered = adapter.answered_ms;
        assert_true(since > 0 && answered > 0);
        sim_set_clock(sim, steps[i]);
        run_for(2 * MINUTE);
        assert_true(engine_adapter(sim_engine(sim), sim_adapters[0], &adapter));
        assert_in_range(adapter.failing_since_ms - since - steps[i] + 1000, 0, 2000);
        assert_in_range(adapter.answered_ms - answered - steps[i] + 1000, 0, 2000);
        until_over();
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_on_this_host_go_on),
        cmocka_unit_test(members_in_a_batch_system_go_on),
        cmocka_unit_test(a_training_goes_on),
        cmocka_unit_test(what_waits_from_before_is_not_waited_for),
        cmocka_unit_test(a_training_that_waits_from_before_goes_on),
        cmocka_unit_test(an_elastic_ensemble_keeps_its_pause),
        cmocka_unit_test(the_silence_of_a_scheduler_is_as_long_as_before),
    };

    test_limit(300);
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
