/* The small parts of common/ that have no file of their own here: errors, words for a shell, threads, job fds, standard
 * output. */
#include "common/error.h"
#include "common/jobfd.h"
#include "common/output.h"
#include "common/shell_word.h"
#include "common/thread.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

static void an_error_has_its_code_its_place_and_its_words(void **state)
{
    struct error err;

    memset(&err, 'x', sizeof err);
    assert_int_equal(error_set(&err, "code", "%s %d", "seven", 7), -1);
    assert_string_equal(err.code, "code");
    assert_string_equal(err.pointer, "");
    assert_string_equal(err.text, "seven 7");
    assert_int_equal(error_at(&err, "other", "/a/b", "in %s: %s", "there", err.text), -1); /* it may quote itself */
    assert_string_equal(err.code, "other");
    assert_string_equal(err.pointer, "/a/b");
    assert_string_equal(err.text, "in there: seven 7");
    assert_int_equal(error_at(&err, err.code, err.pointer, "again"), -1);
    assert_string_equal(err.code, "other");
    assert_string_equal(err.pointer, "/a/b");
    errno = ENOSPC;
    assert_int_equal(error_errno(&err, "full", "cannot write %s", "/x"), -1);
    assert_int_equal(errno, ENOSPC);
    assert_string_equal(err.code, "full");
    assert_string_equal(err.pointer, "");
    assert_string_equal(err.text, "cannot write /x: No space left on device");
}

/* By a real sh. */
static void a_shell_reads_one_word(void **state)
{
    static const char *const texts[] = {"", "plain", "a b", "it's", "'", "''", "a'b'c", "$HOME `x` \"\\", "*\n?"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *word = shell_word(texts[i]), *command = xasprintf("printf '%%s|%%s' %s end", word), read[64];
        FILE *sh = popen(command, "r");
        char *wanted = xasprintf("%s|end", texts[i]);
        size_t n;

        assert_non_null(sh);
        n = fread(read, 1, sizeof read - 1, sh);
        read[n] = '\0';
        assert_int_equal(pclose(sh), 0);
        assert_string_equal(read, wanted);
        free(wanted);
        free(command);
        free(word);
    }
}

static void *note_signals(void *arg)
{
    pthread_sigmask(SIG_SETMASK, NULL, arg);
    return arg;
}

/* A program's signals are for its own threads. */
static void a_thread_of_a_library_takes_no_signals(void **state)
{
    static const int some[] = {SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGCHLD};
    sigset_t before, there, after;
    pthread_t thread;
    void *ended;

    sigemptyset(&before);
    sigaddset(&before, SIGWINCH);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    sigemptyset(&there);
    assert_int_equal(thread_start(&thread, note_signals, &there), 0);
    assert_int_equal(pthread_join(thread, &ended), 0);
    assert_ptr_equal(ended, &there);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        assert_int_equal(sigismember(&there, some[i]), 1);
        assert_int_equal(sigismember(&after, some[i]), 0); /* the caller has its own back */
    }
    assert_int_equal(sigismember(&after, SIGWINCH), 1);
    sigemptyset(&before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int shared = -1;

int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *with)
{
    assert_int_equal(pthread_condattr_getpshared(with, &shared), 0);
    return NEXT(pthread_cond_init)(cond, with);
}

static void leave_ones_on_the_stack(void)
{
    volatile unsigned char ones[4096];

    for (size_t i = 0; i < sizeof ones; i++)
        ones[i] = 0xff;
}

/* Whatever was in the memory before, it is not shared with other processes. */
static void a_condition_belongs_to_its_process(void **state)
{
    pthread_cond_t cond;

    leave_ones_on_the_stack();
    thread_cond_init(&cond);
    assert_int_equal(shared, PTHREAD_PROCESS_PRIVATE);
    pthread_cond_destroy(&cond);
}

