/* What OAR is asked for, and what is made of its answers: its commands are scripts here. With the plugin's own
 * sources. */
#include "scheduler-adapters/oar/oar.h"
#include "tests/unit/batch_site.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct adapter_ops stretto_adapter;

/* oarstat prints the jobs in the files "job-*", of each "ID NAME STATE MORE", and the newest of all, which is
 * another's. */
static void begin(void)
{
    site_command("oarsub", "n=$(cat ids 2>/dev/null || echo 6); many=1; for w in \"$@\"; do case $w in --array=*) many=${w#--array=};; esac; done;"
                           " while [ $many -gt 0 ]; do n=$((n + 1)); many=$((many - 1)); echo \"OAR_JOB_ID=$n\"; done; echo $n >ids");
    site_command("oarstat", "me=$(id -un)\nprintf '{\"999\": {\"name\": \"x\", \"owner\": \"nobody\", \"state\": \"Waiting\"}'\n"
                            "for f in job-*; do [ -e $f ] || continue; read -r id name state more <$f\n"
                            "printf ', \"%s\": {\"name\": \"%s\", \"owner\": \"%s\", \"state\": \"%s\"%s}' $id $name $me $state \"$more\"; done; echo '}'");
    site_command("oardel", "");
    site_command("oarhold", "");
    site_begin(&stretto_adapter);
}

static struct told submit(struct adapter_job job, int number)
{
    static struct told told;

    site_submit(job, number, &told);
    site_until(&told, 1);
    return told;
}

/* The grace of five minutes and a little more comes after the walltime of 58; where that is too much, the walltime
 * alone is asked for. */
static void resources_are_said_in_its_words(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    json_object_set_new(site.config, "memory", json_string("memnode"));
    json_object_set_new(site.config, "core", json_string("cpu"));
    begin();
    job.resources.nodes = 2;
    job.resources.tasks = 8;
    job.resources.cpus_per_task = 2;
    job.resources.gpus = 4;
    job.resources.memory = INT64_C(3) << 30;
    job.resources.queue = "fast";
    job.resources.account = "abc";
    assert_string_equal(submit(job, 1).id, "7");
    site_assert_asked("oarsub", "[-l][{memnode >= 1536}/nodes=2/gpu=2/cpu=4,walltime=1:03:30]");
    site_assert_asked("oarsub", "[-q][fast][--project=abc]");
    site_assert_asked("oarsub", "[-n][st-0-1]");
    site_assert_not_asked("oarsub", "--checkpoint");
    site_forget("oarsub");
    job.resources = site_plain;
    job.resources.whole_nodes = true;
    job.resources.walltime_ms = 0;
    submit(job, 2);
    site_assert_asked("oarsub", "[-l][/nodes=1]");
}

