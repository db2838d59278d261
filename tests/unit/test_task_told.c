/* What a task is told, and given, beside what every task has: its hosts, its launcher and its PATH. And what it does not
 * hear of: what another job around this one was told. */
#include "tasks/runner/task.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], task_dir[80], other_dir[80];

static int64_t clock_ms(void)
{
    return 1700000000500;
}

static const struct machine machine = {.unix_ms = clock_ms, .monotonic_ms = clock_ms};

static struct jobdesc desc;
static struct jobdesc_task tasks[2];
static struct job job;
static struct task task;

static int open_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(task_dir, sizeof task_dir, "%s/7.1", dir);
    snprintf(other_dir, sizeof other_dir, "%s/7.0", dir);
    desc = (struct jobdesc){.job = "st-told", .ensemble = 7, .ntasks = 1, .tasks = &tasks[1], .grace_ms = 1500};
    for (int i = 0; i < 2; i++)
        tasks[i] = (struct jobdesc_task){.id = i == 0 ? "7.0" : "7.1", .dir = i == 0 ? other_dir : task_dir, .ntasks = 1, .nodes = 1};
    job = (struct job){.machine = &machine, .desc = &desc, .jobfd = -1, .deadline_ms = INT64_MAX};
    return 0;
}

static int close_dir(void **state)
{
    char rm[96];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static char said[8000];

static const char *text_of(const char *name)
{
    char *path = xasprintf("%s/%s", task_dir, name), *text;
    struct error err;
    size_t size;

    said[0] = '\0';
    if (file_read(path, sizeof said - 1, &text, &size, &err) == 0) {
        snprintf(said, sizeof said, "%s", text);
        free(text);
    }
    free(path);
    return said;
}

/* Runs a shell script as the task, with this environment of its spec. Returns what it has written. */
static const char *run(const char *script, const char *env)
{
    int status;

    tasks[1].argv = json_pack("[s, s, s]", "/bin/sh", "-c", script);
    tasks[1].env = json_loads(env, 0, NULL);
    assert_non_null(tasks[1].env);
    task_init(&task, &job, &tasks[1]);
    task_start(&task);
    if (task.pid == 0)
        snprintf(said, sizeof said, "%s", task.rec.end.reason);
    else
        assert_int_equal(waitpid(task.pid, &status, 0), task.pid);
    if (task.pid != 0)
        text_of("stdout");
    return said;
}

static void forget(void)
{
    task_fini(&task);
    json_decref((json_t *)tasks[1].argv);
    json_decref((json_t *)tasks[1].env);
}

static void assert_run(const char *script, const char *env, const char *wanted)
{
    assert_string_equal(run(script, env), wanted);
    forget();
}

static void what_was_told_around_it_is_not_handed_on(void **state)
{
    static const char *const names[] = {
        "STRETTO_ALIVE", "STRETTO_ALIVE_MS", "STRETTO_ALLOCATION_END", "STRETTO_ATTEMPT", "STRETTO_CHECKPOINT_BEFORE", "STRETTO_CHECKPOINT_DIR",
        "STRETTO_CHECKPOINT_SIGNAL", "STRETTO_DEADLINE", "STRETTO_ENSEMBLE", "STRETTO_FIELDS", "STRETTO_GPUS", "STRETTO_HOSTFILE", "STRETTO_HOSTS",
        "STRETTO_JOB_END", "STRETTO_KEPT", "STRETTO_MEMBER", "STRETTO_PARAMS", "STRETTO_RANK", "STRETTO_RANKS", "STRETTO_RESTART", "STRETTO_RESUME",
        "STRETTO_SEED", "STRETTO_STEPS", "STRETTO_STREAM", "STRETTO_STREAM_GENERATION", "STRETTO_STREAM_KEY", "STRETTO_RUNNER", "STRETTO_TMPDIR",
        "STRETTO_TOKEN", "STRETTO_TRAINING_DIR", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"};
    size_t n = sizeof names / sizeof *names;

    for (size_t i = 0; i < n; i++)
        setenv(names[i], "stale", 1);
    setenv("STRETTO_TEST_OTHER", "stays", 1);
    setenv("RANKED", "stays, too", 1);
    assert_run("env | grep -c =stale; echo $STRETTO_TEST_OTHER $RANKED", "{}", "0\nstays stays, too\n");
    assert_run("env | grep =stale; echo $RANK",
               "{\"RANK\": \"of the spec\", \"RANKED\": \"x\", \"STRETTO_TEST_OTHER\": \"\"}", "of the spec\n");
    assert_run("echo $RANKED-$STRETTO_TEST_OTHER-", "{\"RANKED\": \"x\", \"STRETTO_TEST_OTHER\": \"\"}", "x--\n");
    for (size_t i = 0; i < n; i++)
        unsetenv(names[i]);
    unsetenv("STRETTO_TEST_OTHER");
    unsetenv("RANKED");
}

/* Where it has several processes, or a launcher. */
static void processes_that_meet_are_told_where(void **state)
{
    const char *script = "echo $STRETTO_HOSTS $MASTER_ADDR ${MASTER_PORT:+port} ${STRETTO_HOSTFILE+file}; cat ${STRETTO_HOSTFILE:-/dev/null}";
    char host[64] = "", wanted[300];

    gethostname(host, sizeof host - 1);
    snprintf(wanted, sizeof wanted, "%s:4 127.0.0.1 port file\n%s:4\n", host, host);
    tasks[1].ntasks = 4;
    assert_run(script, "{}", wanted);
    snprintf(wanted, sizeof wanted, "%s:4 mine port file\n%s:4\n", host, host);
    assert_run(script, "{\"MASTER_ADDR\": \"mine\"}", wanted);
    run("echo $MASTER_PORT", "{\"MASTER_PORT\": \"77\"}");
    assert_string_equal(said, "77\n");
    assert_true(task.rendezvous.lock >= 0);
    forget();
    assert_int_equal(task.rendezvous.lock, -1);
    job.launch = (const char *const[]){"/bin/true", NULL}; /* they are elsewhere, and its launcher says where */
    assert_run(script, "{}", "\n");
    job.launch = NULL;
    tasks[1].ntasks = 1;
    assert_run(script, "{}", "\n");
    desc.kind = JOBDESC_TRAINING;
    tasks[1].ntasks = 4;
    assert_run(script, "{}", "\n");
}

/* A launcher that says how it was called, and then calls what follows its own words. */
static char *launcher(const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    static const char script[] =
        "#!/bin/sh\nwhile [ \"$1\" != /bin/sh ]; do printf '%s ' \"$1\"; shift; done\nexec \"$@\"\n";
    struct error err;

    assert_int_equal(file_write_whole(path, script, strlen(script), 0700, &err), 0);
    return path;
}

static void launchers_have_their_words(void **state)
{
    char *srun = launcher("srun"), *other = launcher("other");
    const char *const replaces[] = {other, "-q", NULL};

    tasks[1].ntasks = 3;
    tasks[1].launcher = srun;
    assert_run("echo", "{}", "-n 3 \n"); /* alone in its job */
    desc.ntasks = 2;
    desc.tasks = tasks;
    assert_run("echo", "{}", "--exact --mem=0 -n 3 \n"); /* among others */
    tasks[1].launcher = other;
    assert_run("echo", "{}", "-n 3 \n");
    desc.ntasks = 1;
    desc.tasks = &tasks[1];
    tasks[1].launcher = srun;
    setenv("STRETTO_PILOT", "st-pilot", 1); /* which has other jobs */
    assert_run("echo", "{}", "--exact --mem=0 -n 3 \n");
    unsetenv("STRETTO_PILOT");
    job.launch = replaces;
    assert_run("echo", "{}", "-q -n 3 \n");
    tasks[1].launcher = NULL;
    assert_run("echo", "{}", "\n"); /* it has none that would be replaced */
    desc.kind = JOBDESC_PILOT;
    assert_run("echo", "{}", "-q -n 3 \n");
    free(srun);
    free(other);
}

static void without_a_path_of_its_own_it_has_the_runner_s(void **state)
{
    char *path = xstrdup(getenv("PATH"));

    setenv("PATH", "/usr/bin:/bin:/nowhere", 1);
    assert_run("echo $PATH", "{}", "/usr/bin:/bin:/nowhere\n");
    unsetenv("PATH");
    assert_run("echo $PATH", "{}", "/usr/local/bin:/usr/bin:/bin\n");
    setenv("PATH", path, 1);
    free(path);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, open_dir, close_dir)
    const struct CMUnitTest tests[] = {
        CASE(what_was_told_around_it_is_not_handed_on),
        CASE(processes_that_meet_are_told_where),
        CASE(launchers_have_their_words),
        CASE(without_a_path_of_its_own_it_has_the_runner_s),
    };
    static const char *const unset[] = {"SLURM_JOB_ID", "SLURM_CPUS_ON_NODE", "SLURM_JOB_NODELIST",
                                        "PBS_NODEFILE", "OAR_NODEFILE",       "STRETTO_PILOT"};

    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        unsetenv(unset[i]);
    log_init("told", LOG_LEVEL_NONE);
    test_limit(60); /* what never comes is a failure, too */
    return cmocka_run_group_tests_name("task_told", tests, NULL, NULL);
}
