/* Requests to batch systems: their commands are scripts here, which write down their arguments. */
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void begin_slurm(void)
{
    site_slurm_commands();
    site_begin(adapter_named("slurm"));
}

/* The walltime is 58 minutes, which with the grace and a little more is 64; "short" allows 60. */
static void the_time_is_what_the_jobs_partition_allows(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    begin_slurm();
    site_submit_ok(job, 1); /* the default partition */
    site_assert_asked("sbatch", "[--time=60]");
    site_forget("sbatch");
    job.resources.queue = "long";
    site_submit_ok(job, 2);
    site_assert_asked("sbatch", "[--time=64]");
    site_forget("sbatch");
    job.resources.queue = "shor"; /* there is none */
    site_submit_ok(job, 3);
    site_assert_asked("sbatch", "[--time=58]");
    site_forget("sbatch");
    job.resources.queue = "short";
    job.resources.extra = json_pack("[s,s]", "-p", "long,short"); /* which comes later, and counts */
    site_submit_ok(job, 4);
    site_assert_asked("sbatch", "[--time=64]");
    json_decref((json_t *)job.resources.extra);
}

static void what_a_spec_adds_counts_more_than_what_the_site_adds(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    json_object_set_new(site.config, "extra", json_pack("[s]", "--partition=short"));
    begin_slurm();
    job.resources.queue = "long"; /* what the site adds comes after it */
    site_submit_ok(job, 1);
    site_assert_asked("sbatch", "[--time=60]");
    site_forget("sbatch");
    job.resources.extra = json_pack("[s]", "--partition=long");
    site_submit_ok(job, 2);
    site_assert_asked("sbatch", "[--time=64]");
    json_decref((json_t *)job.resources.extra);
}