static void oarsub_is_told_all_of_a_job(void **state)
{
    static const char *const seen[] = {"LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "MODULEPATH", "LOADEDMODULES"};
    struct adapter_job job = site_job(&site_plain);
    struct told told[2];

    json_object_set_new(site.config, "extra", json_pack("[s, s]", "-t", "site"));
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        unsetenv(seen[i]);
    setenv("PATH", "/usr/bin:/bin", 1);
    begin();
    job.resources.gpus = 2;
    job.resources.tasks = 3; /* CPUs that no GPU divides are rounded up */
    job.resources.extra = json_pack("[s, s]", "-t", "spec");
    submit(job, 1);
    site_assert_lines("oarsub", "[-t][site][-t][spec][-l][/nodes=1/gpu=2/core=2,walltime=1:03:30][-d][@/st-0-1][-O][@/st-0-1/oar.log]"
                                "[-E][@/st-0-1/oar.log][-n][st-0-1][exec /bin/sh -c 'trap \"\" USR1 USR2; export PATH='\\''/usr/bin:/bin'\\'';"
                                "export STRETTO_JOB_END=$(($(date +%s) + OAR_JOB_WALLTIME_SECONDS)); d='\\''@/st-0-1'\\''; exec '\\''/bin/sh'\\'' "
                                "\"$d\" >>\"$d\"/runner.log 2>&1']\n");
    json_decref((json_t *)job.resources.extra);
    site_forget("oarsub");
    for (int i = 0; i < 2; i++)
        site_submit(site_job(&site_plain), 8 + i, &told[i]);
    for (int i = 0; i < 2; i++)
        site_until(&told[i], 1);
    site_assert_lines("oarsub", "[-t][site][-l][/nodes=1/core=1,walltime=1:03:30][--array=2][-d][/][-O][/dev/null][-E][/dev/null][-n][st-0-8+]"
                                "[exec /bin/sh -c 'trap \"\" USR1 USR2; export PATH='\\''/usr/bin:/bin'\\'';"
                                "export STRETTO_JOB_END=$(($(date +%s) + OAR_JOB_WALLTIME_SECONDS)); d='\\''@/st-0-'\\''$((7 + OAR_ARRAY_INDEX)); "
                                "exec '\\''/bin/sh'\\'' \"$d\" >>\"$d\"/runner.log 2>&1']\n");
}

static void what_the_spec_says_of_resources_gets_the_walltime(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    begin();
    job.resources.extra = json_pack("[s,s,s,s]", "-l", "/nodes=3", "-t", "exotic");
    submit(job, 1);
    site_assert_asked("oarsub", "[-l][/nodes=3,walltime=1:03:30][-t][exotic]");
    site_assert_not_asked("oarsub", "core");
    json_decref((json_t *)job.resources.extra);
    job.resources.extra = json_pack("[s,s]", "--resource=/nodes=3,walltime=2:00:00", "-lnodes=2");
    submit(job, 2);
    site_assert_asked("oarsub", "[--resource=/nodes=3,walltime=2:00:00][-lnodes=2,walltime=1:03:30]");
    json_decref((json_t *)job.resources.extra);
}

static void what_may_be_killed_for_others_is_warned(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    begin();
    job.resources.queue = "besteffort";
    submit(job, 1);
    site_assert_asked("oarsub", "[--checkpoint=305][--signal=15]"); /* seconds: the grace, and five */
    site_forget("oarsub");
    job.resources.queue = NULL;
    job.resources.extra = json_pack("[s,s]", "-t", "besteffort");
    submit(job, 2);
    site_assert_asked("oarsub", "[--checkpoint=305]");
    json_decref((json_t *)job.resources.extra);
}

static void options_are_refused_at_their_place(void **state)
{
    static const struct site_options cases[] = {
        {"-n x", 0}, {"-nx", 0}, {"--name=x", 0}, {"--NAME=x", 0}, {"-O x", 0}, {"--stdout x", 0}, {"-E x", 0}, {"--array=3", 0}, {"--arr 3", 0},
        {"--array-param-file=x", 0}, {"-d /", 0}, {"-I", 0}, {"-kI", 0}, {"-C 7", 0}, {"-S", 0}, {"-t noop", 0}, {"-tnoop", 0}, {"--type=noop=standby", 0},
        {"--checkpoint=60", 0}, {"--signal=10", 0}, {"--resubmit=7", 0}, {"-X", 0}, {"-J", 0}, {"--json", 0}, {"-V", 0}, {"run.sh", 0}, {"--hold run.sh", -1},
        {"-t besteffort run.sh", 2}, {"--", 0}, {"-t besteffort", -1}, {"-t besteffort -p cluster='grisou'", -1}, {"--resource /nodes=2", -1},
        {"--resource=/nodes=2,walltime=2:00:00 -lnodes=2", -1}, {"--project=abc", -1}, {"-q fast", -1}, {"--hold", -1}, {"--notify mail:me@here", -1}};

    begin();
    site_end();
    site_check_options(&stretto_adapter, json_object(), cases, sizeof cases / sizeof *cases);
}

static void refusals_are_told_apart(void **state)
{
    static const struct {
        const char *script;
        enum adapter_answer answer;
    } cases[] = {
        {"echo '# ADMISSION RULE> ERROR: [ADMISSION RULE] queue fast does not exist' >&2; exit 1", ADAPTER_REFUSED},
        {"echo 'There are not enough resources for your request' >&2; exit 1", ADAPTER_UNCLEAR},
        {"echo '[ADMISSION RULE] try again with less' >&2; exit 1", ADAPTER_UNCLEAR},
        {"echo '[ADMISSION RULE] too many jobs' >&2; exit 1", ADAPTER_LATER},
        {"echo 'maximum number of jobs is reached' >&2; exit 1", ADAPTER_LATER},
        {"echo 'quota exceeded' >&2; exit 1", ADAPTER_LATER},
        {"echo \"DBI connect('database=oar') failed\" >&2; exit 1", ADAPTER_UNSURE},
        {"echo 'Cannot connect to executor oarsh' >&2; exit 1", ADAPTER_UNSURE},
        {"echo 'DBD::Pg::st execute failed: deadlock detected' >&2; exit 1", ADAPTER_UNSURE},
        {"exit 1", ADAPTER_UNSURE},
        {"echo hello", ADAPTER_UNSURE},
        {"kill -TERM $$", ADAPTER_UNSURE},
        {"printf 'OAR_JOB_ID=7\\nOAR_JOB_ID=8\\n'", ADAPTER_UNSURE}, /* one more than was asked for */
        {"printf '[ADMISSION RULE] Modify resources\\nOAR_JOB_ID=7\\n'", ADAPTER_OK},
    };

    json_object_set_new(site.config, "gather", json_string("0s"));
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;

        site_command("oarsub", cases[i].script);
        told = submit(site_job(&site_plain), (int)i);
        if (told.answer != cases[i].answer)
            fail_msg("answer %d (%s) to %s", (int)told.answer, told.text, cases[i].script);
    }
}

