/* A task is started in its directory, with its words, its files and its environment; where any call fails on the way
 * there, its end says why, and nothing is left over: no process, no open file. */
#include "tasks/runner/task.h"

#include "common/files.h"
#include "common/log.h"
#include "common/units.h"
#include "common/xalloc.h"
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
#include <sys/prctl.h>
#include <sys/stat.h>
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
            assert_true(task.ended && task.pid == 0);
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

static void the_same_where_output_is_merged(void **state)
{
    describe("exit 0");
    desc.merged = true;
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

static void it_has_its_directory_its_files_and_its_umask(void **state)
{
    char wanted[200];
    struct stat st;

    describe("pwd; echo oh >&2; read -r line || echo nothing; umask; : >new");
    task_init(&task, &job, &task_desc);
    task_start(&task);
    assert_int_equal(exit_status(), 0);
    snprintf(wanted, sizeof wanted, "%s\nnothing\n0077\n", task_dir);
    assert_string_equal(text_of("stdout"), wanted);
    assert_string_equal(text_of("stderr"), "oh\n");
    snprintf(wanted, sizeof wanted, "%s/stdout", task_dir);
    assert_int_equal(stat(wanted, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    forget();

    describe("umask; echo oh >&2; echo yes");
    desc.umask = "027";
    desc.merged = true;
    task_init(&task, &job, &task_desc);
    task_start(&task);
    assert_int_equal(exit_status(), 0);
    assert_string_equal(text_of("stdout"), "0027\noh\nyes\n"); /* a new file, in the order of the writes */
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

static void it_is_told_what_is_its_own(void **state)
{
    static const char *const parts[] = {"g0,g1", "g2,g3", "g4,g5"};
    struct jobdesc_task three[3];

    for (int i = 0; i < 3; i++) {
        char wanted[400];

        describe("echo $STRETTO_JOB $STRETTO_TASK $STRETTO_NTASKS $STRETTO_GPUS $CUDA_VISIBLE_DEVICES $STRETTO_DEADLINE "
                 "$STRETTO_CHECKPOINT_BEFORE $PATH $STRETTO_TMPDIR $STRETTO_METRICS");
        for (int j = 0; j < 3; j++)
            three[j] = task_desc;
        three[i].ntasks = 4;
        three[i].nodes = 1;
        three[i].path = json_pack("[s, s]", "/first", "/second");
        desc.ntasks = 3;
        desc.tasks = three;
        desc.checkpoint.before_ms = 2500;
        job.gpus = "g0,g1,g2,g3,g4,g5,g6"; /* one is left */
        job.deadline = 1700000099;
        job.tmpdir = "/scratch";
        task_init(&task, &job, &three[i]);
        task_start(&task);
        assert_int_equal(exit_status(), 0);
        snprintf(wanted, sizeof wanted, "st-start st-start/7.0 4 %s %s 1700000099 2.5 /first:/second:/usr/bin:/bin /scratch %s/metrics.jsonl\n",
                 parts[i], parts[i], task_dir);
        assert_string_equal(text_of("stdout"), wanted);
        json_decref((json_t *)three[i].path);
        forget();
    }
}

static void placeholders_of_launchers_have_their_words(void **state)
{
    static const char *const wanted[][2] = {{"{hosts}", "a:2,b:1"}, {"{hostfile}", "/hosts"}, {"{master_addr}", "a"}, {"{master_port}", "7"}};
    char hosts[] = "a:2,b:1", file[] = "/hosts", address[] = "a";
    const struct rendezvous r = {.hosts = hosts, .hostfile = file, .address = address, .port = "7"};
    struct program_word words[RENDEZVOUS_WORDS];
    size_t n = 0;

    rendezvous_words(&r, words);
    for (; words[n].mark != NULL; n++) {
        assert_true(n < sizeof wanted / sizeof *wanted);
        assert_string_equal(words[n].mark, wanted[n][0]);
        assert_string_equal(words[n].text, wanted[n][1]);
    }
    assert_int_equal(n, sizeof wanted / sizeof *wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placeholders_of_launchers_have_their_words),
        cmocka_unit_test_setup_teardown(whatever_fails_is_the_reason_and_leaves_nothing, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(the_same_where_output_is_merged, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(without_a_new_process_it_says_so, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(it_has_its_directory_its_files_and_its_umask, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(it_begins_as_from_a_login, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(it_is_told_what_is_its_own, open_dir, close_dir),
    };

    log_init("task", LOG_LEVEL_NONE);
    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
