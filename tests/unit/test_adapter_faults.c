/* The local adapter where the system refuses what it is asked for: the calls below stand in place of the C
 * library's. */
#include "common/log.h"
#include "common/process.h"
#include "common/timefmt.h"
#include "scheduler-adapters/local.h"
#include "tests/unit/adapter_harness.h"
#include "tests/unit/adapter_named.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

static const struct adapter_ops *ops;
static struct harness h;
static char line[256];

static atomic_int spawn_failures[8]; /* errnos of the next starts, from the last; 0: none */
static atomic_int n_spawn_failures, memory_failures, starter_failure;
static atomic_bool is_held;
static sem_t arrived, gate;
static atomic_int spared, spared_from; /* a process, and the signal that does not reach it but fails with EPERM, or is lost if it is SIGKILL */
static pid_t watched; /* the process whose signals are counted */
static int n_signals;
static bool no_pidfds;
static atomic_bool hurried; /* nobody sleeps */
static char proc[128];      /* a directory in place of /proc; "": none */

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
    bool is_starter = argv[1] != NULL && strcmp(argv[1], "--starter") == 0;

    if (is_starter && starter_failure != 0)
        return starter_failure;
    if (!is_starter && is_held) {
        sem_post(&arrived);
        sem_wait(&gate);
    }
    if (!is_starter) {
        int n = atomic_fetch_sub(&n_spawn_failures, 1) - 1;

        if (n >= 0)
            return spawn_failures[n];
        atomic_store(&n_spawn_failures, 0);
    }
    return NEXT(posix_spawn)(pid, path, actions, attributes, argv, env);
}

int memfd_create(const char *name, unsigned flags)
{
    if (memory_failures > 0) {
        memory_failures--;
        errno = EMFILE;
        return -1;
    }
    return NEXT(memfd_create)(name, flags);
}

int kill(pid_t pid, int sig)
{
    n_signals += pid == watched && sig != 0;
    if (pid != 0 && pid == spared && sig == spared_from) {
        errno = EPERM;
        return sig == SIGKILL ? 0 : -1;
    }
    return NEXT(kill)(pid, sig);
}

long syscall(long number, ...)
{
    long a[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (no_pidfds && number == SYS_pidfd_open) {
        errno = ENOSYS;
        return -1;
    }
    return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int nanosleep(const struct timespec *pause, struct timespec *rest)
{
    return hurried ? 0 : NEXT(nanosleep)(pause, rest);
}

DIR *opendir(const char *name)
{
    return NEXT(opendir)(proc[0] != '\0' && strcmp(name, "/proc") == 0 ? proc : name);
}

static int open_all(void **state)
{
    const char *config = *state;

    sem_init(&arrived, 0, 0);
    sem_init(&gate, 0, 0);
    harness_open(&h, ops, config != NULL ? config : "{\"slots\": 1, \"gpus\": 0}");
    return 0;
}

static int close_all(void **state)
{
    no_pidfds = hurried = is_held = false;
    n_spawn_failures = memory_failures = starter_failure = spared = 0;
    proc[0] = '\0';
    sem_post(&gate);
    harness_close(&h);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return 0;
}

static int count_descriptors(void)
{
    DIR *list = opendir("/proc/self/fd");
    int n = 0;

    assert_non_null(list);
    while (readdir(list) != NULL)
        n++;
    closedir(list);
    return n;
}

static void assert_succeeded(struct harness_job *job)
{
    assert_false(harness_wait_ended(&h, job).node_lost);
    assert_int_equal(harness_exit(job).end.outcome, ATTEMPT_SUCCEEDED);
}

/* The machine is full just now. A submission counts, and so does its place in the queue; none is begun twice. */
static void what_cannot_start_now_starts_later(void **state)
{
    static const int passing[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC, EDQUOT};
    enum { N = sizeof passing / sizeof *passing };
    struct harness_job jobs[N];
    struct answer a;

    for (int i = 0; i < N; i++)
        spawn_failures[i] = passing[i];
    n_spawn_failures = N;
    for (int i = 0; i < N; i++) {
        harness_job(&h, &jobs[i], "echo ran >>$DIR/ran", 0, 1);
        harness_submit(&h, &jobs[i], &a);
        assert_int_equal(a.answer, ADAPTER_OK);
    }
    for (int i = 0; i < N; i++)
        assert_succeeded(&jobs[i]);
    assert_true(h.adapter->used.slots == 0);
}

/* Its worker stays at the gate, and is to fail there. */
static void begin_held(struct harness_job *job, const char *script, struct answer *submitted)
{
    *submitted = (struct answer){0};
    spawn_failures[0] = EAGAIN;
    n_spawn_failures = 1;
    is_held = true;
    harness_job(&h, job, script, 0, 1);
    ops->submit(h.adapter, &job->job, answer_submit, submitted);
    assert_int_equal(sem_wait(&arrived), 0);
    is_held = false;
}

static void it_keeps_its_place(void **state)
{
    struct harness_job first, second;
    struct answer submitted;

    begin_held(&first, "echo first > $FIFO", &submitted);
    harness_job(&h, &second, "echo second > $FIFO", 0, 1);
    harness_submit_ok(&h, &second);
    sem_post(&gate);
    harness_until(&h, &submitted.answers, 1);
    assert_int_equal(submitted.answer, ADAPTER_OK);
    assert_int_equal(harness_status(&h, &first).state, ADAPTER_JOB_QUEUED);
    assert_int_equal(harness_status(&h, &second).state, ADAPTER_JOB_QUEUED);
    assert_true(h.adapter->used.slots == 0);
    assert_succeeded(&second);
    assert_succeeded(&first);
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "first");
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "second");
    assert_int_equal(submitted.answers, 1);
}

