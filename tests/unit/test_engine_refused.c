/* Jobs that the scheduler refuses in words which its adapter does not know, or holds for a limit: for good at the first
 * submission; for now where it has accepted others of the ensemble, and then for a day at most. */
#include "common/log.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/engine.h"
#include "tests/unit/engine_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_MS INT64_C(3600000)
#define members(state) sim_number(sim, "SELECT count(*) FROM member WHERE state = '" state "'")

static const struct sim_faults calm, refuses = {.submit_unclear = 1000},
                               limits = {.never = 1000, .limited = true, .only_starts = ""};

/* Twelve members, two at once: the first two are accepted, and have succeeded. */
static void begin_well(void)
{
    begin(1, calm);
    submit(12, 1, json_pack("{s:i}", "width", 2));
    until("SELECT count(*) = 2 FROM member WHERE state = 'succeeded'");
}

static void assert_told(const char *code, const char *words)
{
    struct engine_notice notice = {.code = ""};
    struct ensemble_row row;

    assert_int_equal(store_ensemble_get(sim_store(sim), id, &row, &err), 1);
    engine_notice(sim_engine(sim), &row, &notice);
    assert_string_equal(notice.code, code);
    if (strstr(notice.text, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, notice.text);
}

static void the_first_is_refused_for_good(void **state)
{
    int64_t began_ms;

    begin(1, refuses);
    began_ms = sim_now(sim);
    submit(12, 1, json_pack("{s:i}", "width", 2));
    until("SELECT count(*) = 1 FROM ensemble WHERE state = 'failed'");
    assert_true(sim_now(sim) - began_ms < HOUR_MS);
    until_over();
    end();
}

static void others_wait_and_succeed_once_they_are_accepted(void **state)
{
    begin_well();
    set_faults(refuses);
    run_for(20 * HOUR_MS);
    assert_told("not_submitted", "others like it were accepted, so it is submitted again until 20");
    set_faults(calm);
    until_over();
    assert_int_equal(members("succeeded"), 12);
    end();
}

/* The day begins anew with each job that is accepted: the queue gets on. */
static void a_queue_that_gets_on_is_waited_for(void **state)
{
    static const char accepted[] = "SELECT count(*) FROM job WHERE scheduler_id IS NOT NULL";

    begin_well();
    for (int day = 0; day < 3; day++) {
        int64_t before;

        set_faults(refuses);
        run_for(20 * HOUR_MS);
        set_faults(calm);
        for (before = sim_number(sim, accepted); sim_number(sim, accepted) == before;)
            step();
    }
    until_over();
    assert_int_equal(members("succeeded"), 12);
    end();
}

static void they_are_refused_after_a_day(void **state)
{
    begin_well();
    set_faults(refuses);
    run_for(23 * HOUR_MS);
    assert_int_equal(members("failed"), 0);
    until("SELECT count(*) > 0 FROM member WHERE state = 'failed'");
    until_over();
    end();
}

static void a_daemon_that_begins_anew_knows_that_others_were_accepted(void **state)
{
    begin_well();
    set_faults(refuses);
    sim_crash(sim);
    sim_boot(sim);
    run_for(HOUR_MS);
    assert_int_equal(members("failed"), 0);
    set_faults(calm);
    until_over();
    assert_int_equal(members("succeeded"), 12);
    end();
}

/* A training is not like members that were accepted. */
static void another_kind_of_job_is_refused_for_good(void **state)
{
    bool before = false;

    for (uint64_t seed = 1; !before; seed++) { /* by chance the training's job is not the first to be accepted */
        begin(seed, calm);
        submit(12, 1, training(0));
        until("SELECT count(*) = 1 FROM job WHERE kind = 'training' AND scheduler_id IS NOT NULL");
        before = sim_number(sim, "SELECT count(*) = 0 FROM job WHERE kind = 'members' AND submissions > 0") == 1;
        if (!before)
            end();
    }
    set_faults(refuses);
    until("SELECT count(*) = 1 FROM ensemble WHERE state = 'failed'");
    set_faults(calm);
    until_over();
    end();
}

static void a_limit_is_waited_for_by_jobs_in_the_queue(void **state)
{
    begin_well();
    set_faults(limits);
    run_for(20 * HOUR_MS);
    assert_int_equal(members("failed"), 0);
    until("SELECT count(*) > 0 FROM member WHERE state = 'failed'");
    set_faults(calm);
    until_over();
    end();
}

static void a_limit_at_the_first_is_for_good(void **state)
{
    int64_t began_ms;

    begin(2, limits);
    began_ms = sim_now(sim);
    submit(1, 1, json_object());
    until("SELECT count(*) = 1 FROM member WHERE state = 'failed'");
    assert_true(sim_now(sim) - began_ms < HOUR_MS);
    until_over();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_refused_for_good),
        cmocka_unit_test(others_wait_and_succeed_once_they_are_accepted),
        cmocka_unit_test(a_queue_that_gets_on_is_waited_for),
        cmocka_unit_test(they_are_refused_after_a_day),
        cmocka_unit_test(a_daemon_that_begins_anew_knows_that_others_were_accepted),
        cmocka_unit_test(another_kind_of_job_is_refused_for_good),
        cmocka_unit_test(a_limit_is_waited_for_by_jobs_in_the_queue),
        cmocka_unit_test(a_limit_at_the_first_is_for_good),
    };

    test_limit(300);
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
