/* The process that stands by to become the runners of the local adapter: what it makes looks like any runner, and what becomes
 * of jobs when it goes. */
#include "common/log.h"
#include "common/process.h"
#include "scheduler-adapters/local.h"
#include "scheduler-adapters/registry.h"
#include "tasks/proto/starter.h"
#include "tests/unit/adapter_harness.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define A_COPY 1000 /* bytes of arguments: those of one that was started anew end with its directory */

static const struct adapter_ops *ops;
static struct harness h;
static char line[256];

/* A file of a process: its size, NULs and all, into `text`; "" where there is none. */
static size_t read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    f = fopen(path, "re");
    if (f != NULL) {
        n = fread(text, 1, size - 1, f);
        fclose(f);
    }
    text[n] = '\0';
    return n;
}

/* Our child of that name; 0: none, or no longer. */
static pid_t child_named(const char *name)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    pid_t found = 0;

    while (found == 0 && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        char stat[512], state;
        int parent;

        if (pid == 0 || read_proc(pid, "stat", stat, sizeof stat) == 0)
            continue;
        if (sscanf(strrchr(stat, ')') + 1, " %c %d", &state, &parent) == 2 && parent == getpid() && state != 'Z' &&
            strncmp(strchr(stat, '(') + 1, name, strlen(name)) == 0)
            found = pid;
    }
    closedir(proc);
    return found;
}

/* Run a job of its own, and leave it running. */
static pid_t begin(struct harness_job *job, char **text)
{
    *text = harness_by_jobfd(&h, job, REPORT_AND_WAIT);
    harness_submit_ok(&h, job);
    harness_line(&h, line, sizeof line);
    return harness_runner(job);
}

static void expect_success(struct harness_job *job, char *text)
{
    json_t *records;

    assert_false(harness_wait_ended(&h, job).node_lost);
    records = harness_records(&h, job);
    assert_int_equal(json_array_size(records), 1);
    json_decref(records);
    assert_int_equal(harness_exit(job).outcome, EXITREC_SUCCEEDED);
    free(text);
}

/* The first job asks for a starter, and is started anew; those after it are, too, until it is known that there is one. */
static int open_with(const char *config)
{
    int64_t until = test_clock_s() + test_wait_s();
    char *text, proc[65536], go[128];
    struct harness_job job;
    size_t n;

    harness_open(&h, ops, config);
    snprintf(go, sizeof go, "%s/go", h.dir);
    do {
        n = read_proc(begin(&job, &text), "cmdline", proc, sizeof proc);
        harness_let_go(&h);
        expect_success(&job, text);
        unlink(go);
        if (test_clock_s() > until) {
            test_waited_in_vain = true;
            fail_msg("there is no starter");
        }
    } while (n < A_COPY);
    return 0;
}

static int open_all(void **state)
{
    return open_with("{\"slots\": 3, \"gpus\": [\"7\", \"9\", \"11\"]}");
}

static int open_with_looks(void **state)
{
    return open_with("{\"slots\": 3, \"gpus\": 0, \"stopped\": \"2s\"}");
}

static int close_all(void **state)
{
    harness_close(&h);
    assert_int_equal(child_named("stretto-starter"), 0);
    return 0;
}

static bool holds(const char *text, size_t size, const char *string)
{
    for (const char *s = text; s < text + size; s += strlen(s) + 1)
        if (strcmp(s, string) == 0)
            return true;
    return false;
}

static void a_copy_looks_like_a_runner(void **state)
{
    char *text, proc[65536], mark[128];
    struct harness_job job;
    pid_t runner;
    size_t n;

    runner = begin(&job, &text);
    n = read_proc(runner, "cmdline", proc, sizeof proc);
    assert_true(n >= A_COPY);
    assert_true(holds(proc, n, "--local") && holds(proc, n, "--job-fd") && holds(proc, n, "--gpus=") && holds(proc, n, job.dir));
    assert_false(holds(proc, n, "--starter"));
    n = read_proc(runner, "environ", proc, sizeof proc);
    snprintf(mark, sizeof mark, "STRETTO_RUNNER=%s", job.name);
    assert_true(holds(proc, n, mark));
    read_proc(runner, "comm", proc, sizeof proc);
    assert_string_equal(proc, "stretto-run\n");
    assert_int_equal(child_named("stretto-run"), runner); /* it is ours, not the starter's */
    assert_int_equal(getpgid(runner), runner);
    harness_let_go(&h);
    expect_success(&job, text);
}

