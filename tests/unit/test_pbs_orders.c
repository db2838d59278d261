/* Orders to PBS one after another and in a hurry, which PBS it is, whose jobs are listed, and submissions that are
 * refused: its commands are scripts here. */
#include "scheduler-adapters/pbs.h"
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OPENPBS "pbs_version = 23.06.06"
#define VERSION_OR(version, otherwise) "case $1 in --version) echo '" version "';; " otherwise " esac"
#define JOB_WITH(id, name, state, more) "\"" id "\": {\"job_state\": \"" state "\", \"Variable_List\": {\"STRETTO_RUNNER\": \"" name "\"}" more "}"
#define JOB(id, name, state) JOB_WITH(id, name, state, "")

static void begin(const char *version)
{
    json_object_set_new(site.config, "gather", json_string("0s")); /* each by itself, and at once */
    site_pbs_commands(version);
    site_begin(adapter_named("pbs"));
}

static void list(const char *jobs)
{
    char text[4000];

    snprintf(text, sizeof text, "{\"Jobs\": {%s}}\n", jobs);
    site_put("listed", text, 0600);
}

static void cancel_all(int n, struct told *told)
{
    for (int i = 0; i < n; i++)
        site_cancel(i, 60000, &told[i]);
    for (int i = 0; i < n; i++)
        site_until(&told[i], 1);
}

/* An order of which one command fails is not done, whichever it is; the reason is the first. */
static void an_order_is_done_when_all_of_its_commands_are(void **state)
{
    static const char *const fails[] = {"7[0].server", "9[0].server"};
    struct told told[2];

    for (int i = 0; i < 2; i++) {
        char script[200];

        begin(OPENPBS);
        list(JOB_WITH("7[].server", "st-0-0+", "B", ", \"array_indices_remaining\": \"0\"") ", "
             JOB_WITH("9[].server", "st-0-1+", "B", ", \"array_indices_remaining\": \"0\""));
        snprintf(script, sizeof script, "case $1 in '%s') echo \"qdel: Unauthorized Request $1\" >&2; exit 1;; esac",
                 fails[i]);
        site_command("qdel", script);
        site_forget("qdel");
        cancel_all(2, told);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(told[k].answer, ADAPTER_UNSURE);
            assert_non_null(strstr(told[k].text, fails[i]));
        }
        assert_int_equal(site_count_asked("qdel"), 2);
        site_command("qdel", "echo \"qdel: Unauthorized Request $1\" >&2; exit 1");
        cancel_all(2, told);
        for (int k = 0; k < 2; k++)
            assert_non_null(strstr(told[k].text, "7[0].server"));
        site_end();
    }
}

/* Jobs are cancelled in any order. An array's jobs that follow one another are one range, and those of two arrays are
 * two. */
static void ranges_are_as_long_as_they_can_be(void **state)
{
    static const int order[] = {5, 0, 7, 3, 1, 4, 6, 2};
    struct told told[8];

    begin(OPENPBS);
    list(JOB_WITH("8[].server", "st-0-4+", "B", ", \"array_indices_remaining\": \"3,2,0-1\"") ", "
         JOB_WITH("7[].server", "st-0-0+", "B", ", \"array_indices_remaining\": \"3,1,0\""));
    for (int i = 0; i < 8; i++)
        site_cancel(order[i], 60000, &told[i]);
    for (int i = 0; i < 8; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_OK);
    }
    site_assert_lines("qdel", "[7[0-1].server]\n[7[3].server]\n[8[0-3].server]\n");
}

/* A qsig makes a connection for each thing that it names, so it names ranges; those that ended meanwhile do no harm. */
static void running_jobs_are_signalled_by_ranges(void **state)
{
    struct told told[4];

    begin(OPENPBS);
    list(JOB("7[0].server", "st-0-0", "R") ", " JOB("7[1].server", "st-0-1", "R") ", " JOB("9.server", "st-0-2", "R") ", "
         JOB("7[3].server", "st-0-3", "R"));
    cancel_all(4, told);
    site_assert_lines("qsig", "[-s][TERM][7[0-1].server][7[3].server][9.server]\n");
}

