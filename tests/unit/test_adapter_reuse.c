/* Runners that run one short job after another: no job can tell, whatever the one before it was, and nothing is lost
 * that would not be lost with a runner of its own. */
#include "common/files.h"
#include "common/log.h"
#include "common/process.h"
#include "tests/unit/starter_rig.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct adapter_ops *ops;
static char line[256];

static int open_all(void **state)
{
    return rig_open_with("{\"slots\": 3, \"gpus\": [\"7\", \"9\", \"11\"]}");
}

static int close_all(void **state)
{
    harness_close(&rig);
    assert_int_equal(rig_child("stretto-run"), 0);
    return 0;
}

/* The one runner that has no job. */
static pid_t idle(void)
{
    const struct local_copy *copy = rig.adapter->copies;

    while (copy != NULL && (copy->pid == 0 || copy->job != NULL || copy->socket < 0))
        copy = copy->next;
    assert_non_null(copy);
    return copy->pid;
}

static pid_t claimed_by(const struct harness_job *job)
{
    struct claim claim;
    struct error err;

    assert_int_equal(claim_read(job->dir, &claim, &err), 0);
    return claim.pid;
}

/* Runs a job to its good end. Returns its runner. */
static pid_t run(const char *script)
{
    struct harness_job job;
    char *text = harness_by_jobfd(&rig, &job, script);

    harness_submit_ok(&rig, &job);
    rig_expect_success(&job, text);
    return claimed_by(&job);
}

static bool shows(pid_t pid, const char *file, const char *string)
{
    char text[65536];

    return rig_holds(text, rig_proc(pid, file, text, sizeof text), string);
}

static bool looks_idle(pid_t pid)
{
    return shows(pid, "cmdline", "--idle");
}

static void one_runner_runs_many_jobs(void **state)
{
    static const char *const scripts[] = {"echo out; echo err >&2", "exec 9> more; echo x >&9",
                                          "echo '{\"step\": 1, \"loss\": 0.5}' >> $STRETTO_METRICS"};
    pid_t runner = idle();
    int before = 0;

    for (int i = 0; i < 30; i++) {
        assert_int_equal(run(scripts[i % 3]), runner);
        TEST_UNTIL(looks_idle(runner), usleep(1000));
        if (i == 3)
            before = rig_descriptors(runner);
    }
    /* one more or less: the log of a job that took longer than a second is in a file */
    assert_in_range(rig_descriptors(runner), before - 1, before + 1);
}

/* Changes a job: its one task has this in its environment, and this umask. Returns the text, which is to be freed. */
static char *adorned(struct harness_job *job, const char *name, const char *umask)
{
    char *text = harness_by_jobfd(&rig, job, "env > env; pwd > pwd"), *changed;
    json_t *desc = json_loads(text, 0, NULL), *task = json_array_get(json_object_get(desc, "tasks"), 0);

    json_object_set_new(json_object_get(task, "env"), name, json_string("here"));
    json_object_set_new(desc, "umask", json_string(umask));
    changed = json_dumps(desc, JSON_COMPACT);
    json_decref(desc);
    free(text);
    job->job.descriptor = changed;
    return changed;
}

static void expect_own(const struct harness_job *job, const char *name, const char *other, mode_t mode, const char *gpus)
{
    char path[200], wanted[300], text[65536] = "";
    struct stat st;
    FILE *f;

    snprintf(path, sizeof path, "%s/env", job->task_dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, mode);
    f = fopen(path, "re");
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    snprintf(wanted, sizeof wanted, "\n%s=here\n", name);
    assert_non_null(strstr(text, wanted));
    snprintf(wanted, sizeof wanted, "\n%s=", other);
    assert_null(strstr(text, wanted));
    snprintf(wanted, sizeof wanted, "\nSTRETTO_JOB=%s\n", job->name);
    assert_non_null(strstr(text, wanted));
    snprintf(wanted, sizeof wanted, "\nCUDA_VISIBLE_DEVICES=%s\n", gpus);
    assert_non_null(strstr(text, wanted));
}

/* Neither the environment nor the umask nor the GPUs of one job are left for the next. */
static void each_job_has_its_own(void **state)
{
    struct harness_job first, second;
    char *text = adorned(&first, "FIRST", "0027");
    pid_t runner = idle();

    first.job.resources.gpus = 2;
    harness_submit_ok(&rig, &first);
    rig_expect_success(&first, text);
    expect_own(&first, "FIRST", "SECOND", 0640, "7,9");
    text = adorned(&second, "SECOND", "0077");
    harness_submit_ok(&rig, &second);
    rig_expect_success(&second, text);
    expect_own(&second, "SECOND", "FIRST", 0600, "");
    assert_int_equal(claimed_by(&first), runner);
    assert_int_equal(claimed_by(&second), runner);
}

