/* The command lines of batch systems as a whole: each option that a job needs, none besides, and in the order in which
 * the later of two counts. The commands are scripts here, which write down their arguments. */
#include "scheduler-adapters/slurm.h"
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OPENPBS "pbs_version = 23.06.06"
#define TORQUE "Version: 6.1.3"

/* A job of two nodes. Its copies share it: what they need together is asked for. */
static struct adapter_job large(const json_t *extra)
{
    return (struct adapter_job){.grace_ms = 5 * MINUTE_MS,
                                .resources = {.nodes = 2, .tasks = 2, .cpus_per_task = 3, .copies = 2, .gpus = 3, .memory = INT64_C(3) << 30,
                                              .walltime_ms = 58 * MINUTE_MS, .queue = "long", .account = "abc", .extra = extra}};
}

/* Two jobs that are alike, and may take any time. */
static void submit_two(int number)
{
    struct adapter_job job = site_job(&site_plain);
    struct told told[2];

    job.resources.walltime_ms = 0;
    for (int i = 0; i < 2; i++)
        site_submit(job, number + i, &told[i]);
    for (int i = 0; i < 2; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_OK);
    }
}

static void begin_slurm(void)
{
    site_slurm_commands();
    site_begin(adapter_named("slurm"));
}

static void sbatch_is_told_all_of_a_job(void **state)
{
    json_t *extra = json_pack("[s]", "--qos=mine");
    struct adapter_job job = large(extra);

    json_object_set_new(site.config, "extra", json_pack("[s]", "--qos=site"));
    begin_slurm();
    site_submit_ok(job, 1);
    site_assert_lines("sbatch", "[--no-requeue][--time=64][--nodes=2][--ntasks=4][--ntasks-per-node=2][--cpus-per-task=3][--mem=3072M][--gres=gpu:3][--partition=long]"
                                "[--account=abc][--qos=site][--qos=mine][--parsable][--open-mode=append][--input=/dev/null][--job-name=st-0-1]"
                                "[--chdir=@/st-0-1][--output=@/st-0-1/runner.log][--error=@/st-0-1/runner.log]"
                                "[--wrap=trap '' USR1 USR2; export STRETTO_JOB_END=$(($(date +%s) + 3840)); exec '/bin/sh' '@/st-0-1']\n");
    site_forget("sbatch");
    job.resources = site_plain;
    job.resources.nodes = 3; /* more than it has tasks */
    job.resources.whole_nodes = true;
    job.resources.memory = 1;
    job.resources.gpus = 4;
    job.resources.walltime_ms = 0;
    site_submit_ok(job, 2);
    site_assert_lines("sbatch", "[--no-requeue][--nodes=3][--ntasks=3][--ntasks-per-node=1][--cpus-per-task=1][--mem=1M][--gres=gpu:2][--exclusive][--qos=site][--parsable]"
                                "[--open-mode=append][--input=/dev/null][--job-name=st-0-2][--chdir=@/st-0-2][--output=@/st-0-2/runner.log]"
                                "[--error=@/st-0-2/runner.log][--wrap=trap '' USR1 USR2; exec '/bin/sh' '@/st-0-2']\n");
    json_decref(extra);
}

static void sbatch_is_told_all_of_an_array(void **state)
{
    begin_slurm();
    submit_two(8);
    site_assert_lines("sbatch", "[--no-requeue][--nodes=1][--ntasks=1][--cpus-per-task=1][--parsable][--open-mode=append][--input=/dev/null]"
                                "[--job-name=st-0-8+][--array=0-1][--chdir=@/][--output=/dev/null][--error=/dev/null]"
                                "[--wrap=trap '' USR1 USR2; d='@/st-0-'$((8 + SLURM_ARRAY_TASK_ID)); cd \"$d\" && exec >>runner.log 2>&1;"
                                " exec '/bin/sh' \"$d\"]\n");
}

