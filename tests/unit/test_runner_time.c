/* What a runner does when: the end of the walltime, the warning before it, the grace, the end that a scheduler has set.
 * In virtual time. */
#include "tests/unit/runner_rig.h"

#include <stdio.h>
#include <stdlib.h>

static void at_the_walltime_sigterm_and_after_the_grace_sigkill(void **state)
{
    begin();
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    SENT({SIGTERM, 600000}, {SIGKILL, 630000});
    begin();
    process.lasts = 29999;
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    SENT({SIGTERM, 600000});
    assert_int_equal(now, START + 629999);
}

static void what_does_not_die_is_killed_again(void **state)
{
    begin();
    process.dies = 10000;
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    assert_int_equal(now, START + 640000);
    assert_in_range(n_sent, 10, 30);
    assert_int_equal(sent[1].at, 630000);
    for (size_t i = 2; i < n_sent; i++)
        assert_in_range(sent[i].at - sent[i - 1].at, 20, 1000);
}

static void the_warning_comes_before(void **state)
{
    begin();
    assert_record(run(600000, 30000, before_2m), "timeout", "ended at the walltime of 600 s");
    SENT({SIGUSR1, 480000}, {SIGTERM, 600000}, {SIGKILL, 630000});
}

static void told_to_end_it_has_its_grace(void **state)
{
    begin();
    told_at = 100000;
    assert_record(run(600000, 30000, none), "cancelled", "cancelled");
    SENT({SIGTERM, 100000}, {SIGKILL, 130000});
    begin(); /* of which half is for the warning */
    told_at = 100000;
    assert_record(run(600000, 30000, before_2m), "cancelled", "cancelled");
    SENT({SIGUSR1, 100000}, {SIGTERM, 115000}, {SIGKILL, 130000});
    begin();
    told_at = 500000; /* it has been warned */
    assert_record(run(600000, 30000, before_2m), "cancelled", "cancelled");
    SENT({SIGUSR1, 480000}, {SIGTERM, 500000}, {SIGKILL, 530000});
}

/* The runner wakes up after the walltime, and was told to end by then, since nothing had ended at the walltime. */
static void told_to_end_when_its_time_is_over_it_ends_for_that(void **state)
{
    begin();
    stalls_at = 590000;
    stalls_until = 605000;
    told_at = 601000;
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    SENT({SIGTERM, 605000}, {SIGKILL, 635000});
    begin(); /* it was not warned yet */
    stalls_at = 470000;
    stalls_until = 605000;
    told_at = 601000;
    assert_record(run(600000, 30000, before_2m), "timeout", "ended at the walltime of 600 s");
    SENT({SIGUSR1, 605000}, {SIGTERM, 620000}, {SIGKILL, 635000});
    begin(); /* it was told sooner than the runner, and died of that */
    process.ends_at = 599500;
    process.status = SIGTERM;
    told_at = 600500;
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    begin(); /* before the time is over it is the signal that ends it */
    stalls_at = 590000;
    stalls_until = 599000;
    told_at = 598000;
    assert_record(run(600000, 30000, none), "cancelled", "cancelled");
}

static void every_signal_that_ends_a_job_is_one(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        begin();
        told_at = 100000;
        told_sig = signals[i];
        assert_record(run(600000, 30000, none), "cancelled", "cancelled");
        SENT({SIGTERM, 100000}, {SIGKILL, 130000});
    }
}

/* By `name`, in ms from the start. */
static void set_end(const char *name, int64_t ms)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)((UNIX_START + ms) / 1000));
    setenv(name, text, 1);
}

static void it_ends_before_the_scheduler_ends_it(void **state)
{
    begin();
    set_end("STRETTO_JOB_END", 300000);
    assert_record(run(600000, 30000, none), "timeout", "ended before the batch system would end the job");
    SENT({SIGTERM, 260000}, {SIGKILL, 290000}); /* 10 s are left for the record */
    begin();
    set_end("STRETTO_JOB_END", 641000);
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    SENT({SIGTERM, 600000}, {SIGKILL, 630000});
    unsetenv("STRETTO_JOB_END");
    begin();
    set_end("SLURM_JOB_END_TIME", 300000);
    assert_record(run(600000, 30000, before_2m), "timeout", "ended before the batch system would end the job");
    SENT({SIGUSR1, 140000}, {SIGTERM, 260000}, {SIGKILL, 290000});
    unsetenv("SLURM_JOB_END_TIME");
}

static void it_ends_before_its_allocation_does(void **state)
{
    begin();
    set_end("STRETTO_ALLOCATION_END", 300000);
    assert_record(run(600000, 30000, before_2m), "timeout", "ended with what was left of its allocation's time");
    SENT({SIGUSR1, 140000}, {SIGTERM, 260000}, {SIGKILL, 290000});
    begin(); /* one without checkpoints may as well get done */
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    for (int i = 0; i < 2; i++) { /* in a pilot, too, whichever ends first */
        begin();
        pilot_over = i == 0 ? 400000 : 250000;
        assert_record(run(600000, 30000, before_2m), "timeout", "ended with what was left of its allocation's time");
        assert_int_equal(sent[1].at, i == 0 ? 260000 : 250000);
    }
    pilot_over = NEVER;
    unsetenv("STRETTO_ALLOCATION_END");
}