/* sacct takes times for those of the place where it runs. */
static void accounts_are_asked_for_in_local_time(void **state)
{
    /* 2023-11-14T22:13:20Z; an hour before it, since clocks differ */
    const struct site_known job = {1, "7", INT64_C(1700000000000)};
    struct told told;

    setenv("TZ", "XYZ-5:30", 1);
    tzset();
    begin_slurm();
    site_poll(&job, 1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    site_assert_asked("sacct", "[-S][2023-11-15T02:43:20]");
    site_assert_asked("sacct", "[-j][7]");
    unsetenv("TZ");
    tzset();
}

/* Two jobs that are alike go as an array, and one that differs in anything that is asked for goes alone. */
static void only_jobs_of_one_shape_are_an_array(void **state)
{
    static const struct adapter_resources usual = {.nodes = 1, .tasks = 2, .cpus_per_task = 3, .gpus = 1, .copies = 4, .memory = 1 << 30,
                                                   .walltime_ms = 58 * MINUTE_MS, .queue = "long", .account = "abc"};
    json_t *extra = json_pack("[s]", "--qos=debug");
    struct adapter_job others[12];
    struct told told[3];
    size_t n = sizeof others / sizeof *others;

    for (size_t i = 0; i < n; i++)
        others[i] = site_job(&usual);
    others[0].resources.nodes = 2;
    others[1].resources.tasks = 1;
    others[2].resources.cpus_per_task = 1;
    others[3].resources.gpus = 0;
    others[4].resources.copies = 3; /* the last ones of an ensemble */
    others[5].resources.memory = 2 << 20;
    others[6].resources.walltime_ms = MINUTE_MS;
    others[7].resources.queue = NULL;
    others[8].resources.account = "abd";
    others[9].resources.extra = extra;
    others[10].resources.whole_nodes = true;
    others[11].grace_ms = 0;
    begin_slurm();
    for (size_t i = 0; i < n; i++) {
        site_submit(site_job(&usual), 10 * (int)i + 1, &told[0]);
        site_submit(site_job(&usual), 10 * (int)i + 2, &told[1]);
        site_submit(others[i], 10 * (int)i + 3, &told[2]);
        for (int k = 0; k < 3; k++) {
            site_until(&told[k], 1);
            assert_int_equal(told[k].answer, ADAPTER_OK);
        }
        site_assert_asked("sbatch", "[--array=0-1]");
        site_assert_asked("sbatch", "[--ntasks=8]");
        if (site_count_asked("sbatch") != 2)
            fail_msg("the job that differs by %zu is in the array", i);
        site_forget("sbatch");
    }
    json_decref(extra);
}

static void begin_pbs(const char *qsub)
{
    site_pbs_commands("pbs_version = 23.06.06");
    site_command("qsub", qsub);
    site_begin(adapter_named("pbs"));
}

/* The runner ends its tasks at the walltime, and they have their grace then; what a queue allows may not be more than
 * the walltime. */
static void time_for_the_grace_is_asked_for_where_it_is_allowed(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    begin_pbs("case \"$*\" in *walltime=00:58:00*) echo 8.server;; *walltime=01:03:30*) [ -e short ] || { echo 7.server; exit; };"
              " echo 'qsub: Job exceeds queue resource limits' >&2; exit 1;; esac");
    site_submit_ok(job, 1);
    assert_int_equal(site_count_asked("qsub"), 1);
    site_put("short", "", 0600);
    site_submit_ok(job, 2);
    assert_int_equal(site_count_asked("qsub"), 3);
    job.resources.walltime_ms = 0;
    site_forget("qsub");
    site_command("qsub", "echo 9.server");
    site_submit_ok(job, 3);
    site_assert_not_asked("qsub", "walltime");
}

/* Some nodes have one more than others. */
static void tasks_are_spread_over_all_nodes(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    begin_pbs("echo 7.server");
    job.resources.nodes = 3;
    job.resources.tasks = 5;
    job.resources.cpus_per_task = 2;
    site_submit_ok(job, 1);
    site_assert_asked("qsub", "[-l][select=2:ncpus=4:mpiprocs=2:ompthreads=2+1:ncpus=2:mpiprocs=1:ompthreads=2]");
    site_assert_asked("qsub", "[-l][place=scatter]");
}

/* Torque is told of a job's memory on all nodes together, OpenPBS of that on each. */
static void memory_is_that_of_all_nodes(void **state)
{
    struct adapter_job job = site_job(&site_plain);
    bool is_torque = *state != NULL;

    job.resources.nodes = 3;
    job.resources.memory = INT64_C(3) << 30;
    site_pbs_commands(is_torque ? "Version: 6.1.3" : "pbs_version = 23.06.06");
    site_begin(adapter_named("pbs"));
    site_submit_ok(job, 1);
    if (is_torque) {
        site_assert_asked("qsub", "[-l][nodes=3:ppn=1]");
        site_assert_asked("qsub", "[-l][mem=3072mb]");
    } else {
        site_assert_asked("qsub", "[-l][select=3:ncpus=1:mpiprocs=1:ompthreads=1:mem=1024mb]");
    }
}

/* Job 7 waits, has run before, and is in another state as soon as it has been held. */
static void begin_with_one_that_waits(const char *then)
{
    char script[400];

    site_pbs_commands("pbs_version = 23.06.06");
    site_command("qstat", "case $1 in --version) echo 'pbs_version = 23.06.06';; *) printf '{\"Jobs\":{\"7.server\":{\"job_state\":\"%s\","
                     "\"run_count\":1,\"Variable_List\":{\"STRETTO_RUNNER\":\"st-0-1\"}}}}' \"$(cat is)\";; esac");
    snprintf(script, sizeof script, "echo %s >is", then);
    site_command("qhold", script);
    site_put("is", "Q\n", 0600);
    site_begin(adapter_named("pbs"));
}

/* A waiting job that the daemon does not want is held, and looked at again: `then` is its state by that time. */
static void withdraw(const char *then)
{
    struct told told;

    begin_with_one_that_waits(then);
    site_withdraw(1, "7.server", &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    site_assert_asked("qhold", "[7.server]");
}

static void a_job_that_waits_is_taken_out(void **state)
{
    withdraw("H");
    site_assert_asked("qdel", "[7.server]");
    assert_int_equal(site_count_asked("qrls"), 0);
}

/* A job that PBS puts back into the queue has ended if its runner had begun, and does not begin again. */
static void one_that_was_put_back_is_taken_out(void **state)
{
    struct adapter_status status;
    char dir[100];

    begin_with_one_that_waits("H");
    assert_int_equal(site_status(1, "7.server").state, ADAPTER_JOB_QUEUED);
    assert_int_equal(site_count_asked("qhold"), 0);
    snprintf(dir, sizeof dir, "%s/st-0-1", site.dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    site_put("st-0-1/claim.json", "{}", 0600);
    status = site_status(1, "7.server");
    assert_int_equal(status.state, ADAPTER_JOB_ENDED);
    assert_true(status.node_lost);
    TEST_UNTIL(site_count_asked("qdel") > 0 || uv_run(&site.loop, UV_RUN_ONCE) == 0, );
    site_assert_asked("qhold", "[7.server]");
    site_assert_asked("qdel", "[7.server]");
}

/* Were it put back into the queue later, it would wait for ever. */
static void one_that_has_begun_is_not_held_any_more(void **state)
{
    withdraw("R");
    site_assert_asked("qrls", "[7.server]");
    assert_int_equal(site_count_asked("qdel"), 0);
}

static void one_that_is_over_is_left_alone(void **state)
{
    withdraw("F");
    assert_int_equal(site_count_asked("qrls") + site_count_asked("qdel"), 0);
}

/* A job may still wait if the command that takes it out of the queue fails, but not if the batch system says that it is
 * gone. */
static void a_withdrawal_fails_with_its_commands(void **state)
{
    static const struct {
        const char *program, *script; /* of the command that fails, or finds no such job */
        const char *said;             /* NULL: it is done */
    } cases[] = {{"qhold", "echo 'qhold: cannot connect to server testpbs (errno=15010)' >&2; exit 1", "cannot connect"},
                 {"qhold", "echo 'qhold: Unknown Job Id 7.server' >&2; exit 153", NULL},
                 {"qdel", "echo 'qdel: cannot connect to server testpbs (errno=15010)' >&2; exit 1", "cannot connect"},
                 {"qdel", "echo 'qdel: Unknown Job Id 7.server' >&2; exit 153", NULL},
                 {"qhold", "echo E >is", NULL},
                 {"qhold", "rm qstat", "qstat"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;

        begin_with_one_that_waits("H");
        site_command(cases[i].program, cases[i].script);
        site_withdraw(1, "7.server", &told);
        site_until(&told, 1);
        if ((told.answer == ADAPTER_OK) != (cases[i].said == NULL) ||
            (cases[i].said != NULL && strstr(told.text, cases[i].said) == NULL))
            fail_msg("case %zu: answer %d: %s", i, (int)told.answer, told.text);
        site_end();
    }
}

/* Waiting jobs of two arrays and by themselves, all cancelled at once. Of the first array one in the middle is gone. */
static void cancel_all(const char *version, const char *listed)
{
    struct told told[8];

    site_pbs_commands(version);
    site_put("listed", listed, 0600);
    site_begin(adapter_named("pbs"));
    for (int i = 0; i < 8; i++)
        site_cancel(i, 0, &told[i]);
    for (int i = 0; i < 8; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_OK);
    }
}

/* Of several things, or ranges, that one qdel names, OpenPBS deletes the first, or comes down. */
static void a_qdel_of_openpbs_names_one_job_or_one_range(void **state)
{
    cancel_all("pbs_version = 23.06.06",
               "{\"Jobs\":{"
               "\"7[].server\":{\"job_state\":\"B\",\"array\":\"True\",\"array_indices_remaining\":\"0-2,4\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-0-0+\"}},"
               "\"8[].server\":{\"job_state\":\"Q\",\"array\":\"True\",\"array_indices_remaining\":\"0-1\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-0-5+\"}},"
               "\"9.server\":{\"job_state\":\"Q\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-0-7\"}}}}");
    assert_int_equal(site_count_asked("qdel"), 4);
    site_assert_asked("qdel", "[7[0-2].server]\n");
    site_assert_asked("qdel", "[7[4].server]\n");
    site_assert_asked("qdel", "[8[0-1].server]\n");
    site_assert_asked("qdel", "[9.server]\n");
}

static void a_qdel_of_torque_names_them_all(void **state)
{
    cancel_all("Version: 6.1.3",
               "<Data><Job><Job_Id>7[0].server</Job_Id><job_state>Q</job_state><Variable_List>STRETTO_RUNNER=st-0-0+</Variable_List></Job>"
               "<Job><Job_Id>7[2].server</Job_Id><job_state>Q</job_state><Variable_List>STRETTO_RUNNER=st-0-0+</Variable_List></Job>"
               "<Job><Job_Id>9.server</Job_Id><job_state>Q</job_state><Variable_List>STRETTO_RUNNER=st-0-7</Variable_List></Job></Data>");
    assert_int_equal(site_count_asked("qdel"), 1);
    site_assert_asked("qdel", "[7[0].server]");
    site_assert_asked("qdel", "[7[2].server]");
    site_assert_asked("qdel", "[9.server]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_time_is_what_the_jobs_partition_allows),
        CASE(what_a_spec_adds_counts_more_than_what_the_site_adds),
        CASE(accounts_are_asked_for_in_local_time),
        CASE(only_jobs_of_one_shape_are_an_array),
        CASE(time_for_the_grace_is_asked_for_where_it_is_allowed),
        CASE(tasks_are_spread_over_all_nodes),
        CASE(a_job_that_waits_is_taken_out),
        CASE(one_that_was_put_back_is_taken_out),
        CASE(one_that_has_begun_is_not_held_any_more),
        CASE(one_that_is_over_is_left_alone),
        CASE(a_withdrawal_fails_with_its_commands),
        CASE(a_qdel_of_openpbs_names_one_job_or_one_range),
        CASE(a_qdel_of_torque_names_them_all),
        {"memory_of_openpbs_is_that_of_each_node", memory_is_that_of_all_nodes, site_open, site_close, NULL},
        {"memory_of_torque_is_that_of_all_nodes", memory_is_that_of_all_nodes, site_open, site_close, "torque"},
    };

    return SITE_RUN(tests);
}
