/* How the tasks of a job, and the job, end: given up, held back, with a full disk, without a directory. In virtual
 * time. */
#include "tests/unit/runner_rig.h"


#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Another attempt may run by then. It is not warned either, since what it leaves is no checkpoint of that one. */
static void what_was_given_up_is_ended(void **state)
{
    json_t *record;

    begin();
    given_up_at = 100000;
    record = run(0, 30000, before_2m);
    assert_true(json_is_true(json_object_get(record, "given_up")));
    json_decref(record);
    assert_int_equal(n_sent, 2);
    assert_int_equal(sent[0].sig, SIGTERM);
    assert_in_range(sent[0].at, 100000, 160000);
    assert_int_equal(sent[1].sig, SIGKILL);
    assert_int_equal(sent[1].at, sent[0].at + 30000);
    assert_int_equal(now, START + sent[1].at);
}

static int64_t signal_pending_at;

static void be_told_while_the_first_starts(struct task *t)
{
    now = START + signal_pending_at;
    assert_int_equal(raise(SIGTERM), 0);
}

/* The signal that tells the runner of the end of its time does not make it the reason. */
static void tasks_that_were_not_started_in_time_are_out_of_time(void **state)
{
    static const struct {
        int64_t at;
        const char *outcome, *reason;
    } cases[] = {{599999, "cancelled", "cancelled before it started"},
                 {600000, "timeout", "the walltime was over before it started"}};
    sigset_t term, before;
    int sig;

    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &before);
    for (size_t i = 0; i < 2; i++) {
        json_t *record;

        begin();
        signal_pending_at = told_at = cases[i].at;
        other_ends_at = 610000;
        started = be_told_while_the_first_starts;
        record = run(600000, 30000, none);
        assert_int_equal(sigwait(&term, &sig), 0); /* a failure would unblock it */
        assert_record(record, cases[i].outcome, cases[i].reason);
        assert_int_equal(n_started, 1);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A batch system tells all processes of a job, and some hear of it sooner: the runner waits for its own signal, but not
 * for ever. */
static void one_that_died_as_told_is_held_for_a_while(void **state)
{
    begin();
    process.ends_at = 100000;
    process.status = SIGTERM;
    told_at = 101999;
    assert_record(run(600000, 30000, none), "cancelled", "cancelled");
    assert_int_equal(now, START + 101999);
    begin();
    process.ends_at = 100000;
    process.status = SIGTERM;
    assert_record(run(600000, 30000, none), "failed", "killed by signal 15 (Terminated)");
    assert_int_equal(now, START + 102000);
    begin();
    process.ends_at = 100000;
    process.status = 3 << 8; /* so may it end in its own way */
    told_at = 101000;
    assert_record(run(600000, 30000, none), "cancelled", "cancelled");
    begin();
    process.ends_at = 599000;
    process.status = 3 << 8; /* the walltime, which is over meanwhile, has not ended it */
    assert_record(run(600000, 30000, none), "failed", "exit status 3");
    assert_int_equal(now, START + 600000);
    begin();
    process.ends_at = 599000;
    process.status = SIGTERM;
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    assert_int_equal(now, START + 600000);
    begin();
    process.ends_at = 100000;
    process.status = 3 << 8;
    is_watched = true; /* nobody tells the tasks of a local job but its runner */
    assert_record(run(600000, 30000, none), "failed", "exit status 3");
    assert_int_equal(now, START + 100000);
}

/* A full disk is waited for: after the walltime for as long as a batch system may have patience, and otherwise for ten
 * minutes, however long the task has run. */
static void a_full_disk_is_waited_for(void **state)
{
    begin();
    disk_full_until = 643000; /* tried at 642.7 s, and then each 10 s */
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    assert_in_range(now, START + 643000, START + 655000);
    begin();
    disk_full_until = 3600000 + 590000;
    assert_record(run(0, 30000, none), "succeeded", "");
    assert_in_range(now, START + disk_full_until, START + 3600000 + 610000);
    begin();
    disk_full_until = NEVER - START;
    assert_null(run(0, 30000, none));
    assert_int_equal(result, -1);
    assert_in_range(now, START + 3600000 + 600000, START + 3600000 + 620000);
    begin();
    disk_full_until = NEVER - START;
    assert_null(run(600000, 30000, none));
    assert_in_range(now, START + 645000, START + 665000);
}

/* The daemon is to look for records that are not there, and must not be told that all are. */
static void without_its_record_the_job_has_not_ended(void **state)
{
    is_there("ended.json");
    begin();
    gone_at = 100000;
    assert_null(run(600000, 30000, none));
    assert_int_equal(result, -1);
    assert_false(is_there("ended.json"));
    assert_in_range(now, START + 640000, START + 660000); /* it tries for a while */
}

/* Of the end of a job that it watches, the daemon hears by itself. */
static void news_are_told_to_the_daemon(void **state)
{
    static const struct {
        int64_t other_ends_at;
        bool watched, shared;
        const char *nudges;
    } cases[] = {{NEVER, false, false, "XE"}, {1000, false, false, "XXE"}, {20000, false, false, "XE"}, {NEVER, true, false, ""},
                 {1000, true, false, "X"},    {NEVER, false, true, "X"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        process.ends_at = 20000;
        other_ends_at = cases[i].other_ends_at;
        is_watched = cases[i].watched;
        is_shared = cases[i].shared;
        json_decref(run(600000, 30000, none));
        assert_string_equal(nudges, cases[i].nudges);
    }
}

/* 64 MiB of metrics, which are read in 16 turns, each of which takes a second. */
static void metrics_grow(void)
{
    char path[160];

    if (now < START + 5000) {
        snprintf(path, sizeof path, "%.*s/metrics.jsonl", (int)(strrchr(record_path, '/') - record_path), record_path);
        assert_int_equal(truncate(path, 64 << 20), 0);
        does_at = 5000;
    } else {
        now += 1000;
        does_at = now - START;
    }
}

/* The time for it is part of the walltime, with as much more as a task has to end. */
static void metrics_are_read_while_there_is_time(void **state)
{
    static const struct {
        int64_t walltime, told, ends_at;
        const char *outcome, *reason;
        int status;
    } cases[] = {{10000, NEVER, 15000, "failed", "exit status 3", 3 << 8},
                 {600000, NEVER, 21000, "succeeded", "", 0},
                 {18000, NEVER, 21000, "succeeded", "", 0},
                 {10000, NEVER, 15000, "timeout", "its time was over before all its metrics were read", 0},
                 {600000, 7000, 12000, "cancelled", "it was cancelled before all its metrics were read", 0},
                 {600000, 17000, 21000, "succeeded", "", 0}};
    json_t *record;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        process.ends_at = 5000;
        process.status = cases[i].status;
        reports_at = 1000;
        reports = "{\"loss\": 1}\n";
        does_at = 4999;
        does = metrics_grow;
        told_at = cases[i].told;
        adjust = NULL;
        record = run(cases[i].walltime, 1000, none);
        does_at = NEVER;
        assert_record(record, cases[i].outcome, cases[i].reason);
        assert_in_range(now - START, cases[i].ends_at - 2000, cases[i].ends_at + 2000);
    }
}

/* Of two tasks each has a record of its own, and the first's is there while the other runs. */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_up_is_ended),
        cmocka_unit_test(tasks_that_were_not_started_in_time_are_out_of_time),
        cmocka_unit_test(one_that_died_as_told_is_held_for_a_while),
        cmocka_unit_test(a_full_disk_is_waited_for),
        cmocka_unit_test(without_its_record_the_job_has_not_ended),
        cmocka_unit_test(metrics_are_read_while_there_is_time),
        cmocka_unit_test(news_are_told_to_the_daemon),
    };

    return RIG_MAIN("runner_ends", tests);
}