/* It never starts, and those behind it do. */
static void it_is_cancelled_meanwhile(void **state)
{
    struct harness_job first, second;
    struct answer submitted, cancelled = {0};

    begin_held(&first, "echo first >>$DIR/ran", &submitted);
    harness_job(&h, &second, "true", 0, 1);
    harness_submit_ok(&h, &second);
    ops->cancel(h.adapter, &first.job, answer_done, &cancelled);
    harness_until(&h, &cancelled.answers, 1);
    sem_post(&gate);
    harness_until(&h, &submitted.answers, 1);
    assert_string_equal(harness_wait_ended(&h, &first).reason, "cancelled before it started");
    assert_succeeded(&second);
    snprintf(line, sizeof line, "%s/ran", h.dir);
    assert_int_equal(access(line, F_OK), -1);
    assert_true(h.adapter->used.slots == 0);
}

/* For good: nothing is tried again, and the slot is free. */
static void what_can_never_start_is_refused(void **state)
{
    static const int final[] = {EACCES, ENOEXEC, ENOENT};
    struct harness_job job;
    struct answer a;

    for (size_t i = 0; i < sizeof final / sizeof *final; i++) {
        struct adapter_status status;

        spawn_failures[0] = final[i];
        n_spawn_failures = 1;
        harness_job(&h, &job, "true", 0, 1);
        harness_submit(&h, &job, &a);
        assert_int_equal(a.answer, ADAPTER_REFUSED);
        assert_string_equal(a.err.code, "submit_refused");
        assert_non_null(strstr(a.err.text, strerror(final[i])));
        status = harness_status(&h, &job);
        assert_int_equal(status.state, ADAPTER_JOB_ENDED);
        assert_false(status.node_lost);
        assert_non_null(strstr(status.reason, strerror(final[i])));
        assert_true(h.adapter->used.slots == 0);
    }
}