static void a_walltime_that_is_too_long_with_the_grace_is_asked_for_alone(void **state)
{
    begin();
    site_command("oarsub", "case \"$*\" in *walltime=0:58:00*) echo OAR_JOB_ID=7;; *) echo 'Walltime too long for this queue' >&2; exit 1;; esac");
    assert_int_equal(submit(site_job(&site_plain), 1).answer, ADAPTER_OK);
    assert_int_equal(site_count_asked("oarsub"), 2);
}

static enum adapter_answer order(void (*give)(int, int64_t, struct told *), int number, struct told *told)
{
    give(number, 60000, told);
    site_until(told, 1);
    return told->answer;
}

/* OAR takes its orders down and exits: one is done when the job is in another state. */
static void what_runs_is_signalled_and_what_waits_deleted(void **state)
{
    struct told told;

    begin();
    site_put("job-1", "7 st-0-1 Running\n", 0600);
    site_command("oardel", "[ \"$1\" = -s ] || rm job-*");
    assert_int_equal(order(site_cancel, 1, &told), ADAPTER_OK);
    site_assert_asked("oardel", "[-s][TERM][7]\n");
    assert_int_equal(site_count_asked("oardel"), 1);
    site_signal(1, SIGUSR2, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    site_assert_asked("oardel", "[-s][USR2][7]\n");
    site_forget("oardel");
    site_put("job-1", "7 st-0-1 Waiting\n", 0600);
    assert_int_equal(order(site_cancel, 1, &told), ADAPTER_OK);
    site_assert_asked("oardel", "[7]\n");
    assert_int_equal(order(site_cancel, 1, &told), ADAPTER_OK); /* it is gone */
    assert_int_equal(site_count_asked("oardel"), 1);
}

/* A signal that comes before a job takes any is sent again. */
static void what_is_being_launched_is_signalled_once_it_runs(void **state)
{
    struct told told;

    begin();
    site_put("job-1", "7 st-0-1 Launching\n", 0600);
    site_command("oardel", "case $(cat job-1) in *Running*) exit 0;; esac; n=$(wc -l <oardel.asked); [ $n -lt 2 ] || echo '7 st-0-1 Running' >job-1;"
                           " echo 'Cannot signal 7 ; This job is not running.' >&2; exit 1");
    site_command("oarstat", "n=$(wc -l <oarstat.asked); [ $n -lt 4 ] || echo '7 st-0-1 Running' >job-1; read -r id name state <job-1\n"
                            "printf '{\"7\": {\"name\": \"st-0-1\", \"owner\": \"%s\", \"state\": \"%s\"}}\\n' $(id -un) $state");
    assert_int_equal(order(site_cancel, 1, &told), ADAPTER_OK);
    assert_true(site_count_asked("oardel") >= 2);
}

/* Of three that one command names the second cannot take the signal yet: it alone is sent again. */
static void those_that_took_a_signal_get_no_second_one(void **state)
{
    struct told told[3];

    begin();
    site_put("job-1", "7 st-0-1 Running\n", 0600);
    site_put("job-2", "8 st-0-2 Running\n", 0600);
    site_put("job-3", "9 st-0-3 Running\n", 0600);
    site_command("oardel", "[ $(wc -l <oardel.asked) -gt 1 ] || { echo 'Cannot signal 8 ; This job is not running.' >&2; exit 1; }");
    for (int i = 0; i < 3; i++)
        site_cancel(i + 1, 60000, &told[i]);
    for (int i = 0; i < 3; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_OK);
    }
    assert_int_equal(site_count_asked("oardel"), 2);
    site_assert_asked("oardel", "[-s][TERM][8]\n");
}

