/* A rank of an application of ALPS: which it is, and the process that protects the application from its runner's end.
 * The runners here only wait for signals. */
#include "tasks/runner/rank.h"
#include "tasks/runner/signals.h"

#include "tests/unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The runners' output: their process id first. */
static int said[2];

static void say(int what)
{
    if (write(said[1], &what, sizeof what) != sizeof what)
        _exit(1);
}

static int hear(void)
{
    int what = 0;

    assert_int_equal(read(said[0], &what, sizeof what), sizeof what);
    return what;
}

/* Starts a guard with a runner. Returns the guard. */
static pid_t start(void (*runner)(void))
{
    struct error err;
    pid_t guard;

    assert_int_equal(pipe(said), 0);
    guard = fork();
    assert_true(guard >= 0);
    if (guard > 0) {
        close(said[1]);
        return guard;
    }
    rank_guard(run_signals(&err));
    say(getpid());
    runner();
    _exit(0);
}

/* It protects the application, whatever became of its runner; and nothing is left then. */
static void assert_ends_well(pid_t guard)
{
    char left;
    int status;

    assert_int_equal(waitpid(guard, &status, 0), guard);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(read(said[0], &left, 1), 0);
    close(said[0]);
}

static void take_signals(void)
{
    sigset_t all;
    int sig;

    sigfillset(&all);
    sigdelset(&all, SIGCHLD);
    do {
        sig = sigwaitinfo(&all, NULL);
        say(sig);
    } while (sig != SIGTERM);
}

static void signals_are_passed_on(void **state)
{
    static const int signals[] = {SIGUSR1, SIGUSR2, SIGINT, SIGHUP, SIGTERM};
    pid_t guard = start(take_signals), runner = hear();

    assert_int_not_equal(guard, runner);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        assert_int_equal(kill(guard, signals[i]), 0);
        assert_int_equal(hear(), signals[i]);
    }
    assert_ends_well(guard);
}

/* A process that it leaves becomes its guard's child, and ends before it. */
static void leave_one(void)
{
    pid_t child = fork(), orphan;

    if (child == 0) {
        orphan = fork();
        if (orphan == 0)
            pause();
        say(orphan);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    take_signals();
}

static void the_end_of_another_process_is_not_the_runners(void **state)
{
    pid_t guard = start(leave_one), orphan;

    hear();
    orphan = hear();
    assert_int_equal(kill(orphan, SIGKILL), 0);
    while (kill(orphan, 0) == 0) /* until the guard has waited for it */
        usleep(1000);
    assert_int_equal(kill(guard, SIGTERM), 0);
    assert_int_equal(hear(), SIGTERM);
    assert_ends_well(guard);
}

static void fail_at_last(void)
{
    take_signals();
    _exit(3);
}

static void a_runner_that_fails_does_not_end_the_application(void **state)
{
    pid_t guard = start(fail_at_last);

    hear();
    assert_int_equal(kill(guard, SIGTERM), 0);
    assert_int_equal(hear(), SIGTERM);
    assert_ends_well(guard);
}

static void what_a_killed_runner_leaves_is_killed(void **state)
{
    pid_t guard = start(leave_one), runner = hear();

    hear();
    assert_int_equal(kill(runner, SIGKILL), 0);
    assert_ends_well(guard);
}

/* Its guard is what the batch system sees. */
static void a_runner_ends_with_its_guard(void **state)
{
    pid_t guard = start(take_signals);
    int status;
    char left;

    hear();
    assert_int_equal(kill(guard, SIGKILL), 0);
    assert_int_equal(waitpid(guard, &status, 0), guard);
    assert_int_equal(read(said[0], &left, 1), 0);
    close(said[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_are_passed_on),
        cmocka_unit_test(the_end_of_another_process_is_not_the_runners),
        cmocka_unit_test(a_runner_that_fails_does_not_end_the_application),
        cmocka_unit_test(what_a_killed_runner_leaves_is_killed),
        cmocka_unit_test(a_runner_ends_with_its_guard),
    };

    test_limit(60); /* what never comes is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
