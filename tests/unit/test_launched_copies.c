/* Copies of a command as ranks: the words that start them, the part of the GPUs of each, as what each begins, and how
 * they end together. */
#include "tests/unit/unit.h"

#undef fail /* a macro of cmocka, and a function there */
#include "tasks/runner/copies.c"

#include <fcntl.h>
#include <sys/wait.h>

static char self[4096];

static struct copies_words words;

static void assert_words(size_t n, const char *const *wanted)
{
    for (size_t i = 0; i < n; i++) {
        assert_non_null(words.list[i]);
        assert_string_equal(words.list[i], wanted[i]);
    }
    assert_null(words.list[n]);
}

/* One runner on each node, which has all CPUs of the job there; no node keeps its ranks when another has lost one. */
static void on_several_nodes_srun_starts_one_on_each(void **state)
{
    const struct jobdesc_task task = {.nodes = 3, .ntasks = 12};

    copies_launch(&words, &task, 60000);
    assert_words(12, (const char *const[]){"srun", "--nodes=3", "--ntasks=3", "--ntasks-per-node=1", "--cpu-bind=none", "--kill-on-bad-exit=1",
                                           "--mpi=none", "--input=none", "--quiet", self, "--copies", "60000"});
}

/* Acts as a copy, in this program: it says with which signal it ends when its launcher does, and which signals are
 * blocked. */
static int be_a_copy(void)
{
    int sig = 0;
    sigset_t blocked;
    bool any = false;

    prctl(PR_GET_PDEATHSIG, &sig);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int i = 1; i < SIGRTMIN; i++)
        any |= sigismember(&blocked, i) == 1;
    printf("%d %d %s of %s\n", sig, any, getenv("RANK"), getenv("WORLD_SIZE"));
    return 0;
}

static const char *grace = "60000";

/* Runs copies on node `node` of those of `hosts`. Returns the status of their launcher, and what they said in
 * `said`. */
static int launch(const char *hosts, const char *node, const char *const *command, char *said, size_t size)
{
    char *argv[8] = {self, "--copies", (char *)grace};
    int argc = 3, pipes[2], status;
    ssize_t n, all = 0;
    pid_t pid;

    for (; command[argc - 3] != NULL; argc++)
        argv[argc] = (char *)command[argc - 3];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        dup2(pipes[1], STDERR_FILENO);
        setenv("STRETTO_HOSTS", hosts, 1);
        if (node != NULL)
            setenv("SLURM_NODEID", node, 1);
        _exit(copies_main(argc, argv));
    }
    close(pipes[1]);
    while ((n = read(pipes[0], said + all, size - 1 - (size_t)all)) > 0)
        all += n;
    said[all] = '\0';
    close(pipes[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int launch_shell(const char *hosts, const char *node, const char *script)
{
    char said[1000];

    return launch(hosts, node, (const char *const[]){"sh", "-c", script, NULL}, said, sizeof said);
}

/* A copy on one of several nodes that gets SIGTERM was told by Slurm, as all others are; on one node it has died by
 * itself. */
static void told_by_slurm_none_has_failed_by_itself(void **state)
{
    const char *const killed[] = {"sh", "-c", "kill -TERM $$", NULL};
    char said[200];
    int status;

    assert_int_equal(launch("a:1,b:2", "0", killed, said, sizeof said), W_EXITCODE(1, 0));
    assert_string_equal(said, "");
    status = launch("a:1", NULL, killed, said, sizeof said);
    assert_true(said[0] != '\0'); /* the reason */
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(launch_shell("a:1,b:2", "0", "exit 5"), W_EXITCODE(5, 0));
    assert_int_equal(launch_shell("a:1", NULL, "trap '' TERM; kill -TERM $PPID; exit 5"), W_EXITCODE(5, 0));
    assert_int_equal(launch_shell("a:1,b:1", "0", "trap '' TERM; kill -TERM $PPID; exit 5"), W_EXITCODE(1, 0));
}

/* When one has failed. The others may say something, and what goes on is killed. */
static void the_others_have_their_grace(void **state)
{
    static const char script[] = "if [ $RANK = 0 ]; then while [ ! -e $DIR/ready ]; do sleep 0.02; done; exit 3; fi\n"
                                 "trap 'sleep 0.2; echo well; exit 0' TERM; : >$DIR/ready; while :; do sleep 0.05; done";
    static const char deaf[] = "if [ $RANK = 0 ]; then while [ ! -e $DIR/ready ]; do sleep 0.02; done; exit 3; fi\n"
                               "trap '' TERM; : >$DIR/ready; while :; do sleep 0.05; done";
    char dir[64] = "/tmp/stretto-test-XXXXXX", said[1000], rm[96];
    int status;

    assert_non_null(mkdtemp(dir));
    setenv("DIR", dir, 1);
    status = launch("a:2", NULL, (const char *const[]){"sh", "-c", script, NULL}, said, sizeof said);
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_non_null(strstr(said, "well"));
    snprintf(rm, sizeof rm, "rm '%s/ready'", dir);
    assert_int_equal(system(rm), 0);
    grace = "200";
    status = launch("a:2", NULL, (const char *const[]){"sh", "-c", deaf, NULL}, said, sizeof said);
    grace = "60000";
    assert_int_equal(WEXITSTATUS(status), 3);
    snprintf(rm, sizeof rm, "rm -r '%s'", dir);
    assert_int_equal(system(rm), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_several_nodes_srun_starts_one_on_each),
        cmocka_unit_test(told_by_slurm_none_has_failed_by_itself),
        cmocka_unit_test(the_others_have_their_grace),
    };
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n <= 0)
        return 1;
    if (getenv("LOCAL_RANK") != NULL)
        return be_a_copy();
    unsetenv("SLURM_NODEID");
    test_limit(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