/* Of three that wait one is gone sooner; the order is done when the others are. */
static void an_order_is_done_when_the_last_job_is(void **state)
{
    struct told told[3];
    unsigned looked;

    begin();
    site_put("job-1", "7 st-0-1 Waiting\n", 0600);
    site_put("job-2", "8 st-0-2 Waiting\n", 0600);
    site_put("job-3", "9 st-0-3 Waiting\n", 0600);
    site_command("oardel", "rm job-2");
    for (int i = 0; i < 3; i++)
        site_cancel(i + 1, 60000, &told[i]);
    TEST_UNTIL(site_count_asked("oardel") > 0, uv_run(&site.loop, UV_RUN_ONCE));
    looked = site_count_asked("oarstat");
    TEST_UNTIL(site_count_asked("oarstat") >= looked + 3, uv_run(&site.loop, UV_RUN_ONCE));
    for (int i = 0; i < 3; i++)
        assert_int_equal(told[i].answers, 0);
    site_remove("job-1");
    site_remove("job-3");
    for (int i = 0; i < 3; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_OK);
    }
    assert_int_equal(site_count_asked("oardel"), 1);
}

static void an_order_that_is_not_carried_out_in_time_is_in_doubt(void **state)
{
    struct told told;

    json_object_set_new(site.config, "timeout", json_string("1s"));
    begin();
    site_put("job-1", "7 st-0-1 Waiting\n", 0600);
    assert_int_equal(order(site_cancel, 1, &told), ADAPTER_UNSURE);
    assert_non_null(strstr(told.text, "has not carried it out yet"));
    assert_int_equal(site_count_asked("oardel"), 1);
    site_command("oardel", "echo 'You are not the right user' >&2; exit 1");
    assert_int_equal(order(site_cancel, 1, &told), ADAPTER_UNSURE);
    assert_non_null(strstr(told.text, "right user"));
}

/* `then`: its state after it was held. */
static void withdraw(const char *then)
{
    struct told told;
    char script[200];

    snprintf(script, sizeof script, "echo '7 st-0-1 %s' >job-1", then);
    begin();
    site_put("job-1", "7 st-0-1 Waiting\n", 0600);
    site_command("oarhold", script);
    site_command("oardel", "rm job-1");
    site_withdraw(1, "7", &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    site_assert_asked("oarhold", "[7]\n");
}

static void what_is_too_many_is_held_and_taken_out(void **state)
{
    withdraw("Hold");
    site_assert_asked("oardel", "[7]\n");
}

static void what_has_begun_is_left_alone(void **state)
{
    withdraw("toLaunch");
    assert_int_equal(site_count_asked("oardel"), 0);
}

/* A job may still wait if a command that takes it out of the queue fails. */
static void a_withdrawal_fails_with_its_commands(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct told told;

        begin();
        site_put("job-1", "7 st-0-1 Waiting\n", 0600);
        site_command("oarhold",
                     i == 0 ? "echo 'You are not the right user' >&2; exit 1" : "echo '7 st-0-1 Hold' >job-1");
        site_command("oardel", "echo 'You are not the right user' >&2; exit 1");
        site_withdraw(1, "7", &told);
        site_until(&told, 1);
        assert_int_equal(told.answer, ADAPTER_UNSURE);
        assert_non_null(strstr(told.text, "right user"));
        assert_int_equal(site_count_asked("oardel"), i);
        site_end();
    }
}

