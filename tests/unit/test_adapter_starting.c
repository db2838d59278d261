/* A job while a worker thread starts its runner: posix_spawn() is held at a gate. */
#include "common/log.h"
#include "tests/unit/adapter_harness.h"
#include "tests/unit/adapter_named.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct adapter_ops *ops;
static struct harness h;
static sem_t arrived, gate;
static bool held;
static char line[256];

/* In place of the C library's. */
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
    __typeof__(&posix_spawn) next = (__typeof__(&posix_spawn))dlsym(RTLD_NEXT, "posix_spawn");

    if (held) {
        sem_post(&arrived);
        sem_wait(&gate);
    }
    return next(pid, path, actions, attributes, argv, env);
}

static int open_with_1(void **state)
{
    sem_init(&arrived, 0, 0);
    sem_init(&gate, 0, 0);
    held = true;
    harness_open(&h, ops, "{\"slots\": 1, \"gpus\": 0}");
    return 0;
}

static int close_all(void **state)
{
    sem_post(&gate); /* where the test failed before */
    harness_close(&h);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return 0;
}

/* Submit a job, and leave its worker at the gate. */
static void begin(struct harness_job *job, const char *script, struct answer *submitted)
{
    harness_job(&h, job, script, 0, 1);
    memset(submitted, 0, sizeof *submitted);
    ops->submit(h.adapter, &job->job, answer_submit, submitted);
    assert_int_equal(sem_wait(&arrived), 0);
    uv_run(&h.loop, UV_RUN_NOWAIT);
    assert_int_equal(submitted->answers, 0); /* whether it starts is not known yet */
}

static void open_gate(void)
{
    held = false;
    sem_post(&gate);
}

static void a_job_is_cancelled_while_it_starts(void **state)
{
    struct answer submitted, cancelled = {0};
    struct adapter_status status;
    struct harness_job job, next;

    begin(&job, STUBBORN, &submitted);
    ops->cancel(h.adapter, &job.job, answer_done, &cancelled);
    harness_until(&h, &cancelled.answers, 1);
    assert_int_equal(cancelled.answer, ADAPTER_OK);
    status = harness_status(&h, &job);
    assert_true(status.state != ADAPTER_JOB_ENDED); /* it cannot be taken back, only ended */
    open_gate();
    harness_until(&h, &submitted.answers, 1);
    assert_int_equal(submitted.answer, ADAPTER_OK);
    status = harness_wait_ended(&h, &job);
    assert_int_equal(harness_processes(&job), 0);
    harness_job(&h, &next, "true", 0, 1); /* its slot is free */
    harness_submit_ok(&h, &next);
    harness_wait_ended(&h, &next);
    assert_int_equal(harness_exit(&next).end.outcome, ATTEMPT_SUCCEEDED);
    assert_int_equal(submitted.answers, 1);
    assert_int_equal(cancelled.answers, 1);
}

static void a_signal_finds_it_not_started(void **state)
{
    struct answer submitted;
    struct harness_job job;

    begin(&job, REPORT_AND_WAIT, &submitted);
    assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_UNSURE);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_QUEUED);
    open_gate();
    harness_until(&h, &submitted.answers, 1);
    harness_line(&h, line, sizeof line);
    harness_let_go(&h);
    harness_wait_ended(&h, &job);
}

static void let_through(uv_idle_t *idle)
{
    uv_close((uv_handle_t *)idle, NULL);
    open_gate();
}

/* The daemon's end by SIGTERM: the runner that is just being started goes on, and the next one finds it. */
static void the_adapter_ends_while_a_job_starts(void **state)
{
    struct answer submitted;
    struct harness_job job;
    char path[128];
    struct stat st;
    uv_idle_t idle;

    begin(&job, "echo ran >> $DIR/ran; " REPORT_AND_WAIT, &submitted);
    uv_idle_init(&h.loop, &idle);
    uv_idle_start(&idle, let_through); /* once the end is under way */
    harness_destroy_adapter(&h);
    assert_int_equal(submitted.answers, 1);
    assert_int_equal(submitted.answer, ADAPTER_UNSURE);
    harness_create_adapter(&h);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_RUNNING);
    harness_line(&h, line, sizeof line);
    harness_submit_ok(&h, &job); /* which is not started again */
    harness_let_go(&h);
    assert_false(harness_wait_ended(&h, &job).node_lost);
    assert_int_equal(harness_exit(&job).end.outcome, ATTEMPT_SUCCEEDED);
    snprintf(path, sizeof path, "%s/ran", h.dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 4); /* "ran\n", once */
}

#define WITH_1(test) cmocka_unit_test_setup_teardown(test, open_with_1, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_1(a_job_is_cancelled_while_it_starts),
        WITH_1(a_signal_finds_it_not_started),
        WITH_1(the_adapter_ends_while_a_job_starts),
    };

    test_limit(200);
    log_init("test", LOG_LEVEL_ERROR);
    ops = adapter_named("local");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
