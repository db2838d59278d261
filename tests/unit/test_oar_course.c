/* The course of OAR's orders, which OAR carries out some time after it has taken them down, of listings, and of
 * submissions that are refused: its commands are scripts here. With the plugin's own sources. */
#include "scheduler-adapters/oar/oar.h"
#include "tests/unit/batch_site.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct adapter_ops stretto_adapter;

/* oarstat prints the jobs in the files "job-*", of each "ID NAME STATE", and the newest of all, which is another's. */
static void begin(void)
{
    site_command("oarsub", "n=$(cat ids 2>/dev/null || echo 6); n=$((n + 1)); echo $n >ids; echo \"OAR_JOB_ID=$n\"");
    site_command("oarstat", "me=$(id -un)\nprintf '{\"999\": {\"name\": \"x\", \"owner\": \"nobody\", \"state\": \"Waiting\"}'\n"
                            "for f in job-*; do [ -e $f ] || continue; read -r id name state <$f\n"
                            "printf ', \"%s\": {\"name\": \"%s\", \"owner\": \"%s\", \"state\": \"%s\"}' $id $name $me $state; done; echo '}'");
    site_command("oardel", "");
    site_command("oarhold", "");
    json_object_set_new(site.config, "gather", json_string("0s"));
    site_begin(&stretto_adapter);
}

static void job_is(const char *state)
{
    char text[60];

    snprintf(text, sizeof text, "7 st-0-1 %s\n", state);
    site_put("job-1", text, 0600);
}

static struct told cancel(void)
{
    static struct told told;

    site_cancel(1, 60000, &told);
    site_until(&told, 1);
    return told;
}

/* OAR's server needs some seconds for an order. */
static void pauses_between_looks_grow(void **state)
{
    struct oar *oar;
    struct told told;
    uint64_t pauses[4];
    int n = 0;

    begin();
    oar = oar_of(site.a);
    job_is("Waiting");
    site_cancel(1, 60000, &told);
    for (bool waited = false; n < 4;) {
        bool waits = oar->waiting != NULL;

        if (waits && !waited)
            pauses[n++] = uv_timer_get_due_in(&oar->timer);
        waited = waits;
        assert_int_equal(told.answers, 0);
        usleep(1000);
        uv_run(&site.loop, UV_RUN_NOWAIT);
    }
    for (int i = 0; i < 4; i++) /* the loop may have gone on since the timer was set, but not back */
        assert_true(pauses[i] <= 100u << i);
    assert_true(pauses[3] > pauses[0]);
    job_is("Error");
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    assert_int_equal(site_count_asked("oardel"), 1);
}

/* The signal that tells it to end may hang: it is killed all the same, and nobody waits for its end. */
static void an_overdue_job_is_killed_beside_other_commands(void **state)
{
    struct told told;

    begin();
    job_is("Running");
    site_command("oardel", "[ \"$1\" != -s ] || while [ ! -e go ]; do pause; done");
    site.a->orders.overrun_ms = 0;
    site.a->orders.kill_again_ms = 3600 * 1000;
    site_cancel(1, 0, &told);
    SITE_UNTIL(site_count_asked("oardel") >= 2);
    site_assert_lines("oardel", "[-s][TERM][7]\n[7]\n");
    assert_int_equal(told.answers, 0);
    site_put("go", "", 0600);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    for (int i = 0; i < 3; i++)
        site_status(1, "7");
    assert_null(oar_of(site.a)->waiting);
    assert_int_equal(site_count_asked("oardel"), 2);
}

/* What cannot take the signal at first is over by the time of the next look, or is ending. */
static void a_signal_that_comes_too_late_is_done(void **state)
{
    for (const char *const *then = (const char *const[]){"Finishing", "Terminated", "Waiting", NULL}; *then != NULL; then++) {
        char script[200];

        begin();
        job_is("Launching");
        snprintf(script, sizeof script,
                 "echo '7 st-0-1 %s' >job-1; echo 'Cannot signal 7 ; This job is not running.' >&2; exit 1", *then);
        site_command("oardel", script);
        site_forget("oardel");
        assert_int_equal(cancel().answer, ADAPTER_OK);
        site_assert_lines("oardel", "[-s][TERM][7]\n");
        site_end();
    }
    begin();
    job_is("Launching");
    site_command("oardel", "rm job-1; echo 'Cannot signal 7 ; This job is not running.' >&2; exit 1");
    assert_int_equal(cancel().answer, ADAPTER_OK);
}

/* It is sent again for as long as a command may take, and then it is not known whether the job got it. */
static void a_signal_that_is_never_taken_is_in_doubt(void **state)
{
    json_object_set_new(site.config, "timeout", json_string("1s"));
    for (const char *const *is = (const char *const[]){"Running", "Launching", NULL}; *is != NULL; is++) {
        struct told told;

        begin();
        job_is(*is);
        site_command("oardel", "echo 'Cannot signal 7 ; This job is not running.' >&2; exit 1");
        told = cancel();
        assert_int_equal(told.answer, ADAPTER_UNSURE);
        assert_string_equal(told.code, "batch_system_unsure");
        site_end();
    }
}

