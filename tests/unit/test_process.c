/* The processes that exist, beyond their numbers. */
#include "common/process.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static char dir[64]; /* a value that no other process has */

static void marked_processes_are_found_in_other_sessions(void **state)
{
    int ready[2], stay[2], status;
    siginfo_t ended;
    char byte, part[sizeof dir], longer[sizeof dir + 1];
    pid_t pid;

    snprintf(part, sizeof part, "%.*s", (int)strlen(dir) - 1, dir);
    snprintf(longer, sizeof longer, "%s1", dir);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(stay, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        setsid();
        setenv("STRETTO_TEST_MARK", dir, 1);
        dup2(stay[0], 0);
        dup2(ready[1], 1);
        execl("/bin/sh", "sh", "-c", "echo; read x", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_true(process_start_time(pid) > 0);
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", "/another", 0), 0);
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", part, 0), 0); /* task 7.1 is not 7.12 */
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", longer, 0), 0);
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", dir, SIGKILL), 1);
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_start_time(pid), 0); /* it has ended, though its parent has not noticed */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(process_start_time(pid), 0);
    close(ready[0]);
    close(ready[1]);
    close(stay[0]);
    close(stay[1]);
}

static void count_values(void *arg, const char *value)
{
    *(int *)arg += strcmp(value, dir) == 0;
}

/* Two processes have the same mark, and one of them is in a group of its own that is left out. */
static void marked_processes_are_left_out_by_their_group(void **state)
{
    int stay[2], ready[2], n = 0, status, ends;
    char byte, *value;
    pid_t pids[2];

    assert_int_equal(pipe2(stay, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            setpgid(0, 0);
            setenv("STRETTO_TEST_MARKS", "/another", 1); /* which only begins alike */
            setenv("STRETTO_TEST_MARK", dir, 1);
            dup2(stay[0], 0);
            dup2(ready[1], 1);
            execl("/bin/sh", "sh", "-c", "trap 'exit 5' USR1; echo; read x", (char *)NULL);
            _exit(127);
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
    }
    value = process_environment(pids[0], "STRETTO_TEST_MARK");
    assert_string_equal(value, dir);
    free(value);
    assert_null(process_environment(pids[0], "STRETTO_TEST_MAR"));
    assert_null(process_environment(0x7fffffff, "STRETTO_TEST_MARK"));
    process_each_marked("STRETTO_TEST_MARK", count_values, &n);
    assert_int_equal(n, 2);
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", dir, 0), 2);
    assert_int_equal(process_signal_marked_outside("STRETTO_TEST_MARK", dir, 0, 0), 2);
    assert_int_equal(process_signal_marked_outside("STRETTO_TEST_MARK", dir, 0, pids[0]), 1);
    assert_int_equal(process_signal_marked_outside("STRETTO_TEST_MARK", dir, SIGKILL, pids[0]), 1);
    assert_int_equal(waitpid(pids[1], &status, 0), pids[1]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(waitpid(pids[0], &status, WNOHANG), 0);
    assert_false(process_is_stopped(pids[0]));
    assert_int_equal(kill(pids[0], SIGSTOP), 0);
    assert_int_equal(waitpid(pids[0], &status, WUNTRACED), pids[0]);
    assert_true(process_is_stopped(pids[0]));
    assert_true(process_start_time(pids[0]) > 0);
    assert_int_equal(kill(pids[0], SIGCONT), 0);
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", dir, SIGUSR1), 1);
    assert_int_equal(waitpid(pids[0], &status, 0), pids[0]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", dir, 0), 0);
    for (ends = 0; ends < 2; ends++) {
        close(stay[ends]);
        close(ready[ends]);
    }
}

/* The caller is not among them, nor are the processes of other users. */
static void the_caller_is_none_of_the_marked(void **state)
{
    int ready[2], stay[2], status;
    pid_t pid;
    char byte;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(stay, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        setenv("STRETTO_TEST_MARK", dir, 1);
        dup2(stay[0], 0);
        dup2(ready[1], 1);
        if (geteuid() == 0 && setuid(54321) < 0)
            _exit(1);
        execl("/bin/sh", "sh", "-c", "echo; read x", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", dir, 0), geteuid() == 0 ? 0 : 1);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(stay[i]);
    }
    assert_int_equal(process_start_time(0), 0);
    assert_int_equal(process_start_time(-1), 0);
    assert_true(process_start_time(1) > 0 || getpid() == 1);
    assert_false(process_is_stopped(0));
}

/* A program may call itself what it likes. */
static void a_process_is_the_same_whatever_its_name(void **state)
{
    static const char *const names[] = {"x) R (y", ")", "a b", "(", ") T 1 1 1 1 1"};
    unsigned long long start = process_start_time(getpid());
    char before[16];

    assert_true(start > 0);
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
        assert_int_equal(process_start_time(getpid()), start);
        assert_false(process_is_stopped(getpid()));
    }
    prctl(PR_SET_NAME, before);
}

static int descriptors;

/* No descriptor is left open, even after all of /proc was searched. */
static void no_descriptor_is_left_open(void **state)
{
    assert_int_equal(test_descriptors(), descriptors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marked_processes_are_found_in_other_sessions),
        cmocka_unit_test(marked_processes_are_left_out_by_their_group),
        cmocka_unit_test(the_caller_is_none_of_the_marked),
        cmocka_unit_test(a_process_is_the_same_whatever_its_name),
        cmocka_unit_test(no_descriptor_is_left_open),
    };

    test_limit(12);
    descriptors = test_descriptors();
    snprintf(dir, sizeof dir, "/tmp/stretto-mark-%d", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
