/* Orders to jobs, and what is believed of jobs: by which commands, and what is made of what they say. */
#include "common/files.h"
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void begin_slurm(void)
{
    site_slurm_commands();
    site_begin(adapter_named("slurm"));
}

static void list(const char *rows)
{
    site_put("listed", rows, 0600);
}

static void cancel_ok(int number)
{
    struct told told;

    site_cancel(number, 60000, &told);
    site_until(&told, 1);
    if (told.answer != ADAPTER_OK)
        fail_msg("answer %d: %s", (int)told.answer, told.text);
}

/* What waits is taken out of the queue, what runs is told to end by way of its runner, and what ends already is not
 * told again. */
static void a_cancel_is_what_the_state_asks_for(void **state)
{
    begin_slurm();
    list("st-0-1|7|PENDING|100|N/A|n/a||Priority\nst-0-2|8|RUNNING|100|120|n1|n1|None\nst-0-3|9|COMPLETING|100|120|n1|n1|None\n"
         "st-0-4|10|FAILED|100|120|n1|n1|None\nst-0-22|11|RUNNING|100|120|n1|n1|None\n");
    cancel_ok(1);
    site_assert_asked("scancel", "[7]\n");
    site_forget("scancel");
    cancel_ok(2);
    site_assert_asked("scancel", "[--batch][--signal=TERM][8]\n");
    assert_int_equal(site_count_asked("scancel"), 1);
    site_forget("scancel");
    cancel_ok(3);
    cancel_ok(4);
    cancel_ok(5); /* it is gone */
    assert_int_equal(site_count_asked("scancel"), 0);
}

/* Of one whose answer was lost two may run. */
static void all_that_run_under_a_name_are_told_to_end(void **state)
{
    begin_slurm();
    list("st-0-1|7|RUNNING|100|120|n1|n1|None\nst-0-1|8|RUNNING|100|120|n2|n2|None\n");
    cancel_ok(1);
    site_assert_asked("scancel", "[--batch][--signal=TERM][7][8]\n");
}

/* A command takes so many ids and no more. */
static void many_are_cancelled_by_several_commands(void **state)
{
    enum { MOST = 500 };
    static struct told told[MOST + 1];
    static char rows[(MOST + 1) * 60];
    size_t n = 0;

    begin_slurm();
    for (int i = 0; i <= MOST; i++)
        n += (size_t)snprintf(rows + n, sizeof rows - n, "st-0-%d|%d|PENDING|100|N/A|n/a||None\n", i, 1000 + i);
    list(rows);
    for (int i = 0; i <= MOST; i++)
        site_cancel(i, 0, &told[i]);
    for (int i = 0; i <= MOST; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_OK);
    }
    assert_int_equal(site_count_asked("scancel"), 2);
    site_assert_asked("scancel", "[1000]");
    site_assert_asked("scancel", "[1500]");
}

/* No runner is signalled before all that wait are out of the queue, by however many commands; nor where one of them
 * cannot be taken out, until that was so three times. */
static void what_waits_goes_before_what_runs(void **state)
{
    enum { MOST = 500, ALL = 2 * MOST + 2 };
    static struct told told[ALL];
    static char rows[ALL * 60];
    size_t n = 0;

    begin_slurm();
    for (int i = 0; i < ALL; i++)
        n += (size_t)snprintf(rows + n, sizeof rows - n, "st-0-%d|%d|%s|100|120|n1|n1|None\n", i, 1000 + i,
                              i % 2 == 0 ? "RUNNING" : "PENDING");
    list(rows);
    site_command("scancel", "case \"$*\" in *TERM*) echo TERM;; *) echo OUT;; esac >>order.asked; [ ! -e stays ] || case \"$*\" in *1001*) exit 1; esac");
    site_put("stays", "", 0600);
    for (int round = 1; round <= 4; round++) {
        bool all = round >= 3;

        for (int i = ALL - 1; i >= 0; i--)
            site_cancel(i, 0, &told[i]);
        for (int i = 0; i < ALL; i++)
            site_until(&told[i], 1);
        assert_int_equal(told[0].answer, all ? ADAPTER_OK : ADAPTER_UNSURE);
        assert_int_equal(told[1].answer, round == 4 ? ADAPTER_OK : ADAPTER_UNSURE);
        site_assert_lines("order", all ? "OUT\nOUT\nTERM\nTERM\n" : "OUT\nOUT\n");
        site_forget("order");
        if (round == 3)
            site_remove("stays");
    }
}