static void slurm_is_asked_for_what_is_needed(void **state)
{
    const struct site_known job = {1, "7", INT64_C(1700000000000)};
    struct told told;
    char lines[200];

    setenv("TZ", "UTC", 1);
    tzset();
    json_object_set_new(site.config, "conf", json_string("/etc/other.conf"));
    begin_slurm();
    site_command("squeue", "echo $SLURM_CONF $SLURM_TIME_FORMAT >squeue.env; cat listed 2>/dev/null; true");
    site_command("sbatch", "echo $SLURM_CONF $SLURM_TIME_FORMAT >sbatch.env; echo 7");
    site_submit_ok(site_job(&site_plain), 1);
    site_poll(&job, 1, &told);
    site_until(&told, 1);
    snprintf(lines, sizeof lines, "[-h][-a][-r][-t][all][-u][%u][-o][%%j|%%i|%%T|%%V|%%S|%%B|%%N|%%r]\n",
             (unsigned)geteuid());
    site_assert_lines("squeue", lines);
    site_assert_lines("sinfo", "[-h][-a][-o][%P|%l]\n");
    site_assert_lines("scontrol", "[show][config]\n");
    site_assert_lines("sacct", "[-n][-X][-D][-P][-S][2023-11-14T21:13:20][-j][7][-o][JobName,JobID,State,Submit,Start,NodeList,NodeList,Reason]\n");
    site_command("squeue", "[ \"$(cat squeue.env)\" = '/etc/other.conf %s' ] && [ \"$(cat sbatch.env)\" = /etc/other.conf ] || exit 1");
    site_status(1, "7");
    unsetenv("TZ");
    tzset();
}

/* A partition's limit in minutes and seconds, or hours, or days. */
static void limits_of_time_are_read(void **state)
{
    static const struct {
        const char *limit;
        int walltime, asked; /* minutes; the grace and a little more are six */
    } cases[] = {{"10:00", 5, 10}, {"10:59", 5, 10}, {"10:00", 4, 10}, {"10:00", 3, 9}, {"10:00", 10, 10}, {"10:00", 11, 11}, {"1:00:00", 58, 60},
                 {"1-00:00:00", 1439, 1440}, {"1-00:30:00", 1439, 1445}, {"infinite", 5000, 5006}, {"2-12:00:00", 3599, 3600}, {"x-1:00:00", 5000, 5006},
                 {"1-2:3", 5000, 5006}, {"100000-00:00:00", 5000, 5006}, {"-1:00:00", 5000, 5006}, {"UNLIMITED", 5000, 5006}, {"30", 5000, 5006}};

    site_slurm_commands();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adapter_job job = site_job(&site_plain);
        char script[80], words[40];

        snprintf(script, sizeof script, "echo 'main*|%s'", cases[i].limit);
        site_command("sinfo", script);
        site_begin(adapter_named("slurm")); /* anew, since limits are asked for now and then */
        job.resources.walltime_ms = cases[i].walltime * MINUTE_MS;
        site_submit_ok(job, 1);
        snprintf(words, sizeof words, "[--time=%d]", cases[i].asked);
        site_assert_asked("sbatch", words);
        site_forget("sbatch");
        site_end();
    }
}

/* The grace is taken from what is left to Slurm's accounts, which may take a minute to say that they do not answer. */
static void silent_accounts_are_spared(void **state)
{
    uint64_t began;

    begin_slurm();
    assert_int_equal(((struct adapter *)site.a)->limit_ms[SLURM_SACCT], SLURM_PAST_MS);
    assert_int_equal(((struct adapter *)site.a)->limit_ms[SLURM_SQUEUE], 30000);
    site_command("sacct", "echo 'sacct: error: Problem talking to the database' >&2; exit 1");
    uv_update_time(&site.loop);
    began = uv_now(&site.loop);
    for (int i = 0; i < 2; i++)
        assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN);
    uv_update_time(&site.loop);
    assert_in_range(site_count_asked("sacct"), 1, 1 + (uv_now(&site.loop) - began) / 60000); /* once a minute */
    assert_non_null(strstr(site.said, "cannot be looked up: sacct: error: Problem talking"));
}

