/* The parts of batch adapters that are not about jobs in the queue: what they need, the settings that they refuse,
 * their end, and jobs that have left nothing but files. */
#include "common/files.h"
#include "scheduler-adapters/slurm.h"
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void list(const char *rows)
{
    site_put("listed", rows, 0600);
}

static void begin(const char *name)
{
    if (strcmp(name, "slurm") == 0)
        site_slurm_commands();
    else
        site_pbs_commands("pbs_version = 23.06.06");
    site_begin(adapter_named(name));
}

static void refused(const char *name, const char *key, json_t *value, const char *pointer)
{
    const struct adapter_ops *ops = adapter_named(name);
    json_t *config = json_pack("{s:o}", key, value);
    struct adapter_host host = {.loop = &site.loop, .runner = "/bin/sh", .config = config};
    struct error err = {0};

    if (strcmp(name, "slurmrestd") == 0 && strcmp(key, "url") != 0)
        json_object_set_new(config, "url", json_string("http://localhost:6820"));
    if (ops->create(&host, &err) != NULL)
        fail_msg("%s accepts %s", name, key);
    assert_string_equal(err.pointer, pointer);
    json_decref(config);
}

static void settings_are_refused_at_their_place(void **state)
{
    refused("slurm", "poll", json_string("999ms"), "/poll");
    refused("slurm", "timeout", json_string("0s"), "/timeout");
    refused("slurm", "gather", json_string("soon"), "/gather");
    refused("slurm", "extra", json_string("--qos=debug"), "/extra");
    refused("slurm", "environment", json_pack("[i]", 1), "/environment/0");
    refused("slurm", "environment", json_pack("[s, s]", "LANG", "SBATCH_CLUSTERS"), "/environment");
    refused("slurm", "environment", json_pack("[s]", "SLURM_CLUSTERS"), "/environment");
    refused("slurm", "sacct", json_integer(1), "/sacct");
    refused("slurm", "conf", json_true(), "/conf");
    refused("slurmrestd", "url", json_string("nowhere"), "/url");
    refused("slurmrestd", "ca_file", json_integer(1), "/ca_file");
    refused("slurmrestd", "token_file", json_integer(1), "/token_file");
    refused("slurmrestd", "user", json_string("me\nX-SLURM-USER-NAME: root"), "/user");
    refused("slurmrestd", "extra", json_pack("[s]", "--nonsense=1"), "/extra/0");
    refused("slurmrestd", "poll", json_string("999ms"), "/poll");
    refused("alps", "nids", json_string("3-x"), "/nids");
    refused("alps", "cpus", json_integer(0), "/cpus");
    refused("alps", "most", json_integer(1001), "/most");
    refused("alps", "end", json_integer(-1), "/end");
    refused("alps", "pause", json_string("0s"), "/pause");
    refused("alps", "poll", json_string("999ms"), "/poll");
    refused("alps", "extra", json_pack("[s,s]", "-L", "3"), "/extra/0");
    refused("alps", "environment", json_pack("[i]", 1), "/environment/0");
    refused("alps", "aprun", json_integer(1), "/aprun");
    refused("alps", "apkill", json_integer(1), "/apkill");
    refused("pbs", "poll", json_string("999ms"), "/poll");
    refused("pbs", "qsub", json_integer(1), "/qsub");
}

/* Options that would send a job elsewhere, give it another name, or change what is printed, however they are written. */
static void slurm_options_are_refused_at_their_place(void **state)
{
    static const struct site_options cases[] = {
        {"--clusters=b", 0}, {"--clusters b", 0}, {"--clu=b", 0}, {"--cluster=b", 0}, {"-Mb", 0}, {"-M b", 0}, {"-HMb", 0},
        {"-vvM b", 0}, {"--qos=debug -Mb", 1}, {"-q debug --cl=b", 2}, {"--cluster-constraint=x", 0}, {"--job-name=x", 0}, {"-J x", 0},
        {"-Jx", 0}, {"--output=x", 0}, {"--outp x", 0}, {"-ox", 0}, {"--error=x", 0}, {"-e x", 0}, {"--input=x", 0}, {"--open-mode=truncate", 0},
        {"--array=0-3", 0}, {"-a0-3", 0}, {"--chdir=/", 0}, {"-D /", 0}, {"--wrap=x", 0}, {"--test-only", 0}, {"--test", 0}, {"--parsable", 0},
        {"-Q", 0}, {"--quiet", 0}, {"--help", 0}, {"--usage", 0}, {"-V", 0}, {"--wait", 0}, {"-W", 0}, {"-HW", 0}, {"--uid=0", 0}, {"--gid=0", 0},
        {"--export=NONE", 0}, {"--export-file=3", 0}, {"--get-user-env", 0}, {"--signal=B:USR1@60", 0}, {"--requeue", 0}, {"--no-requeue", 0},
        {"--time=10", 0}, {"-t 10", 0}, {"-t10", 0}, {"--", 0}, {"-", 0}, {":", 0}, {"--hold : -N1", 1},
        {"--qos=debug", -1}, {"-q debug", -1}, {"-pM", -1}, {"-p M", -1}, {"-HpM", -1}, {"--hold", -1}, {"--dependency=afterok:1", -1}, {"--begin=now", -1},
        {"--constraint=haswell -L matlab", -1}, {"--comment hello", -1}, {"--nice 5", -1}, {"--wait-all-nodes=1", -1}, {"--exclusive", -1}, {"--mem=1G", -1},
    };

    site_slurm_commands();
    site_check_options(adapter_named("slurm"), json_object(), cases, sizeof cases / sizeof *cases);
}

