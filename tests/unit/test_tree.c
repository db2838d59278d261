/* The processes that a runner assigns to its tasks. The runner is a process of this program's, so that others are older
 * than it and do not descend from it. */
#include "tasks/runner/tree.h"

#include "common/process.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

struct others {
    pid_t older, younger;
};

struct seen {
    size_t older, younger, child; /* the task of each */
    int signalled;
};

static int hold[2], go[2], answer[2]; /* all that this program starts ends when it has closed the end of `hold` */
static char mark[64];

/* Returns a process that was started with the mark and stays. */
static pid_t marked(void)
{
    int ready[2];
    char byte;
    pid_t pid;

    if (pipe2(ready, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        setenv("STRETTO_TASK", mark, 1);
        dup2(hold[0], 0);
        dup2(ready[1], 1);
        execl("/bin/sh", "sh", "-c", "echo; read x", (char *)NULL);
        _exit(127);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        pid = -1;
    close(ready[0]);
    return pid;
}

static size_t task_of(const struct tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->n; i++)
        if (tree->items[i].pid == pid)
            return tree->items[i].task;
    return TREE_ALL;
}

static _Noreturn void be_a_runner(void)
{
    const struct tree_task tasks[] = {{.mark = "st-another/7.0"}, {.mark = mark}};
    struct others others;
    struct tree tree;
    struct seen seen;
    pid_t child;

    close(hold[1]);
    close(go[1]);
    if (read(go[0], &others, sizeof others) != sizeof others)
        _exit(0);
    child = marked();
    tree_look(&tree, tasks, 2);
    seen = (struct seen){.older = task_of(&tree, others.older),
                         .younger = task_of(&tree, others.younger),
                         .child = task_of(&tree, child),
                         .signalled = tree_signal(&tree, 1, 0)};
    tree_free(&tree);
    _exit(write(answer[1], &seen, sizeof seen) == sizeof seen ? 0 : 1);
}

/* Starts a runner that is younger than `older` by the clock of the kernel's, whose ticks are long. */
static pid_t start_runner(pid_t older)
{
    for (;;) {
        pid_t pid = fork();

        if (pid == 0)
            be_a_runner();
        if (pid < 0 || process_start_time(pid) > process_start_time(older))
            return pid;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

static void a_process_that_is_older_than_the_runner_is_of_no_task(void **state)
{
    struct others others;
    struct seen seen;
    pid_t runner;

    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
    others.older = marked();
    assert_true(others.older > 0);
    runner = start_runner(others.older);
    assert_true(runner > 0);
    others.younger = marked();
    assert_true(others.younger > 0);
    assert_int_equal(write(go[1], &others, sizeof others), sizeof others);
    assert_int_equal(read(answer[0], &seen, sizeof seen), sizeof seen);
    assert_int_equal(seen.older, TREE_UNOWNED);
    assert_int_equal(seen.younger, 1); /* srun has it started by another process */
    assert_int_equal(seen.child, 1);
    assert_int_equal(seen.signalled, 2);
    close(hold[1]);
    assert_int_equal(waitpid(runner, NULL, 0), runner);
    assert_int_equal(waitpid(others.older, NULL, 0), others.older);
    assert_int_equal(waitpid(others.younger, NULL, 0), others.younger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_is_older_than_the_runner_is_of_no_task),
    };

    signal(SIGPIPE, SIG_IGN);
    test_limit(60);
    snprintf(mark, sizeof mark, "st-test-tree-%d/7.0", (int)getpid()); /* several of this program may run */
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