static void begin_pbs(const char *version)
{
    site_pbs_commands(version);
    site_begin(adapter_named("pbs"));
}

static void qsub_is_told_all_of_a_job(void **state)
{
    bool is_torque = *state != NULL;
    json_t *extra = json_pack("[s, s]", "-p", "5");

    json_object_set_new(site.config, "extra", json_pack("[s, s]", "-p", "1"));
    begin_pbs(is_torque ? TORQUE : OPENPBS);
    site_submit_ok(large(extra), 1);
    site_assert_lines("qsub", is_torque ? "[-l][nodes=2:ppn=6:gpus=3][-l][mem=6144mb][-l][walltime=01:03:30][-q][long][-A][abc][-p][1][-p][5][-r][n]"
                                          "[-m][n][-j][oe][-o][@/st-0-1/pbs.log][-S][/bin/sh][-N][st-0-1][-v][STRETTO_RUNNER=st-0-1]\n"
                                        : "[-l][select=2:ncpus=6:mpiprocs=2:ompthreads=3:ngpus=3:mem=3072mb][-l][place=scatter][-l][walltime=01:03:30]"
                                          "[-q][long][-A][abc][-p][1][-p][5][-r][n][-m][n][-j][oe][-o][@/st-0-1/pbs.log][-S][/bin/sh][-N][st-0-1]"
                                          "[-v][STRETTO_RUNNER=st-0-1]\n");
    json_decref(extra);
}

static void qsub_is_told_all_of_an_array(void **state)
{
    bool is_torque = *state != NULL;

    begin_pbs(is_torque ? TORQUE : OPENPBS);
    if (is_torque)
        site_command("qsub", "echo '8[].server'");
    submit_two(8);
    site_assert_lines("qsub", is_torque ? "[-l][nodes=1:ppn=1][-r][n][-t][0-1][-m][n][-j][oe][-o][@/st-0-8/pbs.log][-S][/bin/sh][-N][st-0-8]"
                                          "[-v][STRETTO_RUNNER=st-0-8+]\n"
                                        : "[-l][select=1:ncpus=1:mpiprocs=1:ompthreads=1][-r][y][-J][0-1][-m][n][-j][oe][-o][/dev/null][-S][/bin/sh]"
                                          "[-N][st-0-8][-v][STRETTO_RUNNER=st-0-8+]\n");
}

/* An option of the spec or the site takes the place of the adapter's own. */
static void qsub_is_told_nothing_twice(void **state)
{
    bool is_torque = *state != NULL;
    struct adapter_job job = large(NULL);

    begin_pbs(is_torque ? TORQUE : OPENPBS);
    job.resources.extra = json_pack("[s, s]", "-l", is_torque ? "nodes=2:ppn=4" : "select=2:ncpus=4");
    site_submit_ok(job, 1);
    site_assert_asked("qsub", is_torque ? "[-l][walltime=01:03:30][-q][long][-A][abc][-l][nodes=2:ppn=4][-r]"
                                        : "[-l][walltime=01:03:30][-q][long][-A][abc][-l][select=2:ncpus=4][-r]");
    site_assert_not_asked("qsub", "ncpus=6");
    site_assert_not_asked("qsub", "ppn=6");
    json_decref((json_t *)job.resources.extra);
    site_forget("qsub");
    job.resources.extra = json_pack("[s, s]", "-l", "place=pack");
    site_submit_ok(job, 2);
    site_assert_not_asked("qsub", "scatter");
    json_decref((json_t *)job.resources.extra);
}

static void submitted(void *arg, enum adapter_answer answer, const char *id, const struct error *err)
{
    assert_int_equal(answer, ADAPTER_OK);
    *(bool *)arg = true;
}

