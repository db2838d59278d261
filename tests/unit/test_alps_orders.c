/* Orders to the ALPS adapter, whose aprun is a script here, also about apruns that an earlier daemon has started; when
 * it starts what waits; and its own end. */
#include "common/timefmt.h"
#include "scheduler-adapters/alps.h"
#include "tests/unit/alps_site.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

/* It is on its nodes, writes down what signals it gets, and ends as `how` says when it is told to, or there is a file
 * "go". */
#define LISTEN(how) "for d in st-0-*; do case \"$*\" in *\"$PWD/$d \"*) echo 46 >$d/apid;; esac; done; end() { " how "; }; trap 'echo 1 >>got' USR1;" \
                    " trap 'echo 2 >>got' USR2; trap 'echo told >>got; end' TERM; echo >up; while [ ! -e go ]; do pause; done; end"

static struct alps_job *job_of(const char *name)
{
    struct alps_job *job = alps_job_find(site.a, name);

    assert_non_null(job);
    return job;
}

static enum adapter_answer signalled(int number, int sig)
{
    struct told told;

    site_signal(number, sig, &told);
    site_until(&told, 1);
    return told.answer;
}

/* The next daemon, which finds the aprun of job 1. */
static int begin_anew(void)
{
    struct alps_job *job;

    SITE_UNTIL(access(site_path("up"), F_OK) == 0);
    until(1, ADAPTER_JOB_RUNNING);
    site_end();
    site_begin(site.ops);
    site.pokes = 0;
    until(1, ADAPTER_JOB_RUNNING);
    job = job_of("st-0-1");
    assert_true(job->adopted);
    assert_ptr_equal(site.a->node[0].job, job);
    return job->pidfd;
}