static void slurmrestd_options_are_refused_at_their_place(void **state)
{
    static const struct site_options cases[] = {
        {"--clusters=b", 0}, {"--qos=debug -Mb", 1}, {"--job-name=x", 0}, {"--wait", 0}, {"--time=10", 0}, {"--qos=debug", -1}, {"--nice 5", -1}};

    site_check_options(adapter_named("slurmrestd"), json_pack("{s:s}", "url", "http://localhost:6820"), cases, sizeof cases / sizeof *cases);
}

static void pbs_options_are_refused_at_their_place(void **state)
{
    static const struct site_options cases[] = {
        {"-N x", 0}, {"-Nx", 0}, {"-o x", 0}, {"-e x", 0}, {"-j oe", 0}, {"-k n", 0}, {"-J 0-3", 0}, {"-t 0-3", 0}, {"-I", 0}, {"-hI", 0}, {"-X", 0},
        {"-z", 0}, {"-hz", 0}, {"-S /bin/bash", 0}, {"-W block=true", 0}, {"-Wblock=true", 0}, {"-W depend=afterok:1,block=true", 0},
        {"-v A=1", 0}, {"-r y", 0}, {"-C X", 0}, {"-F x", 0}, {"-q fast@other", 0}, {"-q @other", 0}, {"-qfast@other", 0}, {"-u root", 0},
        {"-l walltime=1:00", 0}, {"-lselect=1,walltime=1:00", 0}, {"run.sh", 0}, {"-h run.sh", 1}, {"-l select=1 run.sh", 2}, {"--", 0}, {"--version", 0},
        {"-l place=excl", -1}, {"-lplace=excl", -1}, {"-q fast", -1}, {"-A abc -h", -1}, {"-W depend=afterok:1", -1}, {"-P project", -1}, {"-m abe -M me@here", -1}};
    struct adapter_resources want = site_plain;
    struct error err;

    site_pbs_commands("pbs_version = 23.06.06");
    site_check_options(adapter_named("pbs"), json_object(), cases, sizeof cases / sizeof *cases);
    want.queue = "fast@other";
    assert_int_equal(site.ops->check(site.a, &want, &err), -1);
    assert_string_equal(err.pointer, "/queue");
}

static void alps_options_are_refused_at_their_place(void **state)
{
    static const struct site_options cases[] = {
        {"-n 4", 0}, {"-n4", 0}, {"-N 2", 0}, {"-L 3", 0}, {"-L3", 0}, {"-l nodes", 0}, {"-B", 0}, {"-q", 0}, {"-bq", 0}, {"--pes=4", 0}, {"--quiet", 0},
        {"--node-list=3", 0}, {"--node-list-file=x", 0}, {"run.sh", 0}, {"-b run.sh", 1}, {":", 0}, {"--", 0}, {"-cc none -n4", 2},
        {"-j 1 -e OMP_NUM_THREADS=1", -1}, {"-cc none", -1}, {"-cc 0-1 -m 1g", -1}, {"-d 2", -1}, {"-ss", -1}, {"-sn 1 -sl 0", -1}, {"-b", -1}};

    site_check_options(adapter_named("alps"), json_pack("{s:s}", "nids", "3-4"), cases, sizeof cases / sizeof *cases);
}

