/* A task is started in its directory, with its words, its files and its environment; where any call fails on the way
 * there, its end says why, and nothing is left over: no process, no open file. */
#include "tasks/runner/task.h"

#include "common/files.h"
#include "common/log.h"
#include "tasks/runner/copies.h"
#include "tasks/runner/environment.h"
#include "tasks/runner/looks.h"
#include "tasks/runner/program.h"
#include "tasks/runner/restarts.h"
#include "tasks/runner/silence.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OF_THE_LIBRARY 0x180000000 /* the bits of signals 32 and 33, which no program can set */

static volatile int calls_left = -1; /* the call after so many fails; -1: none does */
static volatile bool failed_one;

static bool fails(int error)
{
    if (calls_left < 0 || calls_left-- > 0)
        return false;
    failed_one = true;
    errno = error;
    return true;
}

static bool fails_with(struct error *err)
{
    return fails(EIO) && error_errno(err, "cannot_start", "it cannot be made") < 0;
}

/* In place of what task_start.c calls: the same, unless it is to fail. */
#define open(...) (fails(EMFILE) ? -1 : open(__VA_ARGS__))
#define fcntl(...) (fails(EMFILE) ? -1 : fcntl(__VA_ARGS__))
#define vfork() (fails(EAGAIN) ? -1 : vfork())
#define chdir(dir) (fails(ESTALE) ? -1 : chdir(dir))
#define dup2(from, to) (fails(EINTR) ? -1 : dup2(from, to))
#define execve(file, argv, env) (fails(ENOEXEC) ? -1 : execve(file, argv, env))
#define dir_make(path, err) (fails_with(err) ? -1 : dir_make(path, err))
#define rendezvous_make(r, job, task, err) (fails_with(err) ? -1 : rendezvous_make(r, job, task, err))
#define checkpoints_begin(c, job, task, err) (fails_with(err) ? -1 : checkpoints_begin(c, job, task, err))
#define program_init(p, task, launch, path, words, checkpoint, err)                                                                 \
    (fails_with(err) ? -1 : program_init(p, task, launch, path, words, checkpoint, err))
#include "tasks/runner/task_start.c"
#undef open
#undef fcntl

static char dir[64], task_dir[80];
static char said[1000];

static int64_t clock_ms(void)
{
    return 1700000000500;
}

static const struct machine machine = {.unix_ms = clock_ms, .monotonic_ms = clock_ms};

static int open_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(task_dir, sizeof task_dir, "%s/7.0", dir);
    calls_left = -1;
    return 0;
}

static int close_dir(void **state)
{
    char rm[96];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static int count_descriptors(void)
{
    DIR *open_ones = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(open_ones) != NULL)
        n++;
    closedir(open_ones);
    return n;
}

static const char *text_of(const char *name)
{
    char path[160], *text;
    struct error err;
    size_t size;

    snprintf(path, sizeof path, "%s/%s", task_dir, name);
    assert_int_equal(file_read(path, sizeof said - 1, &text, &size, &err), 0);
    snprintf(said, sizeof said, "%s", text);
    free(text);
    return said;
}

static struct jobdesc desc;
static struct jobdesc_task task_desc;
static struct job job;
static struct task task;

/* A shell that runs `script`. */
static void describe(const char *script)
{
    desc = (struct jobdesc){.job = "st-start", .ensemble = 7, .ntasks = 1, .tasks = &task_desc};
    task_desc = (struct jobdesc_task){.id = "7.0", .dir = task_dir, .ntasks = 1};
    task_desc.argv = json_pack("[s, s, s]", "/bin/sh", "-c", script);
    task_desc.env = json_pack("{s:s}", "PATH", "/usr/bin:/bin");
    job = (struct job){.machine = &machine, .desc = &desc, .jobfd = -1};
}

static void forget(void)
{
    task_fini(&task);
    json_decref((json_t *)task_desc.argv);
    json_decref((json_t *)task_desc.env);
}

static int exit_status(void)
{
    int status;

    assert_int_equal(waitpid(task.pid, &status, 0), task.pid);
    return status;
}

/* Starts it with each call that it makes failing once. */
static void fail_each_call(void)
{
    int n = 0, before;

    do {
        failed_one = false;
        task_init(&task, &job, &task_desc);
        before = count_descriptors();
        calls_left = n;
        task_start(&task);
        calls_left = -1;
        if (failed_one) {
            assert_true(task.pid == 0);
            assert_int_equal(task.rec.end.outcome, ATTEMPT_FAILED);
            assert_true(strlen(task.rec.end.reason) > 8);
            assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* not even one that has ended */
            assert_int_equal(errno, ECHILD);
        } else {
            assert_int_equal(exit_status(), 0);
        }
        assert_int_equal(count_descriptors(), before);
        task_fini(&task);
        n++;
    } while (failed_one && n < 100);
    assert_in_range(n, 12, 99);
    task_init(&task, &job, &task_desc);
}

static void whatever_fails_is_the_reason_and_leaves_nothing(void **state)
{
    describe("exit 0");
    fail_each_call();
    forget();
}

static void without_a_new_process_it_says_so(void **state)
{
    describe("exit 0");
    for (int n = 0; strstr(task.rec.end.reason, "no new process") == NULL; n++) {
        assert_true(n < 30);
        task_fini(&task);
        task_init(&task, &job, &task_desc);
        calls_left = n;
        task_start(&task);
        if (task.pid > 0)
            exit_status();
    }
    calls_left = -1;
    assert_string_equal(task.rec.end.reason, "cannot start \"/bin/sh\": no new process: Resource temporarily unavailable");
    forget();
}

/* A session of its own, no signal that is ignored or blocked, whatever the runner does with them. */
static void it_begins_as_from_a_login(void **state)
{
    unsigned long long blocked, ignored;
    sigset_t some, old;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    sigprocmask(SIG_BLOCK, &some, &old);
    describe("");
    json_decref((json_t *)task_desc.argv); /* a shell would change what is blocked */
    task_desc.argv = json_pack("[s, s, s, s]", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status");
    task_init(&task, &job, &task_desc);
    task_start(&task);
    assert_true(getsid(task.pid) == task.pid && task.session == task.pid);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_int_equal(exit_status(), 0);
    assert_int_equal(sscanf(text_of("stdout"), "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
    assert_int_equal(blocked, 0);
    assert_int_equal(ignored & ~OF_THE_LIBRARY, 0);
    forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whatever_fails_is_the_reason_and_leaves_nothing, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(without_a_new_process_it_says_so, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(it_begins_as_from_a_login, open_dir, close_dir),
    };

    log_init("task", LOG_LEVEL_NONE);
    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