/* Each job is started anew then, and finds its descriptor all the same. */
static void without_a_starter_all_goes_on(void **state)
{
    struct harness_job job;
    json_t *records;
    char *text;
    int before;

    starter_failure = EAGAIN;
    for (int i = 0; i < 3; i++) {
        text = harness_by_jobfd(&h, &job, "true");
        harness_submit_ok(&h, &job);
        assert_succeeded(&job);
        records = harness_records(&h, &job);
        assert_int_equal(json_array_size(records), 1);
        json_decref(records);
        free(text);
        if (i == 0) {
            TEST_UNTIL(h.adapter->workers == 0, uv_run(&h.loop, UV_RUN_ONCE));
            before = count_descriptors();
        }
        assert_null(h.adapter->starter.watch);
        assert_int_equal(h.adapter->starter.pid, 0);
        h.adapter->starter.not_before = 0; /* the next one tries to raise one again */
    }
    TEST_UNTIL(h.adapter->workers == 0, uv_run(&h.loop, UV_RUN_ONCE));
    assert_int_equal(count_descriptors(), before); /* nothing of those that failed is left open */
    starter_failure = 0;
    text = harness_by_jobfd(&h, &job, "true");
    harness_submit_ok(&h, &job);
    assert_succeeded(&job);
    free(text);
    TEST_UNTIL(h.adapter->starter.watch != NULL, uv_run(&h.loop, UV_RUN_ONCE));
}

static void a_descriptor_that_cannot_be_handed_over_is_tried_again(void **state)
{
    struct harness_job job;
    char *text = harness_by_jobfd(&h, &job, "true");
    struct answer a;

    memory_failures = 1;
    harness_submit(&h, &job, &a);
    assert_int_equal(a.answer, ADAPTER_OK);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_QUEUED);
    assert_succeeded(&job);
    free(text);
    TEST_UNTIL(h.adapter->starter.watch != NULL, uv_run(&h.loop, UV_RUN_ONCE));
    text = harness_by_jobfd(&h, &job, "true");
    memory_failures = 2; /* once for the starter, then for a runner of its own */
    harness_submit(&h, &job, &a);
    assert_int_equal(a.answer, ADAPTER_OK);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_QUEUED);
    assert_succeeded(&job);
    free(text);
}

#define REPORT_SIGNALS "trap 'echo got > $FIFO; exit 0' USR1; echo ready > $FIFO; while :; do sleep 0.05; done"

/* By the start time it is told apart from another process that has its pid by now. */
static void runners_are_known_where_the_kernel_has_no_pidfds(void **state)
{
    struct harness_job job;
    pid_t runner;

    no_pidfds = true;
    for (int i = 0; i < 2; i++) {
        harness_job(&h, &job, i == 0 ? REPORT_SIGNALS : STUBBORN, 0, 1);
        harness_submit_ok(&h, &job);
        harness_line(&h, line, sizeof line);
        harness_destroy_adapter(&h);
        harness_create_adapter(&h);
        assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_RUNNING);
        assert_int_equal(local_job_find(h.adapter, job.name)->pidfd, -1);
        runner = harness_runner(&job);
        if (i == 0) {
            assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_OK);
            harness_line(&h, line, sizeof line);
            assert_string_equal(line, "got");
            assert_succeeded(&job);
        } else {
            kill(runner, SIGKILL);
            assert_true(harness_wait_ended(&h, &job).node_lost);
            assert_int_equal(harness_processes(&job), 0);
        }
        waitpid(runner, NULL, 0);
    }
}

static void a_process_that_has_its_pid_gets_no_signal(void **state)
{
    pid_t pid = harness_process_that_blocks(SIGUSR1, SIGUSR2);
    struct answer signalled = {0}, cancelled = {0};
    struct harness_job job;
    int status;

    no_pidfds = true;
    harness_job(&h, &job, "true", 0, 1);
    harness_claim(&job, pid, process_start_time(pid), (double)(time_now_ms() / 1000), NULL);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_RUNNING);
    watched = pid;
    n_signals = 0;
    local_job_find(h.adapter, job.name)->start_time--;
    ops->signal(h.adapter, &job.job, SIGUSR1, answer_done, &signalled);
    ops->cancel(h.adapter, &job.job, answer_done, &cancelled);
    assert_int_equal(n_signals, 0);
    harness_until(&h, &signalled.answers, 1);
    assert_int_equal(signalled.answer, ADAPTER_REFUSED);
    harness_until(&h, &cancelled.answers, 1);
    assert_int_equal(cancelled.answer, ADAPTER_OK);
    /* then it is looked up again, where it is the runner after all, and was told to end */
    harness_wait_ended(&h, &job);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void a_signal_that_fails_may_be_sent_again(void **state)
{
    struct harness_job job;

    harness_job(&h, &job, REPORT_SIGNALS, 0, 1);
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    spared_from = SIGUSR1;
    spared = harness_runner(&job);
    assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_UNSURE);
    spared = 0;
    assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_OK);
    harness_line(&h, line, sizeof line);
    assert_succeeded(&job);
}