/* Nor does qstat ask job by job for an array that is over, nor for more than 20 things; of the others nothing is said. */
static void the_history_is_asked_for_few_at_a_time(void **state)
{
    enum { JOBS = 25 };
    static char ids[JOBS][20];
    struct site_known jobs[JOBS];
    struct told told;

    begin(OPENPBS);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct site_known){i, ids[i], 1};
        snprintf(ids[i], sizeof ids[i], i < 4 ? "7[%d].server" : "%d.server", i + 10 * (i >= 4));
    }
    list("");
    site_forget("qstat");
    site_poll(jobs, JOBS, &told);
    site_until(&told, 1);
    site_assert_asked("qstat", "[-x][-t][-f][-F][json][7[].server][14.server]");
    site_assert_asked("qstat", "[32.server]\n");
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(told.answer, ADAPTER_OK);
}

/* The command that tells it to end may hang: it is killed all the same. */
static void an_overdue_job_is_killed_beside_other_commands(void **state)
{
    struct told told;

    begin(OPENPBS);
    list(JOB("7.server", "st-0-0", "R"));
    site_command("qsig", "while [ ! -e go ]; do pause; done");
    site.a->orders.overrun_ms = 0;
    site.a->orders.kill_again_ms = 3600 * 1000;
    site_cancel(0, 0, &told);
    SITE_UNTIL(site_count_asked("qdel") > 0);
    site_assert_lines("qdel", "[7.server]\n");
    assert_int_equal(told.answers, 0);
    site_put("go", "", 0600);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    assert_non_null(strstr(site.said, "killing"));
}

/* Orders that come while a command is under way wait for it. */
static void commands_are_one_after_another(void **state)
{
    struct told told[2];

    begin(OPENPBS);
    list(JOB("7.server", "st-0-0", "R") ", " JOB("8.server", "st-0-1", "R"));
    site_command("qsig", "case $* in *7.server) while [ ! -e go ]; do pause; done;; esac");
    site_cancel(0, 60000, &told[0]);
    SITE_UNTIL(site_count_asked("qsig") > 0);
    site_cancel(1, 60000, &told[1]);
    for (int i = 0; i < 2; i++) /* the jobs are looked at for the order meanwhile */
        assert_int_equal(site_status(0, "7.server").state, ADAPTER_JOB_RUNNING);
    assert_int_equal(site_count_asked("qsig"), 1);
    site_put("go", "", 0600);
    for (int i = 0; i < 2; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_OK);
    }
    site_assert_lines("qsig", "[-s][TERM][7.server]\n[-s][TERM][8.server]\n");
}