/* Without the setting it is there, and is not used. */
static void slurmrestd_needs_to_know_where_it_is(void **state)
{
    struct adapter_resources want = site_plain;
    struct error err = {0};

    site_begin(adapter_named("slurmrestd"));
    assert_int_equal(site.ops->ready(site.a, &err), -1);
    assert_string_equal(err.code, "url_missing");
    assert_int_equal(site.ops->check(site.a, &want, &err), -1);
    assert_string_equal(err.code, "resources_impossible");
    site_end();
    json_object_set_new(site.config, "url", json_string("unix:/nowhere/socket"));
    site_begin(site.ops);
    assert_int_equal(site.ops->ready(site.a, &err), 0);
    assert_int_equal(site.ops->check(site.a, &want, &err), 0);
    want.extra = json_pack("[s, s]", "--qos=debug", "--nonsense=1");
    assert_int_equal(site.ops->check(site.a, &want, &err), -1);
    assert_string_equal(err.pointer, "/extra/1");
    json_decref((json_t *)want.extra);
}

/* Only a token that travels through a network in the clear is worth a warning. */
static void a_token_in_the_clear_is_warned_of(void **state)
{
    static const struct {
        const char *url;
        bool token, warned;
    } cases[] = {{"http://far.example:6820", true, true}, {"http://far.example:6820", false, false}, {"https://far.example:6820", true, false},
                 {"http://localhost:6820", true, false},  {"http://127.0.0.1:6820", true, false},    {"unix:/nowhere/socket", true, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_object_set_new(site.config, "url", json_string(cases[i].url));
        json_object_del(site.config, "token_file");
        if (cases[i].token)
            json_object_set_new(site.config, "token_file", json_string("~/token"));
        site.said[0] = '\0';
        site_begin(adapter_named("slurmrestd"));
        if ((strstr(site.said, "unencrypted") != NULL) != cases[i].warned)
            fail_msg("%s: %s", cases[i].url, site.said);
        site_end();
    }
}

static void without_its_runner_no_job_is_accepted(void **state)
{
    struct told told;

    site.runner = "/nowhere/stretto-run";
    begin("slurm");
    site_submit(site_job(&site_plain), 1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_REFUSED);
    assert_string_equal(told.code, "job_refused");
    assert_non_null(strstr(told.text, "/nowhere/stretto-run"));
    assert_int_equal(site_count_asked("sbatch"), 0);
}

static void copies_are_on_one_node_under_pbs(void **state)
{
    struct adapter_resources want = site_plain;
    struct error err = {0};

    begin("pbs");
    want.nodes = 2;
    assert_int_equal(site.ops->check(site.a, &want, &err), 0);
    want.launcher = "mpiexec";
    assert_int_equal(site.ops->check(site.a, &want, &err), 0);
    want.launcher = "copies";
    assert_int_equal(site.ops->check(site.a, &want, &err), -1);
    assert_string_equal(err.code, "resources_impossible");
    assert_string_equal(err.pointer, "/launcher");
    want.nodes = 1;
    assert_int_equal(site.ops->check(site.a, &want, &err), 0);
    site_end();
    begin("slurm"); /* starts them on all nodes by srun */
    want.nodes = 2;
    assert_int_equal(site.ops->check(site.a, &want, &err), 0);
}

static void make_dir(const char *name)
{
    char path[160];
    struct error err;

    snprintf(path, sizeof path, "%s/%s", site.dir, name);
    assert_int_equal(dir_make(path, &err), 0);
}

/* A job that is searched for may have been submitted, though no answer came. One that is only asked about has not. */
static void a_job_whose_answer_was_lost_is_found_by_its_files(void **state)
{
    const struct site_known jobs[] = {{1, NULL, 0}, {2, NULL, 0}, {3, NULL, 1}, {4, "7", 0}};
    struct told told;

    begin("slurm");
    list("");
    for (int i = 1; i <= 4; i++) {
        char name[40];

        if (i == 2)
            continue;
        snprintf(name, sizeof name, "st-0-%d", i);
        make_dir(name);
        snprintf(name, sizeof name, "st-0-%d/ended.json", i);
        site_put(name, "{}", 0600);
    }
    site_poll(jobs, 4, &told);
    site_until(&told, 1);
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(told.statuses[1].state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(told.statuses[2].state, ADAPTER_JOB_ENDED);
    assert_int_equal(told.statuses[3].state, ADAPTER_JOB_ENDED);
    site_find(jobs, 4, &told);
    site_until(&told, 1);
    assert_int_equal(told.n, 4);
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_ENDED);
    assert_int_equal(told.statuses[1].state, ADAPTER_JOB_UNKNOWN);
}

#define LOGGED(id, name, state, more) "JobId=" id " UserId=me(0) GroupId=me(0) Name=" name " JobState=" state " Partition=p TimeLimit=1 " \
    "StartTime=2026-01-31T11:00:00 EndTime=2026-01-31T12:00:00 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/w SubmitTime=2026-01-31T10:00:00 " more "\n"

/* A site without accounts may have a log of ended jobs. If it has no log either, nothing is asked. */
static void ended_jobs_are_read_from_the_log_of_a_site_without_accounts(void **state)
{
    const struct site_known jobs[] = {{1, "7", 1}, {2, "8", 1}, {12, "9_2", 1}};
    char script[400];
    struct told told;

    setenv("TZ", "UTC", 1);
    site_slurm_commands();
    snprintf(script, sizeof script,
             "printf '%%s\\n' 'AccountingStorageType = accounting_storage/none' 'JobCompLoc = %s/log' 'JobCompType = jobcomp/filetxt'", site.dir);
    site_command("scontrol", script);
    site_put("log", LOGGED("7", "st-0-1", "FAILED", "") LOGGED("8", "st-0-2", "RUNNING", "") LOGGED("11", "st-0-10+", "NODE_FAIL",
             "ArrayJobId=9 ArrayTaskId=2 "), 0600);
    site_begin(adapter_named("slurm"));
    list("");
    site_poll(jobs, 3, &told);
    site_until(&told, 1);
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_ENDED);
    assert_string_equal(told.statuses[0].reason, "Slurm: FAILED");
    assert_string_equal(told.statuses[0].host, "n1");
    assert_true(told.statuses[0].started_ms == INT64_C(1769857200000));
    assert_int_equal(told.statuses[1].state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(told.statuses[2].state, ADAPTER_JOB_ENDED);
    assert_true(told.statuses[2].node_lost && !told.statuses[0].node_lost);
    site_remove("log");
    for (int i = 0; i < 2; i++) {
        site_poll(jobs, 3, &told);
        site_until(&told, 1);
        assert_int_equal(told.answer, ADAPTER_OK);
        assert_int_equal(told.statuses[0].state, ADAPTER_JOB_UNKNOWN);
    }
    assert_non_null(strstr(site.said, "/log: "));
    assert_null(strstr(strstr(site.said, "/log: ") + 1, "/log: ")); /* it is said once */
    assert_int_equal(site_count_asked("sacct"), 0);
    site_end();
    site.said[0] = '\0'; /* there is no log from the start */
    site_begin(site.ops);
    site_poll(jobs, 3, &told);
    site_until(&told, 1);
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_UNKNOWN);
    assert_string_equal(site.said, "");
    assert_int_equal(site_count_asked("sacct"), 0);
    unsetenv("TZ");
}

