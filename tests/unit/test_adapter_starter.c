/* The process that stands by to become the runners of the local adapter: what it makes looks like any runner, and what becomes
 * of jobs when it goes. */
#include "common/log.h"
#include "common/process.h"
#include "scheduler-adapters/local.h"
#include "tasks/proto/starter.h"
#include "tests/unit/starter_rig.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct adapter_ops *ops;
static char line[256];

static int open_all(void **state)
{
    return rig_open_with("{\"slots\": 3, \"gpus\": [\"7\", \"9\", \"11\"]}");
}

static int open_with_looks(void **state)
{
    return rig_open_with("{\"slots\": 3, \"gpus\": 0, \"stopped\": \"2s\"}");
}

static int close_all(void **state)
{
    harness_close(&rig);
    while (waitpid(-1, NULL, WNOHANG) > 0) /* runners that another adapter has adopted */
        ;
    assert_int_equal(rig_child("stretto-starter"), 0);
    return 0;
}

static void a_copy_looks_like_a_runner(void **state)
{
    char *text, proc[65536], mark[128];
    struct harness_job job;
    pid_t runner;
    size_t n;

    runner = rig_begin(&job, &text);
    n = rig_proc(runner, "cmdline", proc, sizeof proc);
    assert_true(n >= A_COPY);
    assert_true(rig_holds(proc, n, "--local") && rig_holds(proc, n, "--job-fd") && rig_holds(proc, n, "--gpus=") && rig_holds(proc, n, job.dir));
    assert_false(rig_holds(proc, n, "--starter"));
    n = rig_proc(runner, "environ", proc, sizeof proc);
    snprintf(mark, sizeof mark, "STRETTO_RUNNER=%s", job.name);
    assert_true(rig_holds(proc, n, mark));
    rig_proc(runner, "comm", proc, sizeof proc);
    assert_string_equal(proc, "stretto-run\n");
    assert_int_equal(rig_child("stretto-run"), runner); /* it is ours, not the starter's */
    assert_int_equal(getpgid(runner), runner);
    harness_let_go(&rig);
    rig_expect_success(&job, text);
}

/* A thousand of them would be all that it may have. */
static void letters_are_closed(void **state)
{
    char *text, go[128];
    struct harness_job job;
    int before = rig_descriptors(rig_child("stretto-starter"));

    snprintf(go, sizeof go, "%s/go", rig.dir);
    for (int i = 0; i < 4; i++) {
        unlink(go);
        rig_begin(&job, &text);
        assert_in_range(rig_descriptors(rig_child("stretto-starter")), before, before + 1); /* it may still have the newest */
        harness_let_go(&rig);
        rig_expect_success(&job, text);
    }
}

static void gpus_are_handed_on(void **state)
{
    char *text, proc[65536];
    struct harness_job job;
    size_t n;

    text = harness_by_jobfd(&rig, &job, REPORT_AND_WAIT);
    job.job.resources.gpus = 2;
    harness_submit_ok(&rig, &job);
    harness_line(&rig, line, sizeof line);
    n = rig_proc(harness_runner(&job), "cmdline", proc, sizeof proc);
    assert_true(rig_holds(proc, n, "--gpus=7,9"));
    harness_let_go(&rig);
    rig_expect_success(&job, text);
}

static void jobs_do_without_it(void **state)
{
    struct harness_job before, after;
    char *text, *text_after;

    rig_begin(&before, &text);
    kill(rig_child("stretto-starter"), SIGKILL);
    text_after = harness_by_jobfd(&rig, &after, "true");
    harness_submit_ok(&rig, &after);
    rig_expect_success(&after, text_after);
    harness_let_go(&rig);
    rig_expect_success(&before, text);
}

/* A job is submitted while the starter is stopped. `then` is the signal that it gets after that; 0: none. */
static void what_it_has_not_answered(int then)
{
    pid_t starter = rig_child("stretto-starter");
    struct answer submitted = {0};
    struct harness_job job;
    char *text, ran[64], path[128];
    FILE *f;

    text = harness_by_jobfd(&rig, &job, "echo ran >> $DIR/ran");
    kill(starter, SIGSTOP);
    ops->submit(rig.adapter, &job.job, answer_submit, &submitted);
    uv_run(&rig.loop, UV_RUN_NOWAIT);
    assert_int_equal(submitted.answers, 0);
    kill(starter, then);
    harness_until(&rig, &submitted.answers, 1);
    assert_int_equal(submitted.answer, ADAPTER_OK);
    rig_expect_success(&job, text);
    snprintf(path, sizeof path, "%s/ran", rig.dir);
    f = fopen(path, "re");
    assert_int_equal(fread(ran, 1, sizeof ran, f), strlen("ran\n")); /* once */
    fclose(f);
}