/* By its version, wherever that is printed, or else by whether it prints JSON. */
static void which_pbs_it_is_is_found_out(void **state)
{
    static const struct {
        const char *qstat;
        enum pbs_kind kind;
    } cases[] = {
        {VERSION_OR("pbs_version = 19.1.3", "*) exit 1;;"), PBS_KIND_OPENPBS},
        {"case $1 in --version) echo 'pbs_version = 14.2.1' >&2; exit 1;; *) exit 1;; esac", PBS_KIND_OPENPBS},
        {VERSION_OR("Version: 6.1.3", "*) exit 1;;"), PBS_KIND_TORQUE},
        {"case $1 in --version) echo 'version: 2.5.13' >&2;; *) exit 1;; esac", PBS_KIND_TORQUE},
        {"case $1 in --version) exit 2;; -f) echo '{}';; *) echo '{}';; esac", PBS_KIND_OPENPBS},
        {"case $1 in --version) exit 2;; -f) echo 'usage: qstat [-f]' >&2; exit 2;; *) exit 1;; esac", PBS_KIND_TORQUE},
        {"case $1 in --version) exit 2;; -f) echo 'qstat: cannot connect to server' >&2; exit 1;; *) exit 1;; esac", PBS_KIND_UNKNOWN},
        {"case $1 in --version) exit 2;; -f) echo 'nothing'; exit 0;; *) exit 1;; esac", PBS_KIND_UNKNOWN},
        {"case $1 in --version) exit 2;; -f) kill -KILL $$;; *) exit 1;; esac", PBS_KIND_UNKNOWN},
        {"case $1 in --version) echo 'Version: 6.1.3'; kill -KILL $$;; -f) exit 1;; *) exit 1;; esac", PBS_KIND_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;

        site.said[0] = '\0';
        site_forget("qstat");
        json_object_set_new(site.config, "gather", json_string("0s"));
        site_pbs_commands(OPENPBS);
        site_command("qstat", cases[i].qstat);
        site_begin(adapter_named("pbs"));
        told = site_submit_next(site_job(&site_plain));
        assert_int_equal(((struct pbs *)site.a)->kind, cases[i].kind);
        assert_int_equal(told.answer, cases[i].kind == PBS_KIND_UNKNOWN ? ADAPTER_LATER : ADAPTER_OK);
        assert_true(cases[i].kind != PBS_KIND_UNKNOWN || told.text[0] != '\0');
        assert_int_equal(strstr(site.said, "Torque") != NULL, cases[i].kind == PBS_KIND_TORQUE);
        assert_int_equal(strstr(site.said, "OpenPBS") != NULL, cases[i].kind == PBS_KIND_OPENPBS);
        if (i >= 4 && i <= 7)
            site_assert_lines("qstat", "[--version]\n[-f][-F][json]\n");
        site_end();
    }
}

/* Whoever asks first asks for all. */
static void which_pbs_it_is_is_asked_once(void **state)
{
    const struct site_known job = {1, "7.server", 1};
    struct told told[3];

    begin(OPENPBS);
    site_poll(&job, 1, &told[0]);
    site_submit(site_job(&site_plain), 2, &told[1]);
    site_cancel(1, 60000, &told[2]);
    for (int i = 0; i < 3; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_OK);
    }
    site_status(1, "7.server");
    site_assert_asked("qstat", "[--version]\n");
    site_forget("qstat");
    site_status(1, "7.server");
    site_assert_not_asked("qstat", "--version");
}