/* A setting is a line of its own, whatever else there is. */
static void the_settings_of_slurm_are_read(void **state)
{
    static const struct {
        const char *config;
        size_t array_max;
        enum slurm_record record;
    } cases[] = {
        {"Configuration data as of 2026-11-27T01:00:00\nAccountingStorageHost = db\nAccountingStorageType   = accounting_storage/slurmdbd\n"
         "MaxArraySize            = 1001\nMaxJobCount             = 7\n", 1000, SLURM_RECORD_SACCT},
        {"MaxArraySize = 3\nAccountingStorageType = accounting_storage/none\nJobCompType = jobcomp/none\nJobCompLoc = @/log\n", 2,
         SLURM_RECORD_NONE},
        {"JobCompLoc = @/log\nJobCompType = jobcomp/filetxt\nMaxArraySize = 2\n", 1, SLURM_RECORD_FILE},
        {"JobCompLoc = log\nJobCompType = jobcomp/filetxt\nMaxArraySize = 1\n", 1, SLURM_RECORD_NONE},
        {"JobCompLoc = @/none\nJobCompType = jobcomp/filetxt\nMaxArraySize = 0\n", 1, SLURM_RECORD_NONE},
        {"JobCompLoc = @/log\nJobCompType = jobcomp/elasticsearch\n", 1, SLURM_RECORD_NONE},
        {"", 1, SLURM_RECORD_NONE},
    };
    const struct slurm *slurm;
    char path[160];

    site_put("log", "", 0600);
    site_slurm_commands();
    site_command("scontrol", "sed \"s|@|$PWD|\" config");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        site_put("config", cases[i].config, 0600);
        site_begin(adapter_named("slurm"));
        slurm = (const struct slurm *)site.a;
        site_submit_ok(site_job(&site_plain), (int)i + 1);
        assert_int_equal(slurm->batch.gathering.array_max, cases[i].array_max);
        assert_int_equal(slurm->record, cases[i].record);
        snprintf(path, sizeof path, "%s/log", site.dir);
        if (cases[i].record == SLURM_RECORD_FILE)
            assert_string_equal(slurm->record_file, path);
        site_end();
    }
    site_assert_asked("scontrol", "[show][config]\n");
    assert_int_equal(site_count_asked("scontrol"), sizeof cases / sizeof *cases);
}

