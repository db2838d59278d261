/* Losses with the daemon, on the disk, or by a scheduler, which must do no harm: one at a time, on the simulated
 * cluster. */
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/jobs/abandon.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "tests/sim/pilots.h"
#include "tests/unit/engine_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 8 /* of what must be lost by chance */
#define LONG_MS 36000000

/* One of two that would be there for hours is to be stopped, and for a while something of that gets lost. */
static void stop_one_of_two(struct sim_faults lost)
{
    set_faults(lost);
    assert_int_equal(engine_resize(sim_engine(sim), id, 1, ENGINE_SHRINK_NOW, "over the Unix socket", &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    run_for(1000);
    sim_set_faults(sim, &faults);
    run_for(300000);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome IS NULL"), 1);
}

/* A run directory that hangs keeps no order from the scheduler. */
static void an_order_to_cancel_does_not_wait_for_files(void **state)
{
    static const struct sim_faults runs = {.run_ms = LONG_MS}, hangs = {.slow = 1000};
    const struct live_job *job;
    bool cancelled;
    int orders;

    begin(1, runs);
    submit(1, 1, json_object());
    until("SELECT count(*) = 1 FROM attempt WHERE started IS NOT NULL");
    set_faults(hangs);
    job = sim_engine(sim)->jobs;
    engine_look(sim_engine(sim), job->row.name, ENGINE_LOOK_RECORDS);
    assert_int_equal(job->state.pending, PENDING_COLLECT);
    orders = sim_cancels(sim);
    assert_int_equal(engine_cancel_member(sim_engine(sim), id, 0, &cancelled, &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    assert_int_equal(job->state.pending, PENDING_COLLECT);
    assert_int_equal(sim_cancels(sim), orders + 1);
    sim_set_faults(sim, &faults);
    until_over();
    end();
}

static void an_order_to_cancel_that_a_disk_does_not_take_is_given_again(void **state)
{
    static const struct sim_faults calm = {.run_ms = LONG_MS}, lost = {.write_fails = 1000};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, calm);
        submit(2, 1, allocation());
        until("SELECT count(*) = 2 FROM attempt WHERE started IS NOT NULL");
        stop_one_of_two(lost);
        end();
    }
}

static void an_order_to_cancel_of_which_nothing_comes_is_given_again(void **state)
{
    static const struct sim_faults calm = {.queue_ms = LONG_MS}, lost = {.cancel_lost = 1000};

    begin(1, calm);
    submit(2, 1, json_object());
    until("SELECT count(*) = 2 FROM job WHERE state = 'submitted'");
    stop_one_of_two(lost);
    end();
}

/* Two members of one job are cancelled one by one, and the order to end their job comes to nothing. Their runner
 * hands its records back together, and the end of the first has the job cancelled once more. */
static void records_of_a_cancelled_job_are_all_taken(void **state)
{
    static const struct sim_faults runs = {.run_ms = 100000}, lost = {.cancel_lost = 1000, .nudge_lost = 1000};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool cancelled;

        begin(seed, runs);
        submit(2, 2, json_object());
        until("SELECT count(*) = 2 FROM attempt WHERE started IS NOT NULL");
        set_faults(lost);
        for (int64_t index = 0; index < 2; index++)
            assert_int_equal(engine_cancel_member(sim_engine(sim), id, index, &cancelled, &sim_left, &err), 0);
        assert_int_equal(sim_turn(sim), 0);
        run_for(2000);
        until_over();
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome IS NULL"), 0);
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE state = 'ended'"), 1);
        end();
    }
}

/* Jobs that wait for weeks, of a cancelled ensemble. */
static void cancel_waiting_ones(int n, struct sim_faults with)
{
    static const struct sim_faults calm = {.queue_ms = 2000000000};

    begin(1, calm);
    submit(n, 1, json_object());
    while (sim_number(sim, "SELECT count(*) FROM job WHERE state = 'submitted'") < n)
        step();
    set_faults(with);
    assert_int_equal(engine_cancel(sim_engine(sim), id, &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    run_for(10000);
    assert_int_equal(sim_live_jobs(sim), n);
}

static void who_cancels_once_more_is_not_put_off(void **state)
{
    static const struct sim_faults lost = {.cancel_lost = 1000};

    cancel_waiting_ones(20, lost);
    assert_int_equal(sim_cancels(sim), 20);
    sim_set_faults(sim, &faults);
    assert_int_equal(engine_cancel(sim_engine(sim), id, &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    run_for(2000);
    assert_int_equal(sim_live_jobs(sim), 0);
    assert_int_equal(sim_cancels(sim), 40);
    end();
}

/* The first pause is a minute beyond the grace; the next answer that still has the jobs brings the order. */
static void an_order_to_cancel_is_given_again_when_it_is_due(void **state)
{
    static const struct sim_faults lost = {.cancel_lost = 1000};

    cancel_waiting_ones(20, lost);
    run_for(50000);
    assert_int_equal(sim_cancels(sim), 20);
    run_for(30000);
    assert_int_equal(sim_cancels(sim), 40);
    sim_set_faults(sim, &faults);
    run_for(2 * 3600000);
    end();
}

/* The scheduler may have died of the order, and jobs that it still has must not be forgotten. */
static void orders_to_cancel_are_given_again_after_growing_pauses(void **state)
{
    static const struct sim_faults refused = {.cancel_refused = 1000}, lost = {.cancel_lost = 1000};
    int before;

    for (int taken = 0; taken < 2; taken++) {
        cancel_waiting_ones(20, taken ? lost : refused);
        assert_int_equal(sim_cancels(sim), 20);
        run_for(6 * 3600000);
        assert_in_range(sim_cancels(sim), 20 * 8, 20 * 16);
        before = sim_cancels(sim);
        run_for(6 * 3600000);
        /* one an hour in the end; a job or two may run by then */
        assert_in_range(sim_cancels(sim) - before, 20 * 3, 20 * 6);
        sim_set_faults(sim, &faults);
        run_for(2 * 3600000);
        assert_int_equal(sim_live_jobs(sim), 0);
        until_over();
        end();
    }
}

/* Once the scheduler said of them that they had ended, while they waited. They run and end while it does not answer,
 * and wait again, for ever, as it comes back with an older state. */
static void what_waits_again_is_looked_at(void **state)
{
    static const struct sim_faults lies = {.queue_ms = 600000, .lies = 1000}, away = {.poll_unsure = 1000, .nudge_lost = 1000};
    int back = 0, left = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, lies);
        submit(20, 1, json_object());
        run_for(60000);
        set_faults(away);
        while (sim_live_jobs(sim) > 0)
            step();
        sim_roll_back(sim);
        back += sim_live_jobs(sim);
        set_faults((struct sim_faults){0});
        run_for(300000);
        left += sim_live_jobs(sim);
        until_over();
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'succeeded'"), 20);
        end();
    }
    assert_in_range(back, SEEDS, 20 * SEEDS);
    assert_in_range(left, 0, back / 8); /* one that was never said to have ended is looked at when it has waited */
}

/* They are handed over while those before them are on their way to a slow disk, and then their pilot is over. */
static void what_is_not_handed_over_yet_ends_with_its_pilot(void **state)
{
    static const struct sim_faults calm = {.run_ms = 20000};

    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        struct sim_faults slow;

        begin(seed, calm);
        submit(12, 1, allocation());
        assert_int_equal(engine_resize(sim_engine(sim), id, 4, ENGINE_SHRINK_LATER, "over the Unix socket", &sim_left, &err), 0);
        until("SELECT count(*) >= 4 FROM attempt WHERE started IS NOT NULL");
        slow = faults;
        slow.slow = 500;
        sim_set_faults(sim, &slow);
        run_for(8000);
        assert_int_equal(engine_cancel(sim_engine(sim), id, &sim_left, &err), 0);
        assert_int_equal(sim_turn(sim), 0);
        until_over();
        end();
    }
}

/* What a crash of their node takes along where it was not flushed: the journal is. */
static void lose_exit_records(void)
{
    const char *path;
    void *next;
    json_t *file;
    size_t n = 0;

    json_object_foreach_safe (sim_files(sim), next, path, file) {
        if (strstr(path, "/members/") == NULL || strstr(path, "/exit.json") == NULL)
            continue;
        json_object_del(sim_files(sim), path);
        n++;
    }
    assert_in_range(n, 1, 100);
}

/* While no daemon is there. */
static void until_all_succeeded(size_t n)
{
    for (size_t good = 0; good < n;) {
        const char *key;
        json_t *value;

        step();
        good = 0;
        json_object_foreach (sim_ledger(sim), key, value)
            good += strcmp(json_string_value(value), "succeeded") == 0;
    }
}

/* The only pilot of the ensemble. */
static const struct flight *find_flight(void)
{
    const struct flight *flight;
    struct job_row job;

    assert_int_equal(
        store_job_get(sim_store(sim), sim_number(sim, "SELECT id FROM job WHERE kind = 'pilot'"), &job, &err), 1);
    flight = pilots_of(sim, job.name);
    assert_non_null(flight);
    return flight;
}

/* Those that wait for another try are tried in the order of their times; after a restart they are known by their
 * indices. */
static void records_are_found_in_another_order(void **state)
{
    static const struct sim_faults calm = {.run_ms = 200000};
    const struct flight *flight;

    begin(1, calm);
    submit(2, 2, allocation());
    assert_int_equal(engine_pause(sim_engine(sim), id, "", &sim_left, &err), 0);
    if (store_exec(sim_store(sim), &err,
                   "INSERT INTO member (ensemble, idx, state, attempts, not_before) VALUES (?1, 0, 'pending', "
                   "0, 2), (?1, 1, 'pending', 0, 1)",
                   "i", id) < 0 ||
        store_exec(sim_store(sim), &err, "UPDATE ensemble SET next_index = 2 WHERE id = ?1", "i", id) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(sim_turn(sim), 0);
    sim_crash(sim);
    sim_boot(sim);
    assert_int_equal(engine_resume(sim_engine(sim), id, &sim_left, &err), 0);
    until("SELECT count(*) = 2 FROM attempt WHERE started IS NOT NULL");
    flight = find_flight();
    assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(flight->nodes[0].jobs->descriptor, "tasks"), 0),
                                                          "id")), "1.1");
    sim_crash(sim);
    until_all_succeeded(2);
    lose_exit_records();
    sim_boot(sim);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome = 'succeeded'"), 2);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt"), 2);
    end();
}