static int count_descriptors(pid_t pid)
{
    char path[64];
    DIR *list;
    int n = 0;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    list = opendir(path);
    assert_non_null(list);
    while (readdir(list) != NULL)
        n++;
    closedir(list);
    return n;
}

/* A thousand of them would be all that it may have. */
static void letters_are_closed(void **state)
{
    char *text, go[128];
    struct harness_job job;
    int before = count_descriptors(child_named("stretto-starter"));

    snprintf(go, sizeof go, "%s/go", h.dir);
    for (int i = 0; i < 4; i++) {
        unlink(go);
        begin(&job, &text);
        assert_in_range(count_descriptors(child_named("stretto-starter")), before, before + 1); /* it may still have the newest */
        harness_let_go(&h);
        expect_success(&job, text);
    }
}

static void gpus_are_handed_on(void **state)
{
    char *text, proc[65536];
    struct harness_job job;
    size_t n;

    text = harness_by_jobfd(&h, &job, REPORT_AND_WAIT);
    job.job.resources.gpus = 2;
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    n = read_proc(harness_runner(&job), "cmdline", proc, sizeof proc);
    assert_true(holds(proc, n, "--gpus=7,9"));
    harness_let_go(&h);
    expect_success(&job, text);
}

static void jobs_do_without_it(void **state)
{
    struct harness_job before, after;
    char *text, *text_after;

    begin(&before, &text);
    kill(child_named("stretto-starter"), SIGKILL);
    text_after = harness_by_jobfd(&h, &after, "true");
    harness_submit_ok(&h, &after);
    expect_success(&after, text_after);
    harness_let_go(&h);
    expect_success(&before, text);
}

/* A job is submitted while the starter is stopped. `then` is the signal that it gets after that; 0: none. */
static void what_it_has_not_answered(int then)
{
    pid_t starter = child_named("stretto-starter");
    struct answer submitted = {0};
    struct harness_job job;
    char *text, ran[64], path[128];
    FILE *f;

    text = harness_by_jobfd(&h, &job, "echo ran >> $DIR/ran");
    kill(starter, SIGSTOP);
    ops->submit(h.adapter, &job.job, answer_submit, &submitted);
    uv_run(&h.loop, UV_RUN_NOWAIT);
    assert_int_equal(submitted.answers, 0);
    kill(starter, then);
    harness_until(&h, &submitted.answers, 1);
    assert_int_equal(submitted.answer, ADAPTER_OK);
    expect_success(&job, text);
    snprintf(path, sizeof path, "%s/ran", h.dir);
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
    assert_int_equal(child_named("stretto-starter"), 0);
}

/* The end of the daemon: the order is not carried out, or the next daemon finds who does. */
static void the_adapter_ends_while_it_is_asked(void **state)
{
    struct answer submitted = {0};
    struct harness_job job;
    char *text;

    text = harness_by_jobfd(&h, &job, "true");
    kill(child_named("stretto-starter"), SIGSTOP);
    ops->submit(h.adapter, &job.job, answer_submit, &submitted);
    uv_run(&h.loop, UV_RUN_NOWAIT);
    harness_destroy_adapter(&h);
    assert_int_equal(submitted.answers, 1);
    assert_int_equal(submitted.answer, ADAPTER_UNSURE);
    harness_create_adapter(&h);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_UNKNOWN);
    harness_submit_ok(&h, &job);
    expect_success(&job, text);
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
    harness_destroy_adapter(&h);
    setenv(REAL_RUNNER, h.host.runner, 1);
    setenv(FIRST_ANSWER, first_answer, 1);
    h.host.runner = self;
    harness_create_adapter(&h);
    text = harness_by_jobfd(&h, &job, "true");
    harness_submit_ok(&h, &job);
    expect_success(&job, text);
    TEST_UNTIL(h.adapter->starter.watch != NULL, uv_run(&h.loop, UV_RUN_ONCE));
}