static void what_it_has_not_answered_is_started_anew(void **state)
{
    what_it_has_not_answered(SIGKILL);
}

static void one_that_is_stopped_is_replaced(void **state)
{
    what_it_has_not_answered(0);
    assert_int_equal(rig_child("stretto-starter"), 0);
}

/* The end of the daemon: the order is not carried out, or the next daemon finds who does. */
static void the_adapter_ends_while_it_is_asked(void **state)
{
    struct answer submitted = {0};
    struct harness_job job;
    char *text;

    text = harness_by_jobfd(&rig, &job, "true");
    kill(rig_child("stretto-starter"), SIGSTOP);
    ops->submit(rig.adapter, &job.job, answer_submit, &submitted);
    uv_run(&rig.loop, UV_RUN_NOWAIT);
    harness_destroy_adapter(&rig);
    assert_int_equal(submitted.answers, 1);
    assert_int_equal(submitted.answer, ADAPTER_UNSURE);
    harness_create_adapter(&rig);
    assert_int_equal(harness_status(&rig, &job).state, ADAPTER_JOB_UNKNOWN);
    harness_submit_ok(&rig, &job);
    rig_expect_success(&job, text);
}

static void one_that_is_cancelled_meanwhile_is_ended_when_it_begins(void **state)
{
    struct answer submitted = {0}, cancelled = {0};
    struct harness_job job;
    pid_t starter = rig_child("stretto-starter");
    char *text = harness_by_jobfd(&rig, &job, STUBBORN);

    kill(starter, SIGSTOP);
    ops->submit(rig.adapter, &job.job, answer_submit, &submitted);
    ops->cancel(rig.adapter, &job.job, answer_done, &cancelled);
    harness_until(&rig, &cancelled.answers, 1);
    assert_int_equal(submitted.answers, 0);
    kill(starter, SIGCONT);
    harness_wait_ended(&rig, &job);
    assert_int_equal(harness_processes(&job), 0);
    assert_true(rig.adapter->used.slots == 0);
    free(text);
}

/* It is lost with all that it started, and nothing else is. */
static void a_copy_that_is_killed_loses_its_job_alone(void **state)
{
    struct harness_job job, other, next;
    char *text, *text_other, *text_next;
    pid_t runner = rig_begin(&job, &text);

    rig_begin(&other, &text_other);
    kill(runner, SIGKILL);
    assert_true(harness_wait_ended(&rig, &job).node_lost);
    assert_null(harness_records(&rig, &job));
    assert_int_equal(harness_processes(&job), 0);
    free(text);
    assert_int_not_equal(rig_begin(&next, &text_next), runner);
    harness_let_go(&rig);
    rig_expect_success(&other, text_other);
    rig_expect_success(&next, text_next);
}

static bool is_zombie(pid_t pid)
{
    char stat[512] = "";

    return rig_proc(pid, "stat", stat, sizeof stat) > 0 && strncmp(strrchr(stat, ')'), ") Z", 3) == 0;
}

/* A job has ended, and is cancelled or gets a signal before this process knows of the end: it has succeeded all the
 * same, and no other job notices anything. */
static void what_comes_too_late_reaches_nobody(void **state)
{
    struct harness_job job, other;
    char *text = harness_by_jobfd(&rig, &job, REPORT_AND_WAIT), *text_other, go[128];
    struct answer cancelled = {0}, signalled = {0};
    pid_t runner;

    harness_submit_ok(&rig, &job);
    harness_line(&rig, line, sizeof line);
    runner = harness_runner(&job);
    harness_let_go(&rig);
    TEST_UNTIL(is_zombie(runner), usleep(1000)); /* the loop does not turn */
    snprintf(go, sizeof go, "%s/go", rig.dir);
    assert_int_equal(unlink(go), 0);
    text_other = harness_by_jobfd(&rig, &other, "trap 'exit 9' USR1 TERM; " REPORT_AND_WAIT);
    ops->submit(rig.adapter, &other.job, answer_submit, &(struct answer){0});
    ops->cancel(rig.adapter, &job.job, answer_done, &cancelled);
    ops->signal(rig.adapter, &job.job, SIGUSR1, answer_done, &signalled);
    harness_until(&rig, &cancelled.answers, 1);
    harness_until(&rig, &signalled.answers, 1);
    assert_int_equal(cancelled.answer, ADAPTER_OK);
    rig_expect_success(&job, text);
    harness_line(&rig, line, sizeof line);
    harness_let_go(&rig);
    rig_expect_success(&other, text_other);
}