/* Changes a key of each exit record of a member's first attempt. */
static void falsify_records(const char *key, const json_t *value)
{
    const char *path;
    json_t *file;
    size_t n = 0;

    json_object_foreach (sim_files(sim), path, file)
        if (strstr(path, "/members/") != NULL && strstr(path, "/a1/exit.json") != NULL)
            n += json_object_set(file, key, (json_t *)value) == 0;
    assert_in_range(n, 1, 100);
}

/* Records that lie where those of a job belong, and are not its own, as after an older copy of the database was put
 * back. Those of nodes whose clocks are wrong are its own. */
static void records_of_others_do_not_count(void **state)
{
    static const struct sim_faults calm = {.run_ms = 20000};
    static const struct {
        const char *key, *text;
        double seconds; /* from now */
        bool counts;
    } cases[] = {
        {"job", "st-00c0ffee-1", 0, false},
        {"started", NULL, -3 * 86400, true},
        {"ended", NULL, 3 * 86400, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value, *happened;
        const char *attempt;

        begin(1, calm);
        submit(2, 1, json_object());
        until("SELECT count(*) = 2 FROM attempt WHERE started IS NOT NULL");
        sim_crash(sim);
        until_all_succeeded(2);
        value = cases[i].text != NULL ? json_string(cases[i].text)
                                      : json_real((double)sim_now(sim) / 1000 + cases[i].seconds);
        falsify_records(cases[i].key, value);
        json_decref(value);
        json_object_foreach (sim_ledger(sim), attempt, happened)
            if (!cases[i].counts) /* for the simulation, which compares it with what the engine knows */
                json_string_set(happened, "killed");
        sim_boot(sim);
        until_over();
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome = 'succeeded'"), 2);
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE number = 1 AND outcome = 'lost'"), cases[i].counts ? 0 : 2);
        end();
    }
}

/* A job was handed over twice, and its pilot tells of the first time that it has ended, and returns the second one. */
static void what_is_returned_after_its_end_has_ended(void **state)
{
    static const struct sim_faults calm = {.run_ms = 20000};
    const struct flight *flight;
    struct inner *job;

    begin(1, calm);
    submit(2, 1, allocation());
    until("SELECT count(*) = 2 FROM attempt WHERE started IS NOT NULL");
    flight = find_flight();
    sim_crash(sim);
    until_all_succeeded(2);
    for (job = flight->nodes[0].jobs; job != NULL; job = job->next)
        pilots_say(job->node, "return", json_pack("{s:s, s:s}", "job", job->name, "why", "told to end"));
    lose_exit_records();
    sim_boot(sim);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome = 'succeeded'"), 2);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt"), 2);
    end();
}

