/* Jobs of the ALPS adapter, whose aprun is a script here: when one is started, on which nodes, how often, and how it
 * ends. */
#include "tests/unit/alps_site.h"

#include "common/files.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Only when ALPS has said so several times in a row that a job is more than its nodes have is it given up. */
static void what_is_too_large_is_so_several_times_in_a_row(void **state)
{
    struct adapter_status status;
    bool in_a_row = *state != NULL;

    begin("3-4", in_a_row ? "n=$(wc -l <aprun.asked); [ $n -le 40 ] && { echo \"" TOO_LARGE "\"; exit 1; }; " ENDED_WELL
                          : "n=$(wc -l <aprun.asked); case $n in [1-4]|[6-9]) echo \"" TOO_LARGE
                            "\"; exit 1;; 5) echo \"" NO_NODES "\"; exit 1;; esac; " ENDED_WELL);
    submit(site_job(&one), 1);
    status = until(1, in_a_row ? ADAPTER_JOB_QUEUED : ADAPTER_JOB_ENDED);
    while (in_a_row && !status.never)
        status = until(1, ADAPTER_JOB_QUEUED);
    if (in_a_row) {
        assert_non_null(strstr(status.reason, TOO_LARGE));
        assert_int_equal(site_count_asked("aprun"), 5);
    } else {
        assert_int_equal(site_count_asked("aprun"), 10);
        assert_string_equal(status.reason, "");
        assert_false(status.node_lost);
    }
}

/* The user's options replace those of the adapter, since aprun refuses an option that is given twice. */
static void aprun_is_told_all_of_a_job(void **state)
{
    struct adapter_job job = site_job(&one);

    json_object_set_new(site.config, "extra", json_pack("[s, s]", "-j", "1"));
    begin("3-6", ENDED_WELL);
    job.resources.nodes = 2;
    job.resources.copies = 5;
    job.resources.cpus_per_task = 4;
    job.resources.memory = INT64_C(3) << 30;
    submit(job, 1);
    until(1, ADAPTER_JOB_ENDED);
    site_assert_asked("aprun", "[-j][1][-n][5][-N][3][-L][3,4][-d][4][-cc][depth][-m][3072m][/bin/sh][-c]");
    site_assert_asked("aprun", "--rank");
    site_forget("aprun");
    job.resources.extra = json_pack("[s, s, s, s, s, s]", "-d", "2", "-cc", "0-1", "-m", "1g");
    job.resources.nodes = job.resources.copies = 1;
    submit(job, 2);
    until(2, ADAPTER_JOB_ENDED);
    site_assert_asked("aprun", "[-j][1][-d][2][-cc][0-1][-m][1g][-n][1][-N][1][-L][3][/bin/sh][-c]");
    site_assert_not_asked("aprun", "--rank");
    json_decref((json_t *)job.resources.extra);
    site_forget("aprun");
    job.resources = one;
    job.resources.whole_nodes = true;
    submit(job, 3);
    until(3, ADAPTER_JOB_ENDED);
    site_assert_asked("aprun", "[-j][1][-n][1][-N][1][-L][3][-cc][none][/bin/sh][-c]");
}

/* Cobalt tells the end of an allocation with a fraction of a second, Slurm without; the setting counts more than
 * both. */
static void the_end_of_the_allocation_is_told_to_jobs(void **state)
{
    static const struct {
        const char *cobalt, *slurm;
        int64_t setting;
        const char *told;
    } cases[] = {
        {"4000000000.25", NULL, 0, "4000000000\n"}, {"4000000000", "4000000001", 0, "4000000000\n"}, {NULL, "4000000001", 0, "4000000001\n"},
        {"soon", NULL, 0, "none\n"},              {NULL, NULL, 0, "none\n"},                      {"4000000000", NULL, 4000000002, "4000000002\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[160], *text;
        struct error err;
        size_t size;

        if (cases[i].cobalt != NULL)
            setenv("COBALT_ENDTIME", cases[i].cobalt, 1);
        if (cases[i].slurm != NULL)
            setenv("SLURM_JOB_END_TIME", cases[i].slurm, 1);
        if (cases[i].setting > 0)
            json_object_set_new(site.config, "end", json_integer(cases[i].setting));
        begin("3", "echo ${STRETTO_ALLOCATION_END-none} >end; " ENDED_WELL);
        submit(site_job(&one), 1);
        until(1, ADAPTER_JOB_ENDED);
        snprintf(path, sizeof path, "%s/end", site.dir);
        assert_int_equal(file_read(path, 100, &text, &size, &err), 0);
        assert_string_equal(text, cases[i].told);
        free(text);
        site_end();
        unsetenv("COBALT_ENDTIME");
        unsetenv("SLURM_JOB_END_TIME");
        /* or the next one takes it for an earlier aprun of the job */
        snprintf(path, sizeof path, "%s/st-0-1/aprun", site.dir);
        unlink(path);
    }
}

static void no_more_apruns_run_than_there_may(void **state)
{
    json_object_set_new(site.config, "most", json_integer(2));
    begin("3-6", STAY);
    for (int i = 1; i <= 4; i++)
        submit(site_job(&one), i);
    until(1, ADAPTER_JOB_RUNNING);
    until(2, ADAPTER_JOB_RUNNING);
    for (int i = 3; i <= 4; i++)
        assert_int_equal(site_status(i, NULL).state, ADAPTER_JOB_QUEUED);
    assert_int_equal(site_count_asked("aprun"), 2);
    site_put("go", "", 0600);
    for (int i = 1; i <= 4; i++)
        until(i, ADAPTER_JOB_ENDED);
}

/* It would wait for ever if what is smaller passed it by. */
static void one_that_wants_all_nodes_is_not_passed_by(void **state)
{
    struct adapter_job all = site_job(&one);

    all.resources.nodes = all.resources.copies = 2;
    begin("3-4", STAY);
    submit(site_job(&one), 1);
    until(1, ADAPTER_JOB_RUNNING);
    submit(all, 2);
    submit(site_job(&one), 3);
    assert_int_equal(site_status(2, NULL).state, ADAPTER_JOB_QUEUED);
    assert_int_equal(site_status(3, NULL).state, ADAPTER_JOB_QUEUED);
    assert_int_equal(site_count_asked("aprun"), 1);
    site_put("go", "", 0600);
    until(3, ADAPTER_JOB_ENDED);
    until(2, ADAPTER_JOB_ENDED);
    site_assert_asked("aprun", "[-n][2][-N][1][-L][3,4]");
}

/* The room of one that is cancelled while it waits is others' at once, if a node is free. */
static void those_behind_a_cancelled_job_start(void **state)
{
    struct adapter_job all = site_job(&one);

    all.resources.nodes = all.resources.copies = 2;
    begin("3,0", STAY);
    submit(site_job(&one), 1);
    assert_string_equal(until(1, ADAPTER_JOB_RUNNING).host, "nid00003");
    submit(all, 2);
    submit(site_job(&one), 3);
    order(site_cancel, 2);
    site_put("go", "", 0600);
    assert_string_equal(until(3, ADAPTER_JOB_ENDED).host, "nid00000");
    until(1, ADAPTER_JOB_ENDED);
}

/* If it is the only node, jobs wait: they would be lost with it, too. */
static void a_lost_node_is_not_taken_again_at_once(void **state)
{
    begin("3", "echo 'Apid 46 killed. Received node failed or halted event for nid 3'; exit 1");
    submit(site_job(&one), 1);
    until(1, ADAPTER_JOB_ENDED);
    submit(site_job(&one), 2);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(site_status(2, NULL).state, ADAPTER_JOB_QUEUED);
        usleep(2000);
    }
    assert_int_equal(site_count_asked("aprun"), 1);
}