/* Whoever looks for the runner of a job, by its mark or in a list of processes, finds that of this job. */
static void it_looks_like_the_runner_of_its_job_alone(void **state)
{
    struct harness_job before, job;
    char *text = harness_by_jobfd(&rig, &before, "true"), mark[128];
    pid_t runner;

    harness_submit_ok(&rig, &before);
    rig_expect_success(&before, text);
    runner = claimed_by(&before);
    snprintf(mark, sizeof mark, "STRETTO_RUNNER=%s", before.name);
    TEST_UNTIL(looks_idle(runner), usleep(1000));
    assert_false(shows(runner, "environ", mark) || shows(runner, "cmdline", before.dir));
    assert_int_equal(rig_begin(&job, &text), runner);
    assert_false(shows(runner, "environ", mark) || shows(runner, "cmdline", before.dir));
    snprintf(mark, sizeof mark, "STRETTO_RUNNER=%s", job.name);
    assert_true(shows(runner, "environ", mark) && shows(runner, "cmdline", job.dir));
    harness_let_go(&rig);
    rig_expect_success(&job, text);
}

static char *log_of(const struct harness_job *job)
{
    char path[200], *text;
    struct error err;
    size_t size;

    snprintf(path, sizeof path, "%s/runner.log", job->dir);
    if (file_read(path, 1 << 20, &text, &size, &err) < 0)
        fail_msg("%s", err.text);
    return text;
}

/* Jobs that fail leave logs in files, each its own. */
static void each_job_has_its_own_log(void **state)
{
    struct harness_job jobs[2];
    pid_t runner = idle();
    char *text;

    for (int i = 0; i < 2; i++) {
        text = harness_by_jobfd(&rig, &jobs[i], "exit 3");
        harness_submit_ok(&rig, &jobs[i]);
        assert_false(harness_wait_ended(&rig, &jobs[i]).node_lost);
        assert_int_equal(claimed_by(&jobs[i]), runner);
        free(text);
        assert_int_equal(run("true"), runner);
    }
    for (int i = 0; i < 2; i++) {
        text = log_of(&jobs[i]);
        assert_non_null(strstr(text, jobs[i].name));
        assert_null(strstr(text, jobs[1 - i].name));
        assert_null(strstr(text, "succeeded"));
        free(text);
    }
}

/* A runner that has warned of something ends: every log of it would go to a file. */
static void after_a_warning_it_ends(void **state)
{
    struct harness_job job;
    char *text = harness_by_jobfd(&rig, &job, "cp /dev/null exit.json"); /* as if the job were given up */
    pid_t runner = idle();

    harness_submit_ok(&rig, &job);
    harness_wait_ended(&rig, &job);
    assert_int_equal(claimed_by(&job), runner);
    free(text);
    TEST_UNTIL(rig.adapter->copies == NULL, uv_run(&rig.loop, UV_RUN_ONCE));
    assert_int_not_equal(run("true"), runner);
}

static int open_impatient(void **state)
{
    rig_idle_ms = 50;
    rig_open_with("{\"slots\": 3, \"gpus\": 0}");
    rig_idle_ms = 3600000;
    return 0;
}

static void nobody_idles_for_ever(void **state)
{
    TEST_UNTIL(rig.adapter->copies == NULL, uv_run(&rig.loop, UV_RUN_ONCE));
    assert_int_equal(rig_child("stretto-run"), 0);
    run("true");
}

static void one_that_dies_idle_is_not_missed(void **state)
{
    static const int signals[] = {SIGKILL, SIGTERM};

    for (int i = 0; i < 2; i++) {
        pid_t runner = idle();

        kill(runner, signals[i]);
        TEST_UNTIL(process_start_time(runner) == 0, usleep(1000)); /* the loop has not turned */
        assert_int_not_equal(run("true"), runner);
        TEST_UNTIL(rig.adapter->copies != NULL && rig.adapter->copies->next == NULL, uv_run(&rig.loop, UV_RUN_ONCE));
    }
}

/* An idle runner gets a job while it is stopped, and `sig`. */
static void give_to_stopped(struct harness_job *job, char **text, int sig)
{
    pid_t runner = idle();

    *text = harness_by_jobfd(&rig, job, "echo ran >> $DIR/ran");
    kill(runner, SIGSTOP);
    TEST_UNTIL(process_is_stopped(runner), usleep(1000));
    harness_submit_ok(&rig, job);
    kill(runner, sig);
    kill(runner, SIGCONT);
}

/* Its job has not begun, and is run again as if the machine of its runner were gone. */
static void one_that_is_killed_before_it_sees_its_order_loses_the_job(void **state)
{
    struct harness_job job;
    struct stat st;
    char *text;

    give_to_stopped(&job, &text, SIGKILL);
    assert_true(harness_wait_ended(&rig, &job).node_lost);
    assert_int_equal(stat(job.dir, &st), -1);
    free(text);
    run("true");
}