/* Its pilot is over, and its journal alone tells how they ended. */
static void what_cannot_be_read_says_nothing(void **state)
{
    static const struct sim_faults calm = {.run_ms = 20000}, unreadable = {.read_fails = 500};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, calm);
        submit(4, 1, allocation());
        until("SELECT count(*) = 4 FROM attempt WHERE started IS NOT NULL");
        sim_crash(sim);
        until_all_succeeded(4);
        run_for(120000); /* until it is given back */
        lose_exit_records();
        set_faults(unreadable);
        sim_boot(sim);
        until_over();
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome = 'succeeded'"), 4);
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt"), 4);
        end();
    }
}

static bool is_given_up(void)
{
    const char *path;
    json_t *file;

    json_object_foreach (sim_files(sim), path, file)
        if (json_is_true(json_object_get(file, "given_up")))
            return true;
    return false;
}

/* A job can never run. That it is given up cannot be stored in the turn in which it was made sure that it cannot start
 * any more. */
static void what_was_decided_is_done_where_it_was_not_stored(void **state)
{
    static const struct sim_faults never = {.never = 1000, .queue_ms = LONG_MS}, full = {.commit_fails = 1000}, calm = {0};
    const struct live_job *job;

    begin(1, never);
    submit(1, 1, NULL);
    while ((job = engine_find_job(sim_engine(sim), 1)) == NULL || job->state.pending != PENDING_CLAIM)
        step();
    set_faults(full);
    while (!is_given_up())
        step();
    set_faults(calm);
    assert_int_equal(sim_number(sim, "SELECT outcome IS NULL FROM attempt"), 1);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT outcome = 'failed' AND reason = 'the job can never run: never' FROM attempt"), 1);
    assert_int_equal(sim_number(sim, "SELECT state = 'failed' AND reason = 'the job can never run: never' FROM ensemble"), 1);
    end();
}