/* A job that has ended and one that goes on have had the same starter. */
static void the_next_daemon_finds_each_as_it_is(void **state)
{
    struct harness_job before, job;
    char *text = harness_by_jobfd(&rig, &before, "true");

    harness_submit_ok(&rig, &before);
    rig_expect_success(&before, text);
    rig_begin(&job, &text);
    harness_destroy_adapter(&rig);
    harness_create_adapter(&rig);
    assert_int_equal(harness_status(&rig, &before).state, ADAPTER_JOB_ENDED);
    assert_int_equal(harness_status(&rig, &job).state, ADAPTER_JOB_RUNNING);
    harness_cancel(&rig, &before);
    harness_let_go(&rig);
    harness_wait_ended(&rig, &job);
    assert_int_equal(harness_exit(&job).end.outcome, ATTEMPT_SUCCEEDED);
    free(text);
}

/* --- this program as a runner, whose starter answers its first order as a test says, and is a real one after that */

#define REAL_RUNNER "STRETTO_TEST_RUNNER"
#define FIRST_ANSWER "STRETTO_TEST_ANSWER"

static int be_a_runner(char **argv)
{
    const char *first = getenv(FIRST_ANSWER), *runner = getenv(REAL_RUNNER);
    char order[STARTER_ORDER_MAX];

    if (strcmp(argv[1], "--starter") == 0) {
        struct starter_reply reply = {.error = atoi(first)};

        if (recv(STDIN_FILENO, order, sizeof order, 0) <= 0) /* its descriptor is lost with this */
            return 0;
        send(STDIN_FILENO, &reply, reply.error > 0 ? sizeof reply : 1, MSG_NOSIGNAL);
    }
    execv(runner, argv);
    return 127;
}

static void begin_with(const char *first_answer)
{
    static char self[512];
    struct harness_job job;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *text;

    assert_true(n > 0);
    harness_destroy_adapter(&rig);
    setenv(REAL_RUNNER, rig.host.runner, 1);
    setenv(FIRST_ANSWER, first_answer, 1);
    rig.host.runner = self;
    harness_create_adapter(&rig);
    text = harness_by_jobfd(&rig, &job, "true");
    harness_submit_ok(&rig, &job);
    rig_expect_success(&job, text);
    TEST_UNTIL(rig.adapter->starter.watch != NULL, uv_run(&rig.loop, UV_RUN_ONCE));
}

static int open_plain(void **state)
{
    harness_open(&rig, ops, "{\"slots\": 3, \"gpus\": 0}");
    return 0;
}

/* It cannot make a process just now: what it says passes as it does without a starter. */
static void what_it_cannot_start_now_starts_later(void **state)
{
    char eagain[16], *text;
    struct harness_job job;
    struct answer a;
    int before;

    snprintf(eagain, sizeof eagain, "%d", EAGAIN);
    begin_with(eagain);
    before = rig_descriptors(getpid());
    text = harness_by_jobfd(&rig, &job, "true");
    harness_submit(&rig, &job, &a);
    assert_int_equal(a.answer, ADAPTER_OK);
    assert_int_equal(harness_status(&rig, &job).state, ADAPTER_JOB_QUEUED);
    assert_int_equal(rig_descriptors(getpid()), before);
    rig_expect_success(&job, text);
    assert_non_null(rig.adapter->starter.watch); /* it is asked again */
    assert_int_equal(rig_descriptors(getpid()), before);
}

static void what_it_can_never_start_is_refused(void **state)
{
    char enoexec[16], *text;
    struct harness_job job;
    struct answer a;

    snprintf(enoexec, sizeof enoexec, "%d", ENOEXEC);
    begin_with(enoexec);
    text = harness_by_jobfd(&rig, &job, "true");
    harness_submit(&rig, &job, &a);
    assert_int_equal(a.answer, ADAPTER_REFUSED);
    assert_int_equal(harness_status(&rig, &job).state, ADAPTER_JOB_ENDED);
    assert_true(rig.adapter->used.slots == 0);
    free(text);
}

/* A starter that does not speak as it should is done without. */
static void one_that_answers_nonsense_is_dismissed(void **state)
{
    struct harness_job job;
    char *text;

    begin_with("0");
    text = harness_by_jobfd(&rig, &job, "true");
    harness_submit_ok(&rig, &job);
    rig_expect_success(&job, text);
    assert_null(rig.adapter->starter.watch);
}

static unsigned count_starters(void)
{
    unsigned n = 0;
    pid_t pid;

    while ((pid = rig_child("stretto-starter")) != 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        n++;
    }
    return n;
}

