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

static void on_one_node_the_runner_starts_them_itself(void **state)
{
    const struct jobdesc_task task = {.nodes = 1, .ntasks = 4};

    copies_launch(&words, &task, 1500);
    assert_words(3, (const char *const[]){self, "--copies", "1500"});
}

/* One runner on each node, which has all CPUs of the job there; no node keeps its ranks when another has lost one. */
static void on_several_nodes_srun_starts_one_on_each(void **state)
{
    const struct jobdesc_task task = {.nodes = 3, .ntasks = 12};

    copies_launch(&words, &task, 60000);
    assert_words(12, (const char *const[]){"srun", "--nodes=3", "--ntasks=3", "--ntasks-per-node=1", "--cpu-bind=none", "--kill-on-bad-exit=1",
                                           "--mpi=none", "--input=none", "--quiet", self, "--copies", "60000"});
}

static void they_are_meant_by_their_name_alone(void **state)
{
    assert_true(copies_are_meant(&(struct jobdesc_task){.launcher = "copies"}));
    assert_false(copies_are_meant(&(struct jobdesc_task){.launcher = "mpiexec"}));
    assert_false(copies_are_meant(&(struct jobdesc_task){.launcher = NULL}));
}

static void assert_gpus(const char *all, size_t n, size_t i, const char *wanted, const char *of_the_daemon)
{
    char list[40];
    struct copies c = {.n = n, .gpus = list};

    snprintf(list, sizeof list, "%s", all);
    set_gpus(&c, i);
    assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), wanted);
    if (of_the_daemon == NULL)
        assert_null(getenv("STRETTO_GPUS"));
    else
        assert_string_equal(getenv("STRETTO_GPUS"), of_the_daemon);
}

static void gpus_are_divided(void **state)
{
    const struct copies none = {.n = 2};

    unsetenv("STRETTO_GPUS");
    assert_gpus("a,b,c,d", 2, 0, "a,b", NULL);
    assert_gpus("a,b,c,d", 2, 1, "c,d", NULL);
    assert_gpus("a,b,c,d,e", 2, 1, "c,d", NULL); /* one is left */
    assert_gpus("aa,bb,cc", 3, 2, "cc", NULL);
    assert_gpus("a,b", 4, 1, "a", NULL);
    assert_gpus("a,b", 4, 2, "b", NULL);
    assert_gpus("a", 1, 0, "a", NULL);
    assert_gpus("", 2, 1, "a", NULL); /* as it was */
    set_gpus(&none, 1);
    assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), "a");
    setenv("STRETTO_GPUS", "x,y", 1);
    assert_gpus("x,y", 2, 1, "y", "y");
    unsetenv("STRETTO_GPUS");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* What a copy does, in this program: it says with which signal it ends when its launcher does, and what is blocked. */
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

static void none_outlives_its_launcher_and_none_begins_with_a_signal_blocked(void **state)
{
    char said[200];

    assert_int_equal(launch("a:1", NULL, (const char *const[]){self, NULL}, said, sizeof said), 0);
    assert_string_equal(said, "9 0 0 of 1\n");
    assert_int_equal(launch("a:2,b:1,c:4", "1", (const char *const[]){self, NULL}, said, sizeof said), 0);
    assert_string_equal(said, "9 0 2 of 7\n");
}

static void it_ends_as_the_copy_that_failed_first(void **state)
{
    char said[1000];
    int status;

    assert_int_equal(launch_shell("a:3", NULL, "[ $RANK = 1 ] && exit 7; exec sleep 1000"), W_EXITCODE(7, 0));
    status = launch_shell("a:2", NULL, "[ $RANK = 1 ] && kill -KILL $$; exec sleep 1000");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(launch("a:1", NULL, (const char *const[]){"no-such-program", NULL}, said, sizeof said), W_EXITCODE(127, 0));
    assert_int_equal(launch_shell("nonsense:", NULL, "exit 0"), W_EXITCODE(EX_CONFIG, 0));
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
        cmocka_unit_test(on_one_node_the_runner_starts_them_itself),
        cmocka_unit_test(on_several_nodes_srun_starts_one_on_each),
        cmocka_unit_test(they_are_meant_by_their_name_alone),
        cmocka_unit_test(gpus_are_divided),
        cmocka_unit_test(none_outlives_its_launcher_and_none_begins_with_a_signal_blocked),
        cmocka_unit_test(it_ends_as_the_copy_that_failed_first),
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