/* OAR says these of jobs in another state, which are looked at then; of others it is not known what has been done. */
static void complaints_are_told_from_errors(void **state)
{
    static const struct {
        const char *script;
        enum adapter_answer answer;
    } cases[] = {
        {"rm job-1; echo 'This job was already killed' >&2; exit 6", ADAPTER_OK},
        {"rm job-1; echo 'this job does not exist' >&2; exit 1", ADAPTER_OK},
        {"rm job-1; echo 'Cannot frag ; This job is not running' >&2; exit 1", ADAPTER_OK},
        {"rm job-1; echo 'This job was already killed, DBD::Pg failed' >&2; exit 6", ADAPTER_UNSURE},
        {"rm job-1; echo 'This job was already killed'; exit 6", ADAPTER_UNSURE}, /* it goes to standard error */
        {"rm job-1; exit 1", ADAPTER_UNSURE},
        {"rm job-1; kill -KILL $$", ADAPTER_UNSURE},
        {"rm job-1; echo 'DBI connect failed' >&2; exit 0", ADAPTER_OK}, /* it has been done */
        {"rm oarstat", ADAPTER_UNSURE}, /* nobody knows whether it has been */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;

        begin();
        job_is("Waiting");
        site_command("oardel", cases[i].script);
        told = cancel();
        if (told.answer != cases[i].answer)
            fail_msg("answer %d (%s) to %s", (int)told.answer, told.text, cases[i].script);
        assert_true(told.answer == ADAPTER_OK || told.text[0] != '\0');
        site_end();
    }
}

static void withdraw(const char *oarhold, struct told *told)
{
    begin();
    job_is("Waiting");
    site_command("oarhold", oarhold);
    site_command("oardel", "rm job-1");
    site_forget("oarhold");
    site_forget("oardel");
    site_withdraw(1, "7", told);
}