/* A file descriptor for each of them would be used up some day. */
static void assert_closed(int fd)
{
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void signals_reach_the_application(void **state)
{
    bool is_adopted = *state != NULL;
    int fd = -1;

    begin("3", LISTEN(ENDED_WELL "; exit 0"));
    submit(site_job(&one), 1);
    SITE_UNTIL(access(site_path("up"), F_OK) == 0);
    if (is_adopted)
        fd = begin_anew();
    assert_int_equal(signalled(1, SIGUSR1), ADAPTER_UNSURE); /* no runner has claimed it */
    site_put("st-0-1/claim.json", "{}", 0600);
    assert_int_equal(signalled(1, SIGUSR1), ADAPTER_OK);
    SITE_UNTIL(has_words("got", "1\n"));
    assert_int_equal(signalled(1, SIGUSR2), ADAPTER_OK);
    SITE_UNTIL(has_words("got", "1\n2\n"));
    order(site_cancel, 1);
    assert_string_equal(until(1, ADAPTER_JOB_ENDED).reason, "");
    assert_true(has_words("got", "1\n2\ntold\n"));
    assert_int_equal(signalled(1, SIGUSR1), ADAPTER_REFUSED);
    TEST_UNTIL(site.pokes > 0, uv_run(&site.loop, UV_RUN_ONCE));
    assert_null(site.a->node[0].job);
    if (is_adopted)
        assert_closed(fd);
}

/* Nothing but its name and place is known of it, so the daemon is told that there is no such job, and submits it
 * again. */
static void an_adopted_one_that_found_no_room_is_unknown(void **state)
{
    int fd;

    begin("3", LISTEN("echo \"" NO_NODES "\"; exit 1"));
    submit(site_job(&one), 1);
    fd = begin_anew();
    site.a->pause_ms = 59000;
    site_put("go", "", 0600);
    SITE_UNTIL(site_status(1, NULL).state == ADAPTER_JOB_UNKNOWN);
    assert_null(alps_job_find(site.a, "st-0-1"));
    TEST_UNTIL(site.pokes > 0, uv_run(&site.loop, UV_RUN_ONCE));
    assert_null(site.a->node[0].job);
    assert_int_equal(site.a->node[0].wait_ms, 59000); /* ALPS would not give it */
    assert_closed(fd);
    assert_int_equal(site_count_asked("aprun"), 1);
}

static void an_adopted_one_that_takes_no_notice_is_killed(void **state)
{
    struct alps_job *job;
    int fd;

    begin("3", "trap '' TERM; " LISTEN(ENDED_WELL) "; :");
    site_command("aprun", "for d in st-0-*; do echo 46 >$d/apid; done; echo >up; trap '' TERM; while [ ! -e go ]; do pause; done");
    submit(site_job(&one), 1);
    fd = begin_anew();
    order(site_cancel, 1);
    job = job_of("st-0-1");
    job->kill_at = uv_now(&site.loop);
    alps_turn(site.a);
    until(1, ADAPTER_JOB_ENDED);
    SITE_UNTIL(site_count_asked("apkill") > 0);
    site_assert_lines("apkill", "[-KILL][46]\n");
    assert_closed(fd);
    assert_non_null(strstr(site.said, "killing it"));
}

/* Perhaps only one of several nodes that ALPS refused together was at fault. */
static void the_node_that_was_refused_least_is_taken(void **state)
{
    begin("3-6", STAY);
    site.a->node[0].wait_ms = 2000;
    site.a->node[1].wait_ms = 1000;
    site.a->node[2].wait_ms = 1000;
    site.a->node[3].wait_ms = 3000;
    submit(site_job(&one), 1);
    assert_string_equal(until(1, ADAPTER_JOB_RUNNING).host, "nid00004");
    submit(site_job(&one), 2);
    assert_string_equal(until(2, ADAPTER_JOB_RUNNING).host, "nid00005");
    site_put("go", "", 0600);
    until(2, ADAPTER_JOB_ENDED);
    until(1, ADAPTER_JOB_ENDED);
    assert_int_equal(site.a->node[1].wait_ms, 0); /* ALPS has given it */
    assert_int_equal(site.a->node[0].wait_ms, 2000);
}

/* If no process can be created, the job waits, and its nodes are given to others. */
static void what_cannot_be_started_is_started_later(void **state)
{
    struct rlimit limit, none;
    int fd = dup(0);

    close(fd);
    begin("3", ENDED_WELL);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = (rlim_t)fd;
    submit(site_job(&one), 1);
    until(1, ADAPTER_JOB_ENDED);
    site.a->pause_ms = 59000;
    fd = dup(0);
    close(fd);
    none.rlim_cur = (rlim_t)fd;
    site.a->next_start = 0;
    assert_int_equal(mkdir(site_path("st-0-2"), 0700), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    site_submit_ok(site_job(&one), 2);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(site_status(2, NULL).state, ADAPTER_JOB_QUEUED);
    assert_non_null(strstr(site_status(2, NULL).reason, "aprun: "));
    assert_null(site.a->node[0].job);
    assert_int_equal(site.a->node[0].wait_ms, 59000);
    assert_true(uv_timer_get_due_in(&site.a->timer) > 0);
    site.a->node[0].not_before = 0;
    alps_turn(site.a);
    until(2, ADAPTER_JOB_ENDED);
}

static void a_job_is_told_of_in_full(void **state)
{
    int64_t before = time_now_ms();
    struct adapter_status status;

    begin("3-4", STAY);
    submit(site_job(&one), 1);
    status = until(1, ADAPTER_JOB_RUNNING);
    assert_string_equal(status.scheduler_id, "st-0-1");
    assert_string_equal(status.host, "nid00003");
    assert_string_equal(status.reason, "");
    assert_true(status.started_ms >= before && status.started_ms <= time_now_ms());
    assert_false(status.never || status.node_lost);
    site_put("st-0-1/claim.json", "{}", 0600);
    site_put("st-0-1/runner.log", "[2026-11-27T01:00:01Z] error: no such file\n", 0600);
    site_command("apkill", "");
    kill(job_of("st-0-1")->pid, SIGKILL);
    status = until(1, ADAPTER_JOB_ENDED);
    assert_non_null(strstr(status.reason, "no such file"));
    assert_null(strstr(status.reason, "ALPS"));
}

/* Each call is answered, once; and the aprun goes on. */
static void its_end_answers_all_calls(void **state)
{
    const struct site_known job = {1, NULL, 1};
    struct told polled, cancelled, sent, submitted;

    begin("3", LISTEN(ENDED_WELL));
    submit(site_job(&one), 1);
    SITE_UNTIL(access(site_path("up"), F_OK) == 0);
    until(1, ADAPTER_JOB_RUNNING);
    site_poll(&job, 1, &polled);
    site_cancel(1, 0, &cancelled);
    site_signal(1, SIGUSR1, &sent);
    site_submit(site_job(&one), 2, &submitted);
    site.pokes = 0;
    site_end();
    assert_int_equal(polled.answers + cancelled.answers + sent.answers + submitted.answers, 4);
    assert_int_equal(polled.answer, ADAPTER_UNSURE);
    assert_string_equal(polled.code, "batch_system_unsure");
    assert_int_equal(cancelled.answer, ADAPTER_UNSURE);
    assert_int_equal(sent.answer, ADAPTER_UNSURE);
    assert_int_equal(submitted.answer, ADAPTER_OK);
    assert_int_equal(site.pokes, 0);
    assert_false(has_words("got", ""));
    site_begin(site.ops);
    assert_int_equal(site_status(1, NULL).state, ADAPTER_JOB_RUNNING);
    assert_int_equal(site_status(2, NULL).state, ADAPTER_JOB_UNKNOWN);
    site_put("go", "", 0600);
    until(1, ADAPTER_JOB_ENDED);
}

static void options_of_the_adapter_are_refused(void **state)
{
    static const char *const own[] = {"-n", "-N", "-L", "-d", NULL};
    struct adapter_resources want = one;
    struct error err;

    begin("3-4", ENDED_WELL);
    for (int i = 0; own[i] != NULL; i++) {
        want.extra = json_pack("[s,s,s,s]", "-j", "1", own[i], "1");
        assert_int_equal(site.ops->check(site.a, &want, &err), i < 3 ? -1 : 0);
        if (i < 3)
            assert_string_equal(err.pointer, "/extra/2");
        json_decref((json_t *)want.extra);
    }
    want = one;
    want.launcher = "aprun";
    assert_int_equal(site.ops->check(site.a, &want, &err), 0);
    want.launch = json_pack("[s,s]", "aprun", "-q");
    assert_int_equal(site.ops->check(site.a, &want, &err), -1);
    assert_string_equal(err.pointer, "/launcher");
    want.launcher = "mpiexec"; /* it is called on a node */
    assert_int_equal(site.ops->check(site.a, &want, &err), 0);
    json_decref((json_t *)want.launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(signals_reach_the_application),
        {"signals_reach_an_adopted_application", signals_reach_the_application, site_open, site_close, "adopted"},
        CASE(an_adopted_one_that_found_no_room_is_unknown),
        CASE(an_adopted_one_that_takes_no_notice_is_killed),
        CASE(the_node_that_was_refused_least_is_taken),
        CASE(what_cannot_be_started_is_started_later),
        CASE(a_job_is_told_of_in_full),
        CASE(its_end_answers_all_calls),
        CASE(options_of_the_adapter_are_refused),
    };

    return SITE_RUN(tests);
}
