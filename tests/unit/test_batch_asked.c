/* What batch systems are asked for: their commands are scripts here, which write down their arguments. */
#include "common/files.h"
#include "scheduler-adapters/registry.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MINUTE_MS 60000

static char dir[64];
static uv_loop_t loop;
static const struct adapter_ops *ops;
static struct adapter *a;
static json_t *config;
static unsigned answers, wanted;

static void put(const char *name, const char *text, mode_t mode)
{
    char path[160];
    struct error err;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_write_whole(path, text, strlen(text), mode, &err), 0);
}

/* A command that writes down its arguments, each in brackets, a line a call, and then does what `script` says. */
static void command(const char *name, const char *script)
{
    char text[2000], path[160];

    snprintf(text, sizeof text, "#!/bin/sh\ncd %s || exit 1\n{ printf '[%%s]' \"$@\"; echo; } >>%s.asked\n%s\n", dir, name, script);
    put(name, text, 0700);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (json_object_get(config, name) == NULL) /* the adapter borrows it */
        json_object_set_new(config, name, json_string(path));
}

/* What the command was asked, a line a call; "" never. To be freed. */
static char *asked(const char *name)
{
    char path[160], *text;
    struct error err;
    size_t size;

    snprintf(path, sizeof path, "%s/%s.asked", dir, name);
    return file_read(path, 65536, &text, &size, &err) == 0 ? text : strdup("");
}

static void forget(const char *name)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s.asked", dir, name);
    unlink(path);
}

static unsigned count_asked(const char *name)
{
    char *text = asked(name);
    unsigned n = 0;

    for (const char *c = text; *c != '\0'; c++)
        n += *c == '\n';
    free(text);
    return n;
}

static void assert_asked(const char *name, const char *words)
{
    char *text = asked(name);

    if (strstr(text, words) == NULL)
        fail_msg("%s was not asked for %s, but:\n%s", name, words, text);
    free(text);
}

static void poke(void *arg)
{
}

static void surplus(void *arg, const char *name, const char *scheduler_id)
{
}

static void note(void *arg, enum adapter_log level, const char *job, const char *sentence)
{
}

static int open_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(uv_loop_init(&loop), 0);
    config = json_pack("{s:s}", "gather", "100ms");
    answers = wanted = 0;
    a = NULL;
    return 0;
}

static void begin(const char *name)
{
    struct error err = {0};

    ops = adapter_registry_find(name);
    a = ops->create(&(struct adapter_host){.loop = &loop, .runner = "/bin/sh", .config = config, .poke = poke, .surplus = surplus, .log = note},
                    &err);
    if (a == NULL)
        fail_msg("%s", err.text);
}

static void gone(void *arg)
{
}