static void a_job_fd_carries_orders_and_an_answer(void **state)
{
    static const char orders[] = "{\"job\": \"a\"}", answer[] = "short";
    struct error err;
    size_t size;
    char *text;
    int before = test_descriptors(), fd = jobfd_write(orders, strlen(orders), &err);

    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    text = jobfd_read(fd, &size, &err);
    assert_int_equal(size, strlen(orders));
    assert_string_equal(text, orders);
    free(text);
    text = jobfd_read(fd, &size, &err); /* by any number of readers, each from its beginning */
    assert_string_equal(text, orders);
    free(text);
    assert_int_equal(jobfd_answer(fd, answer, strlen(answer), &err), 0);
    text = jobfd_read(fd, &size, &err);
    assert_string_equal(text, answer); /* in their place */
    assert_int_equal(size, strlen(answer));
    free(text);
    close(fd);
    assert_null(jobfd_read(fd, &size, &err));
    assert_int_equal(errno, EBADF);
    assert_string_equal(err.code, "job_fd");
    assert_int_equal(jobfd_answer(fd, answer, 1, &err), -1);
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(jobfd_answer(fd, answer, 1, &err), -1);
    close(fd);
    assert_int_equal(test_descriptors(), before);
}

/* Nobody reads what anyone might have put there without a limit. */
static void a_job_fd_has_a_limit(void **state)
{
    struct error err;
    size_t size;
    char *text;
    int fd = jobfd_write("", 0, &err);

    assert_true(fd >= 0);
    text = jobfd_read(fd, &size, &err);
    assert_non_null(text);
    assert_int_equal(size, 0);
    free(text);
    assert_int_equal(ftruncate(fd, (off_t)JOBFD_MAX), 0);
    text = jobfd_read(fd, &size, &err);
    assert_non_null(text);
    assert_int_equal(size, JOBFD_MAX);
    free(text);
    assert_int_equal(ftruncate(fd, (off_t)JOBFD_MAX + 1), 0);
    assert_null(jobfd_read(fd, &size, &err));
    assert_int_equal(errno, EFBIG);
    close(fd);
}

/* No more than a process may write: none is handed over. */
static void a_job_fd_that_cannot_be_written_is_none(void **state)
{
    struct rlimit whole, small;
    int before = test_descriptors();
    struct error err = {.text = ""};
    char large[2000] = "";

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
    small = (struct rlimit){1000, whole.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(jobfd_write(large, sizeof large, &err), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
    assert_string_equal(err.code, "job_fd");
    assert_non_null(strstr(err.text, "File too large"));
    assert_int_equal(test_descriptors(), before);
}

/* The exit status of a program that prints to that file, and what it says on standard error. */
static int status_of_output(const char *to, bool early, char said[256])
{
    int ends[2], status;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int fd = open(to, O_WRONLY | O_CLOEXEC);

        dup2(ends[1], STDERR_FILENO);
        dup2(fd, STDOUT_FILENO);
        output_check_at_exit("program", 9);
        printf("something");
        if (early)
            fflush(stdout);
        exit(3);
    }
    close(ends[1]);
    for (size_t size = 0; (n = read(ends[0], said + size, 255 - size)) >= 0; size += (size_t)n) {
        said[size + (size_t)n] = '\0';
        if (n == 0)
            break;
    }
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void output_that_is_lost_is_a_failure(void **state)
{
    char said[256];

    if (access("/dev/full", W_OK) < 0)
        skip();
    assert_int_equal(status_of_output("/dev/null", false, said), 3);
    assert_string_equal(said, "");
    assert_int_equal(status_of_output("/dev/full", false, said), 9);
    assert_non_null(strstr(said, "program: "));
    assert_non_null(strstr(said, "No space left"));
    assert_int_equal(status_of_output("/dev/full", true, said), 9); /* it was lost before the end */
    assert_non_null(strstr(said, "program: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_has_its_code_its_place_and_its_words),
        cmocka_unit_test(a_shell_reads_one_word),
        cmocka_unit_test(a_thread_of_a_library_takes_no_signals),
        cmocka_unit_test(a_condition_belongs_to_its_process),
        cmocka_unit_test(a_job_fd_carries_orders_and_an_answer),
        cmocka_unit_test(a_job_fd_has_a_limit),
        cmocka_unit_test(a_job_fd_that_cannot_be_written_is_none),
        cmocka_unit_test(output_that_is_lost_is_a_failure),
    };

    test_limit(12);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