/* Words of a scheduler that were cut off within a letter, say. */
static void a_reason_that_is_not_text_is_no_hindrance(void **state)
{
    static const struct sim_faults waits = {.queue_ms = LONG_MS};
    struct live_job *job;

    begin(1, waits);
    submit(1, 1, NULL);
    while ((job = engine_find_job(sim_engine(sim), 1)) == NULL || job->row.state != JOB_SUBMITTED ||
           job->state.pending != PENDING_NONE)
        step();
    job_abandon(sim_engine(sim), job, ATTEMPT_FAILED, "caf\xc3");
    while (!is_given_up())
        step();
    assert_int_equal(sim_number(sim, "SELECT outcome = 'failed' FROM attempt"), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_to_cancel_that_a_disk_does_not_take_is_given_again),
        cmocka_unit_test(an_order_to_cancel_does_not_wait_for_files),
        cmocka_unit_test(an_order_to_cancel_of_which_nothing_comes_is_given_again),
        cmocka_unit_test(records_of_a_cancelled_job_are_all_taken),
        cmocka_unit_test(who_cancels_once_more_is_not_put_off),
        cmocka_unit_test(an_order_to_cancel_is_given_again_when_it_is_due),
        cmocka_unit_test(orders_to_cancel_are_given_again_after_growing_pauses),
        cmocka_unit_test(what_waits_again_is_looked_at),
        cmocka_unit_test(what_is_not_handed_over_yet_ends_with_its_pilot),
        cmocka_unit_test(records_are_found_in_another_order),
        cmocka_unit_test(what_is_returned_after_its_end_has_ended),
        cmocka_unit_test(what_cannot_be_read_says_nothing),
        cmocka_unit_test(records_of_others_do_not_count),
        cmocka_unit_test(what_was_decided_is_done_where_it_was_not_stored),
        cmocka_unit_test(a_reason_that_is_not_text_is_no_hindrance),
    };

    test_limit(300); /* what wakes itself never comes back */
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