static int close_all(void **state)
{
    char rm[100];

    if (a != NULL)
        ops->destroy(a, gone, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    json_decref(config);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void submitted(void *arg, enum adapter_answer answer, const char *scheduler_id, const struct error *err)
{
    if (answer != (arg != NULL ? *(const enum adapter_answer *)arg : ADAPTER_OK))
        fail_msg("answer %d: %s", (int)answer, err->text);
    answers++;
}

static void done(void *arg, enum adapter_answer answer, const struct error *err)
{
    if (answer != ADAPTER_OK)
        fail_msg("%s", err->text);
    answers++;
}

static void polled(void *arg, enum adapter_answer answer, const struct adapter_status *statuses, size_t n, const struct error *err)
{
    done(arg, answer, err);
}

static void until_answered(void)
{
    while (answers < wanted)
        uv_run(&loop, UV_RUN_ONCE);
}

static struct adapter_job job_of(const struct adapter_resources *resources)
{
    return (struct adapter_job){.resources = *resources, .grace_ms = 5 * MINUTE_MS};
}

static void submit(struct adapter_job job, int number)
{
    char name[64], path[160];

    snprintf(name, sizeof name, "st-0-%d", number);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    job.name = name;
    job.dir = path;
    wanted++;
    ops->submit(a, &job, submitted, NULL);
}

static const struct adapter_resources plain = {.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 1, .walltime_ms = 58 * MINUTE_MS};

static void begin_slurm(void)
{
    command("sbatch", "n=$(cat ids 2>/dev/null || echo 6); n=$((n + 1)); echo $n >ids; echo $n");
    command("squeue", "");
    command("scancel", "");
    command("scontrol", "echo 'AccountingStorageType = accounting_storage/slurmdbd'; echo 'MaxArraySize = 1001'");
    command("sinfo", "printf '%s\\n' 'short*|1:00:00' 'shorter|10:00' 'long|infinite'");
    command("sacct", "");
    begin("slurm");
}

/* The walltime is 58 minutes, which with the grace and a little more is 64; "short" allows 60. */
static void the_time_is_what_the_jobs_partition_allows(void **state)
{
    struct adapter_job job = job_of(&plain);

    begin_slurm();
    submit(job, 1); /* the default partition */
    until_answered();
    assert_asked("sbatch", "[--time=60]");
    forget("sbatch");
    job.resources.queue = "long";
    submit(job, 2);
    until_answered();
    assert_asked("sbatch", "[--time=64]");
    forget("sbatch");
    job.resources.queue = "shor"; /* there is none */
    submit(job, 3);
    until_answered();
    assert_asked("sbatch", "[--time=58]");
    forget("sbatch");
    job.resources.queue = "short";
    job.resources.extra = json_pack("[s,s]", "-p", "long,short"); /* which comes later, and counts */
    submit(job, 4);
    until_answered();
    assert_asked("sbatch", "[--time=64]");
    json_decref((json_t *)job.resources.extra);
}

static void what_a_spec_adds_counts_more_than_what_the_site_adds(void **state)
{
    struct adapter_job job = job_of(&plain);

    json_object_set_new(config, "extra", json_pack("[s]", "--partition=short"));
    begin_slurm();
    job.resources.queue = "long"; /* what the site adds comes after it */
    submit(job, 1);
    until_answered();
    assert_asked("sbatch", "[--time=60]");
    forget("sbatch");
    job.resources.extra = json_pack("[s]", "--partition=long");
    submit(job, 2);
    until_answered();
    assert_asked("sbatch", "[--time=64]");
    json_decref((json_t *)job.resources.extra);
}

/* sacct takes times for those of the place where it runs. */
static void accounts_are_asked_for_in_local_time(void **state)
{
    struct adapter_job job = job_of(&plain);

    setenv("TZ", "XYZ-5:30", 1);
    tzset();
    begin_slurm();
    job.name = "st-0-1";
    job.dir = dir;
    job.scheduler_id = "7";
    job.submitted_ms = INT64_C(1700000000000); /* 2023-11-14T22:13:20Z; an hour before it, since clocks differ */
    wanted++;
    ops->poll(a, &job, 1, polled, NULL);
    until_answered();
    assert_asked("sacct", "[-S][2023-11-15T02:43:20]");
    assert_asked("sacct", "[-j][7]");
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
    size_t n = sizeof others / sizeof *others;

    for (size_t i = 0; i < n; i++)
        others[i] = job_of(&usual);
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
        submit(job_of(&usual), 10 * (int)i + 1);
        submit(job_of(&usual), 10 * (int)i + 2);
        submit(others[i], 10 * (int)i + 3);
        until_answered();
        assert_asked("sbatch", "[--array=0-1]");
        assert_asked("sbatch", "[--ntasks=8]");
        if (count_asked("sbatch") != 2)
            fail_msg("the job that differs by %zu is in the array", i);
        forget("sbatch");
    }
    json_decref(extra);
}

/* Torque is told of a job's memory on all nodes together, OpenPBS of that on each. */
static void memory_is_that_of_all_nodes(void **state)
{
    struct adapter_job job = job_of(&plain);
    bool is_torque = *state != NULL;

    job.resources.nodes = 3;
    job.resources.memory = INT64_C(3) << 30;
    command("qstat", is_torque ? "echo 'Version: 6.1.3' >&2" : "echo 'pbs_version = 23.06.06'");
    command("qsub", "echo 7.server");
    begin("pbs");
    submit(job, 1);
    until_answered();
    if (is_torque) {
        assert_asked("qsub", "[-l][nodes=3:ppn=1]");
        assert_asked("qsub", "[-l][mem=3072mb]");
    } else {
        assert_asked("qsub", "[-l][select=3:ncpus=1:mpiprocs=1:ompthreads=1:mem=1024mb]");
    }
}

/* A waiting job that the daemon does not want is held, and looked at again: `then` is its state by that time. */
static void withdraw(const char *then)
{
    char script[400];

    command("qstat", "case $1 in --version) echo 'pbs_version = 23.06.06';; *) printf '{\"Jobs\":{\"7.server\":{\"job_state\":\"%s\","
                     "\"Variable_List\":{\"STRETTO_RUNNER\":\"st-0-1\"}}}}' \"$(cat is)\";; esac");
    snprintf(script, sizeof script, "echo %s >is", then);
    command("qhold", script);
    command("qdel", "");
    command("qrls", "");
    put("is", "Q\n", 0600);
    begin("pbs");
    wanted++;
    ops->withdraw(a, "st-0-1", "7.server", done, NULL);
    until_answered();
    assert_asked("qhold", "[7.server]");
}

static void a_job_that_waits_is_taken_out(void **state)
{
    withdraw("H");
    assert_asked("qdel", "[7.server]");
    assert_int_equal(count_asked("qrls"), 0);
}

/* Were it put back into the queue later, it would wait for ever. */
static void one_that_has_begun_is_not_held_any_more(void **state)
{
    withdraw("R");
    assert_asked("qrls", "[7.server]");
    assert_int_equal(count_asked("qdel"), 0);
}

static void one_that_is_over_is_left_alone(void **state)
{
    withdraw("F");
    assert_int_equal(count_asked("qrls") + count_asked("qdel"), 0);
}

/* What was certainly not accepted is submitted again without being looked up, and is over when it is cancelled; of what may have been it
 * is not known. */
static void refuse(const char *program, const char *words, enum adapter_answer answer)
{
    struct adapter_job job = job_of(&plain);
    static int number;
    char script[300], name[64], path[160];

    snprintf(script, sizeof script, "echo '%s' >&2; exit 1", words);
    command(program, script);
    snprintf(name, sizeof name, "st-0-%d", ++number);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    job.name = name;
    job.dir = path;
    wanted++;
    ops->submit(a, &job, submitted, &answer);
    until_answered();
}

static void slurm_refuses_for_good_or_for_now(void **state)
{
    begin_slurm();
    refuse("sbatch", "sbatch: error: Batch job submission failed: Invalid partition name specified", ADAPTER_REFUSED);
    refuse("sbatch", "sbatch: error: AssocMaxSubmitJobLimit", ADAPTER_LATER);
    refuse("sbatch", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", ADAPTER_UNSURE);
}

static void pbs_refuses_for_good_or_for_now(void **state)
{
    command("qstat", "echo 'pbs_version = 23.06.06'");
    command("qsub", "");
    begin("pbs");
    refuse("qsub", "qsub: Unknown queue", ADAPTER_REFUSED);
    refuse("qsub", "qsub: would exceed complex limit on resource per user", ADAPTER_LATER);
    refuse("qsub", "qsub: cannot connect to server testpbs (errno=15010)", ADAPTER_UNSURE);
}

/* Waiting jobs of two arrays and by themselves, all cancelled at once. Of the first array one in the middle is gone. */
static void cancel_all(const char *version, const char *listed)
{
    char script[300], name[64];

    snprintf(script, sizeof script, "case $1 in --version) echo '%s';; *) cat listed;; esac", version);
    command("qstat", script);
    command("qdel", "");
    put("listed", listed, 0600);
    begin("pbs");
    for (int i = 0; i < 8; i++) {
        struct adapter_job job = job_of(&plain);

        snprintf(name, sizeof name, "st-0-%d", i);
        job.name = name;
        job.dir = dir;
        wanted++;
        ops->cancel(a, &job, done, NULL);
    }
    until_answered();
}

/* Of several things, or ranges, that one qdel names, OpenPBS deletes the first, or comes down. */
static void a_qdel_of_openpbs_names_one_job_or_one_range(void **state)
{
    cancel_all("pbs_version = 23.06.06",
               "{\"Jobs\":{"
               "\"7[].server\":{\"job_state\":\"B\",\"array\":\"True\",\"array_indices_remaining\":\"0-2,4\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-0-0+\"}},"
               "\"8[].server\":{\"job_state\":\"Q\",\"array\":\"True\",\"array_indices_remaining\":\"0-1\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-0-5+\"}},"
               "\"9.server\":{\"job_state\":\"Q\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-0-7\"}}}}");
    assert_int_equal(count_asked("qdel"), 4);
    assert_asked("qdel", "[7[0-2].server]\n");
    assert_asked("qdel", "[7[4].server]\n");
    assert_asked("qdel", "[8[0-1].server]\n");
    assert_asked("qdel", "[9.server]\n");
}

static void a_qdel_of_torque_names_them_all(void **state)
{
    cancel_all("Version: 6.1.3",
               "<Data><Job><Job_Id>7[0].server</Job_Id><job_state>Q</job_state><Variable_List>STRETTO_RUNNER=st-0-0+</Variable_List></Job>"
               "<Job><Job_Id>7[2].server</Job_Id><job_state>Q</job_state><Variable_List>STRETTO_RUNNER=st-0-0+</Variable_List></Job>"
               "<Job><Job_Id>9.server</Job_Id><job_state>Q</job_state><Variable_List>STRETTO_RUNNER=st-0-7</Variable_List></Job></Data>");
    assert_int_equal(count_asked("qdel"), 1);
    assert_asked("qdel", "[7[0].server]");
    assert_asked("qdel", "[7[2].server]");
    assert_asked("qdel", "[9.server]");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, open_dir, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_time_is_what_the_jobs_partition_allows),
        CASE(what_a_spec_adds_counts_more_than_what_the_site_adds),
        CASE(accounts_are_asked_for_in_local_time),
        CASE(only_jobs_of_one_shape_are_an_array),
        CASE(a_job_that_waits_is_taken_out),
        CASE(one_that_has_begun_is_not_held_any_more),
        CASE(one_that_is_over_is_left_alone),
        CASE(slurm_refuses_for_good_or_for_now),
        CASE(pbs_refuses_for_good_or_for_now),
        CASE(a_qdel_of_openpbs_names_one_job_or_one_range),
        CASE(a_qdel_of_torque_names_them_all),
        {"memory_of_openpbs_is_that_of_each_node", memory_is_that_of_all_nodes, open_dir, close_all, NULL},
        {"memory_of_torque_is_that_of_all_nodes", memory_is_that_of_all_nodes, open_dir, close_all, "torque"},
    };

    alarm(100); /* what never comes is a failure, too */
    signal(SIGPIPE, SIG_IGN); /* as the daemon does: not every script reads what it is given */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