/* Somebody has told the process to end, and not the job, which another one runs. */
static void what_an_ending_one_did_not_see_is_run_by_another(void **state)
{
    pid_t runner = idle();
    struct harness_job job;
    char *text;

    give_to_stopped(&job, &text, SIGTERM);
    rig_expect_success(&job, text);
    assert_int_not_equal(claimed_by(&job), runner);
}

/* Unless it was the job that was to end. */
static void a_job_that_is_cancelled_before_it_is_seen_never_begins(void **state)
{
    pid_t runner = idle();
    struct harness_job job;
    struct stat st;
    char *text = harness_by_jobfd(&rig, &job, "true");

    kill(runner, SIGSTOP);
    TEST_UNTIL(process_is_stopped(runner), usleep(1000));
    harness_submit_ok(&rig, &job);
    harness_cancel(&rig, &job);
    kill(runner, SIGCONT);
    assert_false(harness_wait_ended(&rig, &job).node_lost);
    assert_int_equal(stat(job.dir, &st), -1);
    free(text);
}

/* A job ends, and its runner gets a signal for it before this process knows of the end: the next job must not get it. */
static void a_late_signal(int sig)
{
    pid_t runner = idle();
    struct harness_job job, next;
    char *text = harness_by_jobfd(&rig, &job, UNTIL_LET_GO), go[128];
    struct answer a = {0};

    harness_submit_ok(&rig, &job);
    harness_let_go(&rig); /* not before, since the loop has turned meanwhile */
    TEST_UNTIL(access(job.task_dir, F_OK) == 0 && looks_idle(runner), usleep(1000));
    snprintf(go, sizeof go, "%s/go", rig.dir);
    assert_int_equal(unlink(go), 0);
    if (sig == 0)
        ops->cancel(rig.adapter, &job.job, answer_done, &a);
    else
        ops->signal(rig.adapter, &job.job, sig, answer_done, &a);
    harness_until(&rig, &a.answers, 1);
    assert_int_equal(a.answer, ADAPTER_OK);
    rig_expect_success(&job, text);
    text = harness_by_jobfd(&rig, &next, "trap 'exit 9' USR1; " REPORT_AND_WAIT);
    harness_submit_ok(&rig, &next);
    harness_line(&rig, line, sizeof line);
    harness_let_go(&rig);
    rig_expect_success(&next, text);
    assert_int_not_equal(claimed_by(&next), runner);
}

static void a_late_cancellation_meets_no_other_job(void **state)
{
    a_late_signal(0);
}

static void a_late_signal_meets_no_other_job(void **state)
{
    a_late_signal(SIGUSR1);
}

/* The next daemon finds claims of two jobs by one process, which runs the second one. */
static void another_daemon_takes_it_for_the_runner_of_one_job(void **state)
{
    struct harness_job before, job;
    struct adapter_status status;
    char *text = harness_by_jobfd(&rig, &before, "true");
    pid_t runner;

    harness_submit_ok(&rig, &before);
    rig_expect_success(&before, text);
    runner = rig_begin(&job, &text);
    assert_int_equal(claimed_by(&before), runner);
    harness_destroy_adapter(&rig);
    harness_create_adapter(&rig);
    assert_int_equal(harness_status(&rig, &before).state, ADAPTER_JOB_ENDED);
    status = harness_status(&rig, &job);
    assert_int_equal(status.state, ADAPTER_JOB_RUNNING);
    harness_cancel(&rig, &before);
    harness_let_go(&rig);
    harness_wait_ended(&rig, &job);
    assert_int_equal(harness_exit(&job).outcome, EXITREC_SUCCEEDED);
    free(text);
    TEST_UNTIL(rig_child("stretto-run") == 0, usleep(1000)); /* it takes no other job, from nobody */
}

static void with_the_adapter_the_idle_end(void **state)
{
    pid_t runner = idle();

    harness_destroy_adapter(&rig);
    assert_int_equal(kill(runner, 0), -1); /* it has been waited for, too */
}

#define WITH_ALL(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ALL(one_runner_runs_many_jobs),
        WITH_ALL(each_job_has_its_own),
        WITH_ALL(it_looks_like_the_runner_of_its_job_alone),
        WITH_ALL(each_job_has_its_own_log),
        WITH_ALL(after_a_warning_it_ends),
        cmocka_unit_test_setup_teardown(nobody_idles_for_ever, open_impatient, close_all),
        WITH_ALL(one_that_dies_idle_is_not_missed),
        WITH_ALL(one_that_is_killed_before_it_sees_its_order_loses_the_job),
        WITH_ALL(what_an_ending_one_did_not_see_is_run_by_another),
        WITH_ALL(a_job_that_is_cancelled_before_it_is_seen_never_begins),
        WITH_ALL(a_late_cancellation_meets_no_other_job),
        WITH_ALL(a_late_signal_meets_no_other_job),
        WITH_ALL(another_daemon_takes_it_for_the_runner_of_one_job),
        WITH_ALL(with_the_adapter_the_idle_end),
    };

    test_limit(200);
    log_init("test", LOG_LEVEL_ERROR);
    ops = rig_ops();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