static int open_plain(void **state)
{
    harness_open(&h, ops, "{\"slots\": 3, \"gpus\": 0}");
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
    before = count_descriptors(getpid());
    text = harness_by_jobfd(&h, &job, "true");
    harness_submit(&h, &job, &a);
    assert_int_equal(a.answer, ADAPTER_OK);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_QUEUED);
    assert_int_equal(count_descriptors(getpid()), before);
    expect_success(&job, text);
    assert_non_null(h.adapter->starter.watch); /* it is asked again */
    assert_int_equal(count_descriptors(getpid()), before);
}

static void what_it_can_never_start_is_refused(void **state)
{
    char enoexec[16], *text;
    struct harness_job job;
    struct answer a;

    snprintf(enoexec, sizeof enoexec, "%d", ENOEXEC);
    begin_with(enoexec);
    text = harness_by_jobfd(&h, &job, "true");
    harness_submit(&h, &job, &a);
    assert_int_equal(a.answer, ADAPTER_REFUSED);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_ENDED);
    assert_true(h.adapter->used.slots == 0);
    free(text);
}

/* A starter that does not speak as it should is done without. */
static void one_that_answers_nonsense_is_dismissed(void **state)
{
    struct harness_job job;
    char *text;

    begin_with("0");
    text = harness_by_jobfd(&h, &job, "true");
    harness_submit_ok(&h, &job);
    expect_success(&job, text);
    assert_null(h.adapter->starter.watch);
}

static unsigned count_starters(void)
{
    unsigned n = 0;
    pid_t pid;

    while ((pid = child_named("stretto-starter")) != 0) {
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
        text[i] = harness_by_jobfd(&h, &jobs[i], "true");
        ops->submit(h.adapter, &jobs[i].job, answer_submit, &a[i]);
    }
    for (int i = 0; i < 3; i++)
        expect_success(&jobs[i], text[i]);
    TEST_UNTIL(h.adapter->starter.watch != NULL && h.adapter->workers == 0, uv_run(&h.loop, UV_RUN_ONCE));
    TEST_UNTIL(child_named("stretto-starter") != 0, usleep(1000)); /* it has taken its name */
    usleep(50000); /* another one would have, too: nothing is waited for */
    assert_int_equal(count_starters(), 1);
}

/* One that dies at once would be started on and on. */
static void it_is_replaced_after_a_pause(void **state)
{
    struct harness_job job;
    char *text;

    kill(child_named("stretto-starter"), SIGKILL);
    TEST_UNTIL(h.adapter->starter.watch == NULL && h.adapter->starter.pid == 0, uv_run(&h.loop, UV_RUN_ONCE));
    assert_true(h.adapter->starter.not_before > 0);
    h.adapter->starter.not_before = uv_now(&h.loop) + 3600000;
    for (int i = 0; i < 2; i++) {
        uint64_t now = uv_now(&h.loop);

        text = harness_by_jobfd(&h, &job, "true");
        harness_submit_ok(&h, &job);
        expect_success(&job, text);
        TEST_UNTIL(h.adapter->workers == 0, uv_run(&h.loop, UV_RUN_ONCE));
        assert_int_equal(h.adapter->starter.watch != NULL, i == 1);
        assert_true(h.adapter->starter.not_before >= now + 5000);
        h.adapter->starter.not_before = uv_now(&h.loop); /* its time has come */
    }
}

/* The loop writes short descriptors itself; writing a long one takes a worker. */
static void long_descriptors_are_handed_over_by_a_worker(void **state)
{
    static const size_t sizes[] = {256 << 10, (256 << 10) + 1};

    for (int i = 0; i < 2; i++) {
        struct harness_job job;
        char *text = harness_by_jobfd(&h, &job, REPORT_AND_WAIT), proc[65536], *longer = malloc(sizes[i] + 1);
        size_t n = strlen(text);

        memcpy(longer, text, n);
        memset(longer + n, ' ', sizes[i] - n);
        longer[sizes[i]] = '\0';
        job.job.descriptor = longer;
        harness_submit_ok(&h, &job);
        harness_line(&h, line, sizeof line);
        n = read_proc(harness_runner(&job), "cmdline", proc, sizeof proc);
        assert_int_equal(n >= A_COPY, i == 0);
        harness_let_go(&h);
        expect_success(&job, text);
        snprintf(line, sizeof line, "%s/go", h.dir);
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
    ops = adapter_registry_find("local");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