/* Old versions take 15 letters; of a longer name those at the end tell jobs apart. A directory that looks like
 * HOST:PATH gets no file. */
static void names_that_pbs_cannot_have_are_made_to_fit(void **state)
{
    static const struct {
        const char *name, *dir, *words;
    } cases[] = {
        {"st-12-456789012", "/tmp/a", "[-o][/tmp/a/pbs.log][-S][/bin/sh][-N][st-12-456789012][-v][STRETTO_RUNNER=st-12-456789012]"},
        {"st-12-3456789012345", "/tmp/a", "[-N][st3456789012345][-v][STRETTO_RUNNER=st-12-3456789012345]"},
        {"st-12-1", "/tmp/a:b", "[-o][/dev/null]"},
    };

    begin_pbs(OPENPBS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adapter_job job = site_job(&site_plain);
        bool done = false;

        job.name = cases[i].name;
        job.dir = cases[i].dir;
        site.ops->submit(site.a, &job, submitted, &done);
        TEST_UNTIL(done, uv_run(&site.loop, UV_RUN_ONCE));
        site_assert_asked("qsub", cases[i].words);
    }
}

static void pbs_is_asked_for_what_is_needed(void **state)
{
    bool is_torque = *state != NULL;

    site_pbs_commands(is_torque ? TORQUE : OPENPBS);
    site_command("qstat", is_torque ? "case $1 in --version) echo '" TORQUE "' >&2;; *) echo '<Data></Data>';; esac"
                                    : "case $1 in --version) echo '" OPENPBS
                                      "';; -x) echo '{}'; echo 'qstat: Unknown Job Id 9.server' >&2; exit 153;;"
                                      " *) echo '{}';; esac");
    site_begin(adapter_named("pbs"));
    site_status(1, "7.server");
    site_status(1, "7.server");
    site_assert_lines("qstat",
                      is_torque ? "[--version]\n[-t][-f][-x]\n[-t][-f][-x]\n"
                                : "[--version]\n[-t][-f][-F][json]\n[-x][-t][-f][-F][json][7.server]\n[-t][-f][-F][json]\n"
                                  "[-x][-t][-f][-F][json][7.server]\n");
}

/* Of several jobs some may be known no more: the others are told all the same, with another status than 0. */
static void a_history_that_lacks_some_tells_the_others(void **state)
{
    site_pbs_commands(OPENPBS);
    site_command("qstat",
                 "case $1 in --version) echo '" OPENPBS
                 "';; -x) echo '{\"Jobs\": {\"7.server\": {\"job_state\": \"F\", \"Exit_status\": 3,"
                 " \"stime\": \"Sun Nov 22 04:58:35 2026\", \"Variable_List\": {\"STRETTO_RUNNER\": \"st-0-1\"}}}}';"
                 " echo 'qstat: Unknown Job Id 9.server' >&2; exit 153;; *) echo '{}';; esac");
    site_begin(adapter_named("pbs"));
    assert_string_equal(site_status(1, "7.server").reason, "PBS: FAILED (Exit_status 3)");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, site_open, site_close)
#define BOTH(test) \
    {#test "_by_openpbs", test, site_open, site_close, NULL}, {#test "_by_torque", test, site_open, site_close, "torque"}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sbatch_is_told_all_of_a_job),
        CASE(sbatch_is_told_all_of_an_array),
        CASE(slurm_is_asked_for_what_is_needed),
        CASE(limits_of_time_are_read),
        CASE(silent_accounts_are_spared),
        BOTH(qsub_is_told_all_of_a_job),
        BOTH(qsub_is_told_all_of_an_array),
        BOTH(qsub_is_told_nothing_twice),
        CASE(names_that_pbs_cannot_have_are_made_to_fit),
        BOTH(pbs_is_asked_for_what_is_needed),
        CASE(a_history_that_lacks_some_tells_the_others),
    };

    return SITE_RUN(tests);
}