/* The newest job of all is among those that are asked for, or no answer could be told from none. */
static void records_are_asked_for_by_ids(void **state)
{
    const struct site_known jobs[] = {{1, "7", 1}, {2, "8; DROP TABLE jobs", 1}, {3, "9", 1}};
    struct told told;

    begin();
    site_command("oarstat", "case \"$*\" in *job_id\\ IN*) printf '{\"7\": {\"name\": \"st-0-1\", \"owner\": \"%s\", \"state\": \"Error\", \"startTime\": 5,"
                            " \"events\": [{\"type\": \"WALLTIME\", \"description\": \"(Elapsed)\"}]}}\\n' $(id -un);;"
                            " *) echo '{\"999\": {\"name\": \"x\", \"owner\": \"nobody\", \"state\": \"Waiting\"}}';; esac");
    site_poll(jobs, 3, &told);
    site_until(&told, 1);
    site_assert_asked("oarstat", "job_id = (SELECT MAX(job_id) FROM jobs) OR job_id IN (0, 7, 9)][-f]");
    assert_string_equal(told.statuses[0].reason, "OAR: WALLTIME: (Elapsed)");
    assert_int_equal(told.statuses[1].state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(told.statuses[2].state, ADAPTER_JOB_UNKNOWN);
    site_command("oarstat", ""); /* its database does not answer */
    site_poll(jobs, 1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
}

static void names_that_are_none_are_refused(void **state)
{
    static const char *const keys[] = {"core", "gpu", "memory"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *config = json_pack("{s:s}", keys[i], "core; x");
        char pointer[20];
        struct error err;

        snprintf(pointer, sizeof pointer, "/%s", keys[i]);
        assert_null(stretto_adapter.create(&(struct adapter_host){.loop = &site.loop, .runner = "/bin/sh", .config = config}, &err));
        assert_string_equal(err.pointer, pointer);
        json_decref(config);
    }
}

static void orders_are_answered_when_the_daemon_ends(void **state)
{
    struct told told;

    begin();
    site_put("job-1", "7 st-0-1 Waiting\n", 0600);
    site_cancel(1, 0, &told);
    TEST_UNTIL(site_count_asked("oarstat") >= 3, uv_run(&site.loop, UV_RUN_ONCE)); /* it is looked at again and again */
    site_end();
    assert_int_equal(told.answers, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(resources_are_said_in_its_words),
        CASE(oarsub_is_told_all_of_a_job),
        CASE(what_the_spec_says_of_resources_gets_the_walltime),
        CASE(what_may_be_killed_for_others_is_warned),
        CASE(options_are_refused_at_their_place),
        CASE(refusals_are_told_apart),
        CASE(a_walltime_that_is_too_long_with_the_grace_is_asked_for_alone),
        CASE(what_runs_is_signalled_and_what_waits_deleted),
        CASE(what_is_being_launched_is_signalled_once_it_runs),
        CASE(those_that_took_a_signal_get_no_second_one),
        CASE(an_order_is_done_when_the_last_job_is),
        CASE(an_order_that_is_not_carried_out_in_time_is_in_doubt),
        CASE(what_is_too_many_is_held_and_taken_out),
        CASE(what_has_begun_is_left_alone),
        CASE(a_withdrawal_fails_with_its_commands),
        CASE(records_are_asked_for_by_ids),
        CASE(names_that_are_none_are_refused),
        CASE(orders_are_answered_when_the_daemon_ends),
    };

    return SITE_RUN(tests);
}