/* However many jobs find none. */
static void there_is_one(void **state)
{
    struct harness_job jobs[3];
    struct answer a[3] = {0};
    char *text[3];

    for (int i = 0; i < 3; i++) {
        text[i] = harness_by_jobfd(&rig, &jobs[i], "true");
        ops->submit(rig.adapter, &jobs[i].job, answer_submit, &a[i]);
    }
    for (int i = 0; i < 3; i++)
        rig_expect_success(&jobs[i], text[i]);
    TEST_UNTIL(rig.adapter->starter.watch != NULL && rig.adapter->workers == 0, uv_run(&rig.loop, UV_RUN_ONCE));
    TEST_UNTIL(rig_child("stretto-starter") != 0, usleep(1000)); /* it has taken its name */
    usleep(50000); /* another one would have, too: nothing is waited for */
    assert_int_equal(count_starters(), 1);
}

/* One that dies at once would be started on and on. */
static void it_is_replaced_after_a_pause(void **state)
{
    struct harness_job job;
    char *text;

    kill(rig_child("stretto-starter"), SIGKILL);
    TEST_UNTIL(rig.adapter->starter.watch == NULL && rig.adapter->starter.pid == 0, uv_run(&rig.loop, UV_RUN_ONCE));
    assert_true(rig.adapter->starter.not_before > 0);
    rig.adapter->starter.not_before = uv_now(&rig.loop) + 3600000;
    for (int i = 0; i < 2; i++) {
        uint64_t now = uv_now(&rig.loop);

        text = harness_by_jobfd(&rig, &job, "true");
        harness_submit_ok(&rig, &job);
        rig_expect_success(&job, text);
        TEST_UNTIL(rig.adapter->workers == 0, uv_run(&rig.loop, UV_RUN_ONCE));
        assert_int_equal(rig.adapter->starter.watch != NULL, i == 1);
        assert_true(rig.adapter->starter.not_before >= now + 5000);
        rig.adapter->starter.not_before = uv_now(&rig.loop); /* its time has come */
    }
}

/* The loop writes short descriptors itself; writing a long one takes a worker. */
static void long_descriptors_are_handed_over_by_a_worker(void **state)
{
    static const size_t sizes[] = {256 << 10, (256 << 10) + 1};

    for (int i = 0; i < 2; i++) {
        struct harness_job job;
        char *text = harness_by_jobfd(&rig, &job, REPORT_AND_WAIT), proc[65536], *longer = malloc(sizes[i] + 1);
        size_t n = strlen(text);

        memcpy(longer, text, n);
        memset(longer + n, ' ', sizes[i] - n);
        longer[sizes[i]] = '\0';
        job.job.descriptor = longer;
        harness_submit_ok(&rig, &job);
        harness_line(&rig, line, sizeof line);
        n = rig_proc(harness_runner(&job), "cmdline", proc, sizeof proc);
        assert_int_equal(n >= A_COPY, i == 0);
        harness_let_go(&rig);
        rig_expect_success(&job, text);
        snprintf(line, sizeof line, "%s/go", rig.dir);
        unlink(line);
        free(longer);
    }
}

#define WITH_ALL(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

#define WITH_NONE(test) cmocka_unit_test_setup_teardown(test, open_plain, close_all)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WITH_ALL(a_copy_looks_like_a_runner),
        WITH_ALL(letters_are_closed),
        WITH_ALL(gpus_are_handed_on),
        WITH_ALL(jobs_do_without_it),
        WITH_ALL(what_it_has_not_answered_is_started_anew),
        cmocka_unit_test_setup_teardown(one_that_is_stopped_is_replaced, open_with_looks, close_all),
        WITH_ALL(the_adapter_ends_while_it_is_asked),
        WITH_ALL(one_that_is_cancelled_meanwhile_is_ended_when_it_begins),
        WITH_ALL(a_copy_that_is_killed_loses_its_job_alone),
        WITH_ALL(what_comes_too_late_reaches_nobody),
        WITH_ALL(the_next_daemon_finds_each_as_it_is),
        WITH_NONE(what_it_cannot_start_now_starts_later),
        WITH_NONE(what_it_can_never_start_is_refused),
        WITH_NONE(one_that_answers_nonsense_is_dismissed),
        WITH_NONE(there_is_one),
        WITH_ALL(it_is_replaced_after_a_pause),
        WITH_ALL(long_descriptors_are_handed_over_by_a_worker),
    };

    if (argc > 1)
        return be_a_runner(argv);
    test_limit(200);
    log_init("test", LOG_LEVEL_ERROR);
    ops = rig_ops();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
