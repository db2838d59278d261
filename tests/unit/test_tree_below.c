/* The processes below a runner, which is this program: whose each is, what signals reach, and what is seen of them. */
#include "tasks/runner/tree.h"

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

#define MAX 8

static char mark[64], other_mark[64];
static int hold[2]; /* all that is started here ends when it has closed the end of this */
static pid_t pids[MAX];
static size_t n_pids;

/* How a process begins. */
struct kind {
    const char *mark; /* STRETTO_TASK; NULL: none */
    bool leads;       /* a session of its own */
    bool is_orphan;   /* what has started it ends at once */
    const char *script;
};

static _Noreturn void become(const struct kind *kind, int ready)
{
    if (kind->leads)
        setsid();
    unsetenv("STRETTO_TASK");
    if (kind->mark != NULL)
        setenv("STRETTO_TASK", kind->mark, 1);
    dup2(hold[0], 0);
    dup2(ready, 1);
    execl("/bin/sh", "sh", "-c", kind->script != NULL ? kind->script : "echo $$; read x", (char *)NULL);
    _exit(127);
}

/* Starts one. Returns the pid that it tells. */
static pid_t start(struct kind kind)
{
    char text[32];
    int ready[2];
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (kind.is_orphan && fork() != 0)
            _exit(0);
        become(&kind, ready[1]);
    }
    close(ready[1]);
    n = read(ready[0], text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    close(ready[0]);
    if (kind.is_orphan)
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(n_pids < MAX);
    return pids[n_pids++] = (pid_t)atoi(text);
}

static int begin(void **state)
{
    n_pids = 0;
    return pipe2(hold, O_CLOEXEC);
}

static int finish(void **state)
{
    close(hold[0]);
    close(hold[1]);
    while (n_pids > 0)
        kill(pids[--n_pids], SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        ;
    return 0;
}

static const struct tree_process *in(const struct tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->n; i++)
        if (tree->items[i].pid == pid)
            return &tree->items[i];
    return NULL;
}

static size_t task_of(const struct tree *tree, pid_t pid)
{
    const struct tree_process *p = in(tree, pid);

    return p != NULL ? p->task : TREE_ALL;
}

/* By its mark, else by its session, else by its parent, else of nobody. */
static void each_is_of_its_task(void **state)
{
    pid_t marked = start((struct kind){.mark = mark}), of_other = start((struct kind){.mark = other_mark});
    pid_t leader = start((struct kind){.leads = true}), unknown = start((struct kind){.mark = "st-nobody/7.0"});
    pid_t below = start((struct kind){.mark = mark, .script = "env -u STRETTO_TASK setsid sh -c 'echo $$; read x; :'; :"});
    pid_t orphan = start((struct kind){.mark = mark, .is_orphan = true});
    const struct tree_task tasks[] = {{.mark = other_mark}, {.mark = mark, .session = leader}};
    struct tree tree;

    tree_look(&tree, tasks, 2);
    assert_int_equal(task_of(&tree, marked), 1);
    assert_int_equal(task_of(&tree, of_other), 0);
    assert_int_equal(task_of(&tree, leader), 1);
    assert_int_equal(task_of(&tree, unknown), TREE_UNOWNED);
    assert_int_equal(task_of(&tree, below), 1); /* as its parent */
    assert_int_equal(task_of(&tree, orphan), 1);
    assert_null(in(&tree, getpid()));
    for (size_t i = 0; i < n_pids; i++)
        assert_true(in(&tree, pids[i])->below);
    for (size_t i = 1; i < tree.n; i++)
        assert_true(tree.items[i - 1].pid < tree.items[i].pid);
    assert_true(in(&tree, getppid()) == NULL || !in(&tree, getppid())->below);
    assert_int_equal(tree_signal(&tree, 0, 0), 1);
    assert_int_equal(tree_signal(&tree, 1, 0), 5); /* with the parent of the one below */
    assert_int_equal(tree_signal(&tree, TREE_UNOWNED, 0), 1);
    assert_int_equal(tree_signal(&tree, TREE_ALL, 0), 7);
    tree_free(&tree);
    assert_true(tree.n == 0 && tree.items == NULL);
}

/* Its number may be another process's by now. */
static void another_process_of_its_number_is_spared(void **state)
{
    pid_t pid = start((struct kind){.mark = mark});
    const struct tree_task task = {.mark = mark};
    struct tree_process *p;
    struct tree tree;
    int status;

    tree_look(&tree, &task, 1);
    p = (struct tree_process *)in(&tree, pid);
    p->start++;
    assert_int_equal(tree_signal(&tree, 0, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    p->start--;
    assert_int_equal(tree_signal(&tree, 0, SIGKILL), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    tree_free(&tree);
}

static void children_are_counted_until_they_were_waited_for(void **state)
{
    pid_t gone;
    siginfo_t ended;

    assert_int_equal(tree_children(), 0);
    start((struct kind){0});
    start((struct kind){.is_orphan = true});
    assert_int_equal(tree_children(), 2);
    gone = start((struct kind){.script = "echo $$"});
    assert_int_equal(waitid(P_PID, (id_t)gone, &ended, WEXITED | WNOWAIT), 0);
    assert_int_equal(tree_children(), 3);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    assert_int_equal(tree_children(), 2);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, finish)
    const struct CMUnitTest tests[] = {
        CASE(each_is_of_its_task),
        CASE(another_process_of_its_number_is_spared),
        CASE(children_are_counted_until_they_were_waited_for),
    };
    char dir[64] = "/tmp/stretto-test-XXXXXX", rm[96];
    int rc;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    test_limit(60);
    if (mkdtemp(dir) == NULL)
        return 1;
    setenv("TMPDIR", dir, 1);
    snprintf(mark, sizeof mark, "st-test-below-%d/7.0", (int)getpid()); /* several of this program may run */
    snprintf(other_mark, sizeof other_mark, "st-test-below-%d/7.1", (int)getpid());
    rc = cmocka_run_group_tests_name("tree_below", tests, NULL, NULL);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}