/* A runner that hangs before its claim, as on a file system that does not answer, and an adapter that finds it: in a
 * table of processes that holds no other, since it is read a thousand times. */
static pid_t a_runner_that_hangs(struct harness_job *job)
{
    char path[160], process[32];
    pid_t pid;

    harness_hang_runners(&h, true);
    harness_job(&h, job, "true", 0, 1);
    harness_submit_ok(&h, job);
    pid = (pid_t)atoi(harness_status(&h, job).scheduler_id + strlen("local:"));
    assert_true(pid > 0);
    TEST_UNTIL(process_signal_marked("STRETTO_RUNNER", job->name, 0) == 1, usleep(1000)); /* it has begun its program */
    harness_hang_runners(&h, false);
    snprintf(path, sizeof path, "%s/proc", h.dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/proc/%d", h.dir, (int)pid);
    snprintf(process, sizeof process, "/proc/%d", (int)pid);
    assert_int_equal(symlink(process, path), 0);
    snprintf(proc, sizeof proc, "%s/proc", h.dir);
    hurried = true;
    return pid;
}

static void find(struct harness_job *job, struct answer *a, struct adapter_status *status)
{
    *a = (struct answer){.n = 1, .statuses = status};
    ops->find(h.adapter, &job->job, 1, answer_poll, a);
    harness_until(&h, &a->answers, 1);
}

static void a_runner_that_claims_nothing_is_killed_in_the_end(void **state)
{
    struct harness_job job, next;
    struct adapter_status status;
    struct answer a;
    pid_t pid = a_runner_that_hangs(&job);
    int ended;

    find(&job, &a, &status);
    assert_int_equal(a.answer, ADAPTER_OK);
    assert_int_equal(status.state, ADAPTER_JOB_UNKNOWN);
    TEST_UNTIL(waitpid(pid, &ended, WNOHANG) == pid, usleep(1000));
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    harness_job(&h, &next, "true", 0, 1);
    harness_submit_ok(&h, &next);
    assert_succeeded(&next);
}

/* It may begin the job yet. */
static void of_one_that_cannot_be_killed_nothing_is_known(void **state)
{
    struct harness_job job;
    struct adapter_status status;
    struct answer a, cancelled = {0};
    pid_t pid = a_runner_that_hangs(&job);
    int ended;

    spared_from = SIGKILL;
    spared = pid;
    find(&job, &a, &status);
    assert_int_equal(a.answer, ADAPTER_UNSURE);
    assert_string_equal(a.err.code, "job_starting");
    assert_int_equal(waitpid(pid, &ended, WNOHANG), 0);
    ops->cancel(h.adapter, &job.job, answer_done, &cancelled);
    harness_until(&h, &cancelled.answers, 1);
    assert_int_equal(cancelled.answer, ADAPTER_UNSURE);
    spared = 0;
    find(&job, &a, &status);
    assert_int_equal(a.answer, ADAPTER_OK);
    assert_int_equal(status.state, ADAPTER_JOB_UNKNOWN);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"what_cannot_start_now_starts_later", what_cannot_start_now_starts_later, open_all, close_all, "{\"slots\": 9, \"gpus\": 0}"},
        CASE(it_keeps_its_place),
        CASE(it_is_cancelled_meanwhile),
        CASE(what_can_never_start_is_refused),
        CASE(without_a_starter_all_goes_on),
        CASE(a_descriptor_that_cannot_be_handed_over_is_tried_again),
        CASE(runners_are_known_where_the_kernel_has_no_pidfds),
        CASE(a_process_that_has_its_pid_gets_no_signal),
        CASE(a_signal_that_fails_may_be_sent_again),
        CASE(a_runner_that_claims_nothing_is_killed_in_the_end),
        CASE(of_one_that_cannot_be_killed_nothing_is_known),
    };

    test_limit(100);
    log_init("test", LOG_LEVEL_ERROR);
    ops = adapter_named("local");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