static void an_order_that_is_not_carried_out_is_not_done(void **state)
{
    struct told told;

    begin_slurm();
    list("st-0-1|7|RUNNING|100|120|n1|n1|None\n");
    site_command("scancel", "echo 'scancel: error: Kill job error on job id 7: Invalid job id specified' >&2; exit 1");
    cancel_ok(1); /* it has just ended */
    site_command("scancel",
                 "echo 'scancel: error: Kill job error on job id 7: Unable to contact slurm controller' >&2; exit 1");
    site_cancel(1, 0, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    assert_non_null(strstr(told.text, "Unable to contact"));
    site_command("scancel", "printf '%s\\n' 'scancel: error: Invalid job id 7' 'scancel: error: Access/permission denied' >&2; exit 1");
    site_cancel(1, 0, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    site_command("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
    site_cancel(1, 0, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
}

static void a_signal_goes_to_the_runner_of_what_runs(void **state)
{
    static const struct {
        int number, sig;
        enum adapter_answer answer;
        const char *what; /* that it asks for, or the code */
    } cases[] = {
        {1, SIGUSR1, ADAPTER_OK, "[--batch][--signal=USR1][7]\n"}, {1, SIGUSR2, ADAPTER_OK, "[--batch][--signal=USR2][7]\n"},
        {2, SIGUSR1, ADAPTER_UNSURE, "job_not_started"},           {3, SIGUSR1, ADAPTER_REFUSED, "job_ended"},
        {4, SIGUSR1, ADAPTER_REFUSED, "job_ended"},                {1, SIGTERM, ADAPTER_REFUSED, "signal_refused"},
    };

    begin_slurm();
    list("st-0-1|7|RUNNING|100|120|n1|n1|None\nst-0-2|8|PENDING|100|N/A|n/a||None\nst-0-3|9|COMPLETED|100|120|n1|n1|None\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;

        site_forget("scancel");
        site_signal(cases[i].number, cases[i].sig, &told);
        site_until(&told, 1);
        assert_int_equal(told.answer, cases[i].answer);
        if (told.answer == ADAPTER_OK)
            site_assert_asked("scancel", cases[i].what);
        else
            assert_string_equal(told.code, cases[i].what);
        assert_int_equal(site_count_asked("scancel"), told.answer == ADAPTER_OK);
    }
}

/* Held first: a scancel would end it if it has begun meanwhile. Of two of a name, and of ids that begin alike, that
 * one. */
static void what_is_too_many_is_taken_out(void **state)
{
    struct told told;

    begin_slurm();
    list("st-0-1|7|RUNNING|100|120|n1|n1|None\nst-0-1|71|PENDING|110|N/A|n/a||Priority\nst-0-1|712|PENDING|120|N/A|n/a||Priority\n");
    site_withdraw(1, "712", &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    site_assert_asked("scontrol", "[hold][712]\n");
    site_assert_asked("scancel", "[--state=PENDING][--name=st-0-1][712]\n");
    site_forget("scontrol");
    site_forget("scancel");
    site_withdraw(1, "7", &told); /* which runs */
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    site_withdraw(2, "71", &told); /* which is another's by now */
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    list("st-0-3|80|PENDING|110|N/A|n/a||Priority\n");
    site_withdraw(3, "79", &told); /* which is gone: the only one of that name is not too many */
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    assert_int_equal(site_count_asked("scontrol") + site_count_asked("scancel"), 0);
}

static void one_that_cannot_be_held_is_left_alone(void **state)
{
    struct told told;

    begin_slurm();
    list("st-0-1|7|PENDING|100|N/A|n/a||Priority\n");
    site_command("scontrol", "echo 'slurm_suspend error: Job is no longer pending execution' >&2; exit 1");
    site_withdraw(1, "7", &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    for (int i = 0; i < 2; i++) {
        site_command("scontrol", i == 0 ? "echo 'slurm_update error: Unable to contact slurm controller (connect failure)' >&2; exit 1"
                                        : "echo 'slurm_update error: Socket timed out on send/recv operation' >&2; exit 1");
        site_withdraw(1, "7", &told);
        site_until(&told, 1);
        assert_int_equal(told.answer, ADAPTER_UNSURE);
    }
    assert_int_equal(site_count_asked("scancel"), 0);
}

/* Slurm does not start it again; once it is out of the queue, the daemon does. */
static void one_whose_launch_failed_is_taken_out(void **state)
{
    begin_slurm();
    list("st-0-1|7|PENDING|100|N/A|n/a||launch failed requeued held\n");
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_QUEUED);
    TEST_UNTIL(site_count_asked("scancel") > 0, uv_run(&site.loop, UV_RUN_ONCE));
    site_assert_asked("scancel", "[7]\n");
    assert_non_null(strstr(site.said, "launch failed requeued held"));
}

/* The record of any of them may be as old as the oldest. */
static void records_are_asked_for_since_the_first_submission(void **state)
{
    const struct site_known jobs[] = {
        {1, "7", INT64_C(1700003600000)}, {2, "8", INT64_C(1700000000000)}, {3, "9", INT64_C(1700007200000)}};
    struct told told;

    setenv("TZ", "UTC", 1);
    begin_slurm();
    site_command("sacct",
                 "echo 'st-0-2|8|CANCELLED by 0|100|120|n1|n1|None'; echo 'st-0-1|7|RUNNING|100|120|n1|n1|None';"
                 " echo 'st-0-30|9|FAILED|100|120|n1|n1|None'");
    site_poll(jobs, 3, &told);
    site_until(&told, 1);
    site_assert_asked("sacct", "[-S][2023-11-14T21:13:20]");
    site_assert_asked("sacct", "[-j][7,8,9]");
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_UNKNOWN); /* the record is behind */
    assert_int_equal(told.statuses[1].state, ADAPTER_JOB_ENDED);
    assert_string_equal(told.statuses[1].reason, "Slurm: CANCELLED by 0");
    assert_int_equal(told.statuses[2].state, ADAPTER_JOB_UNKNOWN); /* the id is another's */
    unsetenv("TZ");
}

/* Those that ask while a listing is under way want to know how it is later; they share the next. */
static void questions_share_their_listings(void **state)
{
    const struct site_known job = {1, "7", 1};
    struct told told[5];

    begin_slurm();
    site_put("listed", "st-0-1|7|RUNNING|100|120|n1|n1|None\n", 0600);
    for (int i = 0; i < 5; i++)
        site_poll(&job, 1, &told[i]);
    for (int i = 0; i < 5; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].statuses[0].state, ADAPTER_JOB_RUNNING);
    }
    assert_int_equal(site_count_asked("squeue"), 2);
}

static void a_list_that_fails_tells_nothing(void **state)
{
    const struct site_known job = {1, "7", 1};
    static const char *const scripts[] = {"echo 'slurm_load_jobs error: Socket timed out' >&2; exit 1", "printf 'st-0-1|7|RUNN'",
                                          "echo 'st-0-2|8|RUNNING|100|120|n1|n1|None'; kill -TERM $$"};
    struct told told[2]; /* the second waits for the next listing */

    begin_slurm();
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        site_command("squeue", scripts[i]);
        for (int k = 0; k < 2; k++)
            site_poll(&job, 1, &told[k]);
        for (int k = 0; k < 2; k++) {
            site_until(&told[k], 1);
            assert_int_equal(told[k].answer, ADAPTER_UNSURE);
            assert_string_equal(told[k].code, "batch_system_unsure");
        }
    }
}

/* What its runner said last is the reason of a job that failed, unless it is only news. */
static void the_last_words_of_a_runner_are_told(void **state)
{
    char path[160];
    struct error err;

    begin_slurm();
    list("st-0-1|7|FAILED|100|120|n1|n1|NonZeroExitCode\n");
    snprintf(path, sizeof path, "%s/st-0-1", site.dir);
    assert_int_equal(dir_make(path, &err), 0);
    assert_string_equal(site_status(1, "7").reason, "Slurm: FAILED (NonZeroExitCode)");
    site_put("st-0-1/runner.log", "stretto-run: [1] info: it began\nstretto-run: [2] error: no such file\n", 0600);
    assert_non_null(strstr(site_status(1, "7").reason, "Slurm: FAILED (NonZeroExitCode): stretto-run: [2] error: no such file"));
    site_put("st-0-1/runner.log", "stretto-run: [2] error: no such file\nstretto-run: [1] info: it began\n", 0600);
    assert_string_equal(site_status(1, "7").reason, "Slurm: FAILED (NonZeroExitCode)");
    list("st-0-1|7|COMPLETED|100|120|n1|n1|None\n");
    assert_string_equal(site_status(1, "7").reason, "");
    list("");
    site_command("sacct", "");
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN);
    site_put("st-0-1/ended.json", "{}", 0600);
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_ENDED); /* the runner says so itself */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_cancel_is_what_the_state_asks_for),
        CASE(all_that_run_under_a_name_are_told_to_end),
        CASE(many_are_cancelled_by_several_commands),
        CASE(what_waits_goes_before_what_runs),
        CASE(an_order_that_is_not_carried_out_is_not_done),
        CASE(a_signal_goes_to_the_runner_of_what_runs),
        CASE(what_is_too_many_is_taken_out),
        CASE(one_that_cannot_be_held_is_left_alone),
        CASE(one_whose_launch_failed_is_taken_out),
        CASE(records_are_asked_for_since_the_first_submission),
        CASE(questions_share_their_listings),
        CASE(a_list_that_fails_tells_nothing),
        CASE(the_last_words_of_a_runner_are_told),
    };

    return SITE_RUN(tests);
}