/* It is held once, and looked at until it is. */
static void a_withdrawal_waits_for_its_hold(void **state)
{
    struct told told;

    withdraw("", &told);
    SITE_UNTIL(site_count_asked("oarstat") >= 4);
    assert_int_equal(told.answers, 0);
    assert_int_equal(site_count_asked("oardel"), 0);
    job_is("Hold");
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    site_assert_lines("oarhold", "[7]\n");
    site_assert_lines("oardel", "[7]\n");
    site_end();
    withdraw("rm job-1", &told); /* it is gone */
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    assert_int_equal(site_count_asked("oardel"), 0);
    site_end();
    withdraw("echo '7 st-0-1 toLaunch' >job-1; echo 'the job is not in the right state' >&2; exit 1", &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    assert_int_equal(site_count_asked("oardel"), 0);
    site_end();
    json_object_set_new(site.config, "timeout", json_string("1s"));
    withdraw("", &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    assert_int_equal(site_count_asked("oarhold"), 1);
}

/* An order may be with oardel, or wait for its effect, or the job may be looked at. */
static void an_end_answers_orders_wherever_they_are(void **state)
{
    for (int i = 0; i < 3; i++) {
        struct told told, withdrawn;

        begin();
        job_is("Waiting");
        site_put("job-2", "8 st-0-2 Waiting\n", 0600);
        site_forget("oardel");
        site_forget("oarstat");
        if (i == 0)
            site_command("oardel", "while [ ! -e go ]; do pause; done");
        site_cancel(1, 60000, &told);
        site_withdraw(2, "8", &withdrawn);
        SITE_UNTIL(i == 0 ? site_count_asked("oardel") > 0 : i == 1 ? oar_of(site.a)->waiting != NULL : site_count_asked("oarstat") >= 3);
        site_end();
        assert_int_equal(told.answers, 1);
        assert_int_equal(told.answer, ADAPTER_UNSURE);
        assert_int_equal(withdrawn.answers, 1);
        assert_int_equal(withdrawn.answer, ADAPTER_UNSURE);
    }
}

/* oarstat prints nothing where there is no job, but also where it could not ask. */
static void no_jobs_are_believed_until_there_was_one(void **state)
{
    const struct site_known job = {1, NULL, 0};
    const struct passwd *me = getpwuid(geteuid());
    struct told told;
    char lines[500];

    assert_non_null(me);
    begin();
    site_command("oarstat", "");
    site_poll(&job, 1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_UNKNOWN);
    snprintf(lines, sizeof lines, "[-J][--sql][(job_user = '%s' AND state IN ('Waiting', 'Hold', 'toLaunch', 'toAckReservation', 'Launching', 'Running',"
                                  " 'Suspended', 'Resuming', 'Finishing')) OR job_id = (SELECT MAX(job_id) FROM jobs)]\n", me->pw_name);
    site_assert_lines("oarstat", lines);
    site_command("oarsub", "echo '[ADMISSION RULE] no' >&2; exit 1");
    assert_int_equal(site_submit_next(site_job(&site_plain)).answer, ADAPTER_UNCLEAR);
    site_poll(&job, 1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK); /* none has been submitted */
    site_command("oarsub", "echo OAR_JOB_ID=7");
    assert_int_equal(site_submit_next(site_job(&site_plain)).answer, ADAPTER_OK);
    site_poll(&job, 1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
}

static void a_refusal_for_its_time_is_one(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    begin();
    site_command("oarsub", "echo 'Walltime too long' >&2; exit 1");
    assert_int_equal(site_submit_next(job).answer, ADAPTER_UNCLEAR);
    assert_int_equal(site_count_asked("oarsub"), 2);
    site_forget("oarsub");
    job.resources.walltime_ms = 0;
    assert_int_equal(site_submit_next(job).answer, ADAPTER_UNCLEAR);
    assert_int_equal(site_count_asked("oarsub"), 1);
    site_forget("oarsub");
    job.resources.walltime_ms = 10001; /* what is not a whole second is rounded up */
    site_submit_next(job);
    site_assert_asked("oarsub", "walltime=0:05:41]");
    site_assert_asked("oarsub", "walltime=0:00:11]");
    site_command("oarsub", "echo 'There are not enough resources' >&2; exit 1");
    site_forget("oarsub");
    assert_int_equal(site_submit_next(job).answer, ADAPTER_UNCLEAR); /* not for its time */
    assert_int_equal(site_count_asked("oarsub"), 1);
}

static void ids_are_what_looks_like_them(void **state)
{
    static const struct {
        const char *out, *id; /* NULL: there is none */
    } cases[] = {{"OAR_JOB_ID=12", "12"},       {"[ADMISSION RULE] x\\nOAR_JOB_ID=9\\nbye", "9"}, {"OAR_JOB_ID=0", NULL}, {"OAR_JOB_ID=", NULL},
                 {"OAR_JOB_ID=12 x", NULL},     {"OAR_JOB_ID=x", NULL},                           {"MY_OAR_JOB_ID=12", NULL},
                 {"OAR_JOB_IDS=12", NULL},      {"OAR_JOB_ID=1", "1"}};

    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;
        char script[100];

        snprintf(script, sizeof script, "printf '%s\\n'", cases[i].out);
        site_command("oarsub", script);
        told = site_submit_next(site_job(&site_plain));
        assert_int_equal(told.answer, cases[i].id != NULL ? ADAPTER_OK : ADAPTER_UNSURE);
        assert_string_equal(told.id, cases[i].id != NULL ? cases[i].id : "");
    }
}

static void submitted(void *arg, enum adapter_answer answer, const char *id, const struct error *err)
{
    assert_int_equal(answer, ADAPTER_OK);
    *(bool *)arg = true;
}

/* OAR accepts no other letters in a path; and asks for memory only where the site has a word for it. */
static void what_oar_cannot_take_is_left_out(void **state)
{
    struct adapter_job job = site_job(&site_plain);
    bool done = false;

    json_object_set_new(site.config, "extra", json_pack("[s, s]", "-t", "besteffort"));
    begin();
    job.name = "st-0-1";
    job.dir = "/tmp/a b";
    job.resources.memory = INT64_C(3) << 30;
    job.grace_ms = 9999;
    site.ops->submit(site.a, &job, submitted, &done);
    TEST_UNTIL(done, uv_run(&site.loop, UV_RUN_ONCE));
    site_assert_asked("oarsub", "[-l][/nodes=1/core=1,walltime=0:58:40]");
    site_assert_asked("oarsub", "[--checkpoint=14][--signal=15][-d][/][-O][/dev/null][-E][/dev/null][-n][st-0-1]");
}

/* The value of an option may be the next word, which is no option then. */
static void resources_of_the_site_are_the_only_ones(void **state)
{
    struct adapter_job job = site_job(&site_plain);

    json_object_set_new(site.config, "extra", json_pack("[s, s, s, s]", "--resource", "/nodes=2", "-p", "-l"));
    begin();
    site_submit_next(job);
    site_assert_asked("oarsub", "[--resource][/nodes=2,walltime=1:03:30][-p][-l][-d]");
    site_assert_not_asked("oarsub", "core=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(pauses_between_looks_grow),
        CASE(an_overdue_job_is_killed_beside_other_commands),
        CASE(a_signal_that_comes_too_late_is_done),
        CASE(a_signal_that_is_never_taken_is_in_doubt),
        CASE(complaints_are_told_from_errors),
        CASE(a_withdrawal_waits_for_its_hold),
        CASE(an_end_answers_orders_wherever_they_are),
        CASE(no_jobs_are_believed_until_there_was_one),
        CASE(a_refusal_for_its_time_is_one),
        CASE(ids_are_what_looks_like_them),
        CASE(what_oar_cannot_take_is_left_out),
        CASE(resources_of_the_site_are_the_only_ones),
    };

    return SITE_RUN(tests);
}