/* Slurm that does not answer is not taken for a site that keeps no record of ended jobs. */
static void a_site_that_does_not_tell_is_asked_again(void **state)
{
    begin("slurm");
    list("");
    site_command("scontrol", "echo 'Unable to contact slurm controller' >&2; exit 1");
    site_command("sacct", "echo 'st-0-1|7|FAILED|100|120|n1|n1|None'");
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN);
    assert_non_null(strstr(site.said, "Unable to contact slurm controller"));
    assert_int_equal(site_count_asked("sacct"), 0);
    site_slurm_commands();
    site_command("sacct", "echo 'st-0-1|7|FAILED|100|120|n1|n1|None'");
    site_submit_ok(site_job(&site_plain), 9); /* asks what the site has */
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN); /* it is spared for a minute */
    assert_int_equal(site_count_asked("sacct"), 0);
}

static void assert_unsure(const struct told *told)
{
    assert_int_equal(told->answers, 1);
    assert_int_equal(told->answer, ADAPTER_UNSURE);
    assert_string_equal(told->code, "batch_system_unsure");
}

/* Whatever is under way is answered, once; and of what has not begun nothing begins. */
static void its_end_answers_all_calls(void **state)
{
    const struct site_known job = {1, "7", 1};
    const char *name = *state;
    struct told polled[2], cancelled, sent, submitted, withdrawn;

    begin(name);
    list(strcmp(name, "slurm") == 0 ? "st-0-1|7|RUNNING|100|120|n1|n1|None\n" : "{}");
    site_submit(site_job(&site_plain), 2, &submitted);
    for (int i = 0; i < 2; i++)
        site_poll(&job, 1, &polled[i]);
    site_cancel(1, 0, &cancelled);
    site_signal(1, SIGUSR1, &sent);
    site_withdraw(1, "7", &withdrawn);
    site_end();
    for (int i = 0; i < 2; i++)
        assert_unsure(&polled[i]);
    assert_unsure(&submitted);
    assert_unsure(&cancelled);
    assert_unsure(&sent);
    assert_unsure(&withdrawn);
    assert_int_equal(site.pokes, 0);
    assert_int_equal(site_count_asked("scancel") + site_count_asked("sbatch") + site_count_asked("qsub") + site_count_asked("qdel"), 0);
}

static bool is_gone;

static void gone(void *arg)
{
    is_gone = true;
}

static void destroy_at_the_second(void)
{
    static unsigned n;

    if (++n == 2)
        site.ops->destroy(site.a, gone, NULL);
}

/* It ends between two commands of a call. */
static void an_end_between_commands_answers_all_calls(void **state)
{
    const struct site_known jobs[] = {{1, "7", 1}, {2, "8", 1}};
    struct told polled[2], cancelled;

    begin("slurm");
    is_gone = false;
    site.at_duplicate = destroy_at_the_second;
    list("st-0-1|7|RUNNING|100|120|n1|n1|None\nst-0-9|9|PENDING|100|N/A|n/a||None\n");
    for (int i = 0; i < 2; i++)
        site_poll(jobs, 2, &polled[i]);
    site_cancel(1, 0, &cancelled); /* shares the second listing */
    TEST_UNTIL(is_gone, uv_run(&site.loop, UV_RUN_ONCE));
    site.a = NULL;
    assert_unsure(&polled[1]);
    assert_unsure(&cancelled);
    assert_int_equal(site_count_asked("scancel"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(settings_are_refused_at_their_place),
        CASE(slurm_options_are_refused_at_their_place),
        CASE(slurmrestd_options_are_refused_at_their_place),
        CASE(pbs_options_are_refused_at_their_place),
        CASE(alps_options_are_refused_at_their_place),
        CASE(slurmrestd_needs_to_know_where_it_is),
        CASE(a_token_in_the_clear_is_warned_of),
        CASE(without_its_runner_no_job_is_accepted),
        CASE(copies_are_on_one_node_under_pbs),
        CASE(a_job_whose_answer_was_lost_is_found_by_its_files),
        CASE(ended_jobs_are_read_from_the_log_of_a_site_without_accounts),
        CASE(a_site_that_does_not_tell_is_asked_again),
        CASE(the_settings_of_slurm_are_read),
        {"its_end_answers_all_calls_of_slurm", its_end_answers_all_calls, site_open, site_close, "slurm"},
        {"its_end_answers_all_calls_of_pbs", its_end_answers_all_calls, site_open, site_close, "pbs"},
        CASE(an_end_between_commands_answers_all_calls),
    };

    return SITE_RUN(tests);
}