static void what_can_never_be_is_refused_at_its_place(void **state)
{
    static const struct {
        struct adapter_resources want;
        const char *pointer; /* NULL: it is fine */
    } cases[] = {
        {{.nodes = 1, .tasks = 8, .cpus_per_task = 1, .copies = 1}, NULL},
        {{.nodes = 1, .tasks = 9, .cpus_per_task = 1, .copies = 1}, "/tasks"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 9, .copies = 1}, "/cpus_per_task"},
        {{.nodes = 2, .tasks = 1, .cpus_per_task = 8, .copies = 2}, NULL},
        {{.nodes = 2, .tasks = 1, .cpus_per_task = 5, .copies = 3}, "/tasks"},
        {{.nodes = 3, .tasks = 3, .cpus_per_task = 1, .copies = 1, .launcher = "aprun"}, "/nodes"},
        {{.nodes = 2, .tasks = 1, .cpus_per_task = 1, .copies = 1}, "/nodes"},
        {{.nodes = 1, .tasks = 2, .cpus_per_task = 1, .copies = 2, .launcher = "aprun"}, "/launcher"},
    };
    struct adapter_resources more = one;
    struct error err;

    json_object_set_new(site.config, "cpus", json_integer(8));
    begin("3-4", ENDED_WELL);
    assert_int_equal(site.ops->slots(site.a), 16);
    assert_int_equal(site.ops->node_slots(site.a), 8);
    assert_int_equal(site.ops->interval_ms(site.a), 15000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = site.ops->check(site.a, &cases[i].want, &err);

        assert_int_equal(rc, cases[i].pointer != NULL ? -1 : 0);
        if (rc < 0)
            assert_string_equal(err.pointer, cases[i].pointer);
    }
    more.extra = json_pack("[s,s]", "-L", "3");
    assert_int_equal(site.ops->check(site.a, &more, &err), -1);
    assert_string_equal(err.pointer, "/extra/0");
    json_decref((json_t *)more.extra);
}

static void a_signal_wants_a_task_to_go_to(void **state)
{
    struct told told;

    begin("3", STAY);
    submit(site_job(&one), 1);
    submit(site_job(&one), 2);
    until(1, ADAPTER_JOB_RUNNING);
    for (int i = 1; i <= 2; i++) {
        site_signal(i, SIGUSR1, &told); /* no runner has claimed the one, and the other waits */
        site_until(&told, 1);
        assert_int_equal(told.answer, ADAPTER_UNSURE);
        assert_string_equal(told.code, "job_not_started");
    }
    site_signal(1, SIGKILL, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_REFUSED);
    site_put("go", "", 0600);
    until(1, ADAPTER_JOB_ENDED);
    site_signal(1, SIGUSR1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_REFUSED);
    assert_string_equal(told.code, "job_ended");
    until(2, ADAPTER_JOB_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"what_is_too_large_is_given_up", what_is_too_large_is_so_several_times_in_a_row, site_open, site_close,
         "in a row"},
        {"what_is_too_large_now_and_then_is_not", what_is_too_large_is_so_several_times_in_a_row, site_open, site_close,
         NULL},
        CASE(aprun_is_told_all_of_a_job),
        CASE(the_end_of_the_allocation_is_told_to_jobs),
        CASE(no_more_apruns_run_than_there_may),
        CASE(one_that_wants_all_nodes_is_not_passed_by),
        CASE(those_behind_a_cancelled_job_start),
        CASE(a_lost_node_is_not_taken_again_at_once),
        CASE(what_can_never_be_is_refused_at_its_place),
        CASE(a_signal_wants_a_task_to_go_to),
    };

    return SITE_RUN(tests);
}