/* Anybody may give a job any variable, and any bytes; of a job that is over the history may be another user's. */
static void jobs_of_others_are_none_of_ours(void **state)
{
    const struct passwd *me = getpwuid(geteuid());
    char text[1000];

    assert_non_null(me);
    begin(OPENPBS);
    site_command("qstat", VERSION_OR(OPENPBS, "-x) cat history;; *) cat listed;;"));
    snprintf(text, sizeof text, JOB_WITH("7.server", "st-0-1", "R", ", \"Job_Owner\": \"%s@login\"") ", "
             JOB_WITH("8.server", "st-0-2", "R", ", \"Job_Owner\": \"x%s@login\""), me->pw_name, me->pw_name);
    list(text);
    snprintf(text, sizeof text, "{\"Jobs\": {" JOB_WITH("9.server", "st-0-3", "F", ", \"Exit_status\": 3, \"Job_Owner\": \"x%s@login\"") "}}\n", me->pw_name);
    site_put("history", text, 0600);
    assert_int_equal(site_status(1, "7.server").state, ADAPTER_JOB_RUNNING);
    assert_int_equal(site_status(2, "8.server").state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(site_status(3, "9.server").state, ADAPTER_JOB_UNKNOWN);
    snprintf(text, sizeof text, "{\"Jobs\": {" JOB_WITH("9.server", "st-0-3", "F", ", \"Exit_status\": 3, \"Job_Owner\": \"%s@login\", \"comment\": \"\xe9\x01\"")
             "}}\n", me->pw_name);
    site_put("history", text, 0600);
    assert_string_equal(site_status(3, "9.server").reason, "PBS: FAILED (Exit_status 3)");
    list(JOB_WITH("7.server", "st-0-1", "R", ", \"Account_Name\": \"caf\xe9 \x1b\""));
    assert_int_equal(site_status(1, "7.server").state, ADAPTER_JOB_RUNNING);
    site_command("qstat", VERSION_OR(OPENPBS, "-x) cat history; kill -KILL $$;; *) echo '{}';;"));
    assert_int_equal(site_status(3, "9.server").state, ADAPTER_JOB_UNKNOWN); /* nobody knows whether that is all */
}

/* More time than a queue allows is asked for once; what is refused without it is refused. */
static void a_refusal_for_its_time_is_one(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    begin(OPENPBS);
    site_command("qsub", "cat >/dev/null; echo 'qsub: Job exceeds queue resource limits' >&2; exit 1");
    assert_int_equal(site_submit_next(job).answer, ADAPTER_UNCLEAR);
    site_assert_asked("qsub", "walltime=01:03:30");
    site_assert_asked("qsub", "walltime=00:58:00");
    assert_int_equal(site_count_asked("qsub"), 2);
    site_forget("qsub");
    job.resources.walltime_ms = 0;
    assert_int_equal(site_submit_next(job).answer, ADAPTER_UNCLEAR);
    assert_int_equal(site_count_asked("qsub"), 1);
    site_forget("qsub");
    job.resources.walltime_ms = 10001; /* what is not a whole second is rounded up */
    site_submit_next(job);
    site_assert_asked("qsub", "[walltime=00:05:41]");
    site_assert_asked("qsub", "[walltime=00:00:11]");
    site_command("qsub", "cat >/dev/null; echo 'qsub: Unauthorized Request' >&2; exit 1");
    site_forget("qsub");
    assert_int_equal(site_submit_next(job).answer, ADAPTER_REFUSED); /* not for its time */
    assert_int_equal(site_count_asked("qsub"), 1);
}

static void an_id_is_what_looks_like_one(void **state)
{
    static const struct {
        const char *out, *id; /* NULL: there is none */
    } cases[] = {
        {"12.server", "12.server"}, {"12", "12"}, {"12[].server", "12[].server"}, {"7 jobs\\n12.server\\nbye", "12.server"}, {"12.server\\n13.server", "13.server"},
        {"[].server", NULL}, {"12[.server", NULL}, {"12-server", NULL}, {"server.12", NULL}, {"12.server is yours", NULL},
        {"1234567890.12345678901234567890123456789012345678901234567890123", NULL}, /* 64 bytes */
        {"1234567890.1234567890123456789012345678901234567890123456789012", "1234567890.1234567890123456789012345678901234567890123456789012"},
    };

    begin(OPENPBS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;
        char script[200];

        snprintf(script, sizeof script, "cat >/dev/null; printf '%s\\n'", cases[i].out);
        site_command("qsub", script);
        told = site_submit_next(site_job(&site_plain));
        if ((told.answer == ADAPTER_OK) != (cases[i].id != NULL) ||
            strcmp(told.id, cases[i].id != NULL ? cases[i].id : "") != 0)
            fail_msg("%s is %s", cases[i].out, told.id);
    }
}

/* What does not divide evenly: each node has the GPUs and the memory of its part. */
static void every_chunk_has_what_it_needs(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    json_object_set_new(site.config, "shell", json_string("/bin/bash"));
    begin(OPENPBS);
    job.resources.nodes = 2;
    job.resources.tasks = 3;
    job.resources.gpus = 3;
    job.resources.memory = INT64_C(3) << 20;
    site_submit_next(job);
    site_assert_asked("qsub", "[select=1:ncpus=2:mpiprocs=2:ompthreads=1:ngpus=2:mem=2mb+1:ncpus=1:mpiprocs=1:ompthreads=1:ngpus=2:mem=2mb]");
    site_assert_asked("qsub", "[-S][/bin/bash]");
    site_forget("qsub");
    job.resources = site_plain;
    site_submit_next(job);
    site_assert_not_asked("qsub", "place=");
    site_assert_not_asked("qsub", "mem=");
    site_assert_not_asked("qsub", "gpus=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_order_is_done_when_all_of_its_commands_are),
        CASE(ranges_are_as_long_as_they_can_be),
        CASE(running_jobs_are_signalled_by_ranges),
        CASE(the_history_is_asked_for_few_at_a_time),
        CASE(an_overdue_job_is_killed_beside_other_commands),
        CASE(commands_are_one_after_another),
        CASE(which_pbs_it_is_is_found_out),
        CASE(which_pbs_it_is_is_asked_once),
        CASE(jobs_of_others_are_none_of_ours),
        CASE(a_refusal_for_its_time_is_one),
        CASE(an_id_is_what_looks_like_one),
        CASE(every_chunk_has_what_it_needs),
    };

    return SITE_RUN(tests);
}