/* What is put down to the time of the pilot costs the member nothing, and its own walltime does. */
static void it_ends_with_its_pilot_only_where_that_is_earlier(void **state)
{
    json_t *record;

    pilot_over = 300000;
    begin();
    record = run(600000, 30000, none);
    assert_true(json_is_true(json_object_get(record, "late")));
    assert_record(record, "timeout", "ended with what was left of its allocation's time");
    SENT({SIGTERM, 300000}, {SIGKILL, 330000});
    begin();
    record = run(200000, 30000, none);
    assert_null(json_object_get(record, "late"));
    assert_record(record, "timeout", "ended at the walltime of 200 s");
    SENT({SIGTERM, 200000}, {SIGKILL, 230000});
    pilot_over = NEVER;
}

/* Nothing wakes the runner up when metrics are written: it looks every two seconds. */
static void one_that_diverges_is_ended_while_it_runs(void **state)
{
    for (int ends = 0; ends < 2; ends++) {
        begin();
        process.lasts = 10000;
        process.status = SIGTERM;
        of_metrics.diverged = ends ? JOBDESC_DIVERGED_END : JOBDESC_DIVERGED_IGNORE;
        reports_at = 100000;
        reports = "{\"step\": 1, \"loss\": NaN}\n";
        if (ends) {
            json_t *record = run(600000, 30000, none);

            assert_string_equal(json_string_value(json_object_get(record, "outcome")), "diverged");
            json_decref(record);
            assert_int_equal(n_sent, 1); /* once, however long it takes */
            assert_int_equal(sent[0].sig, SIGTERM);
            assert_in_range(sent[0].at, 100000, 104000);
        } else {
            assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
            SENT({SIGTERM, 600000});
        }
    }
    of_metrics = (struct jobdesc_metrics){0};
}

/* It is warned as before the walltime, so that it leaves a checkpoint, and told to end only where it goes on. */
static void one_beyond_its_rung_is_ended(void **state)
{
    const struct {
        struct jobdesc_checkpoint checkpoint;
        int64_t warned;
        const char *reports;
        size_t sent;
    } cases[] = {
        {before_2m, NEVER, "{\"step\": 10, \"loss\": 1}\n{\"step\": 11, \"loss\": 1}\n", 2},
        {before_2m, 5000, "{\"step\": 10, \"loss\": 1}\n{\"step\": 11, \"loss\": 1}\n", 1},
        {none, NEVER, "{\"step\": 10, \"loss\": 1}\n{\"step\": 11, \"loss\": 1}\n", 1},
        {before_2m, NEVER, "{\"step\": 9, \"loss\": 1}\n{\"step\": 10, \"loss\": 1}\n", 0}, /* it may end there by itself */
    };

    of_metrics.rung = "loss";
    step_until = 10;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        process.ends_at = 400000;
        process.lasts = 1000;
        process.warned = cases[i].warned;
        reports_at = 100000;
        reports = cases[i].reports;
        json_decref(run(0, 30000, cases[i].checkpoint));
        assert_int_equal(n_sent, cases[i].sent);
        if (n_sent > 0)
            assert_in_range(sent[0].at, 100000, 104000);
        if (n_sent > 0)
            assert_int_equal(sent[0].sig, i < 2 ? SIGUSR1 : SIGTERM);
        if (n_sent == 2) {
            assert_int_equal(sent[1].sig, SIGTERM);
            assert_int_equal(sent[1].at, sent[0].at + 120000);
            assert_int_equal(now, START + sent[1].at + 1000);
        }
    }
    step_until = 0;
    of_metrics = (struct jobdesc_metrics){0};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_walltime_sigterm_and_after_the_grace_sigkill),
        cmocka_unit_test(what_does_not_die_is_killed_again),
        cmocka_unit_test(the_warning_comes_before),
        cmocka_unit_test(told_to_end_it_has_its_grace),
        cmocka_unit_test(told_to_end_when_its_time_is_over_it_ends_for_that),
        cmocka_unit_test(every_signal_that_ends_a_job_is_one),
        cmocka_unit_test(it_ends_before_the_scheduler_ends_it),
        cmocka_unit_test(it_ends_before_its_allocation_does),
        cmocka_unit_test(it_ends_with_its_pilot_only_where_that_is_earlier),
        cmocka_unit_test(one_that_diverges_is_ended_while_it_runs),
        cmocka_unit_test(one_beyond_its_rung_is_ended),
    };

    return RIG_MAIN("runner_time", tests);
}
