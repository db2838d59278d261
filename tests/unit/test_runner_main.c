/* What stretto-run does before it runs a job, and after: its words, the claim, the directories, the exit status. Each
 * run is a process of its own; what runs a job here only tells what it was given. */
#include "common/jobfd.h"
#include "tests/unit/unit.h"

#define main runner_main
#include "tasks/runner/main.c"
#undef main

#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>

static char dir[64], told_path[96], out_path[96], job_dir[80];
static int run_job_returns;
static bool guarded;

size_t gpus_count(const char *list) /* in place of task_start.c */
{
    size_t n = list[0] != '\0';

    for (; *list != '\0'; list++)
        n += *list == ',';
    return n;
}

static void tell(json_t *told)
{
    struct error err;

    if (file_write_json(told_path, told, 0600, &err) < 0)
        _exit(99);
    json_decref(told);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

int run_job(struct job *job, const char *jobdir, int signal_fd, int64_t started_ms)
{
    char *claim = xasprintf("%s/claim.json", jobdir), cwd[200] = "";
    json_t *ids = json_array(), *launch = json_array();
    int subreaper = 0, stdin_null;
    struct stat in, null;
    mode_t mask = umask(0);

    umask(mask);
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    stdin_null = fstat(0, &in) == 0 && stat("/dev/null", &null) == 0 && in.st_rdev == null.st_rdev;
    for (size_t i = 0; i < job->desc->ntasks; i++)
        json_array_append_new(ids, json_string(job->desc->tasks[i].id));
    for (size_t i = 0; job->launch != NULL && job->launch[i] != NULL; i++)
        json_array_append_new(launch, json_string(job->launch[i]));
    tell(json_pack("{s:s, s:b, s:b, s:b, s:s?, s:o, s:o, s:b, s:s?, s:i, s:b, s:s?, s:b, s:i, s:b, s:b, s:b, s:s, s:I, s:b, s:s, s:i, s:s?}", "jobdir",
                   jobdir, "watched", job->watched, "daemon", job->daemon == getppid(), "jobfd", job->jobfd >= 3, "gpus", job->gpus, "tasks", ids,
                   "launch", launch, "shared", job->shared, "tmpdir", job->tmpdir, "tmpdir_mode",
                   job->tmpdir != NULL ? (int)mode_of(job->tmpdir) : 0, "claimed", is_there(claim), "cwd", getcwd(cwd, sizeof cwd), "oom",
                   job->oom != NULL, "umask", (int)mask, "subreaper", subreaper != 0, "null", stdin_null, "guarded",
                   guarded, "host", job->host, "deadline", (json_int_t)(job->deadline_ms == INT64_MAX ? -1 : job->deadline_ms - started_ms), "late",
                   job->late, "machine", job->machine == &machine_real ? "real" : "another", "cpus", (int)job->cpus.n, "cpus_on_node",
                   getenv("SLURM_CPUS_ON_NODE")));
    free(claim);
    if (fcntl(signal_fd, F_GETFD) < 0 || fcntl(50, F_GETFD) >= 0)
        _exit(98); /* inherited descriptors are closed, and its own are not */
    return run_job_returns;
}

const struct machine machine_real = {.monotonic_ms = time_monotonic_ms, .unix_ms = time_now_ms};

int pilot_main(const char *pilot_dir, bool on_node, int signal_fd)
{
    int subreaper = 0;

    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    tell(json_pack("{s:s, s:b, s:b, s:b}", "pilot", pilot_dir, "node", on_node, "subreaper", subreaper, "signals", fcntl(signal_fd, F_GETFD) >= 0));
    return 7;
}

int starter_main(int argc, char **argv)
{
    tell(json_pack("{s:i}", "starter", argc));
    return 8;
}

int copies_main(int argc, char **argv)
{
    mode_t mask = umask(0);

    tell(json_pack("{s:i, s:i}", "copies", argc, "umask", (int)mask));
    return 9;
}

void __wrap_rank_guard(int signal_fd);

void __wrap_rank_guard(int signal_fd)
{
    guarded = true;
}

/* Calls that fail once a number is there: their errno. */
static int dir_errno, claim_errno;

int __real_dir_make(const char *path, struct error *err);
int __wrap_dir_make(const char *path, struct error *err);

int __wrap_dir_make(const char *path, struct error *err)
{
    if (dir_errno == 0)
        return __real_dir_make(path, err);
    errno = dir_errno;
    return error_errno(err, "dir", "%s", path);
}

int __real_claim_make(const char *jobdir, const char *tmpdir, const char *gpus, const char *hosts, struct error *err);
int __wrap_claim_make(const char *jobdir, const char *tmpdir, const char *gpus, const char *hosts, struct error *err);

int __wrap_claim_make(const char *jobdir, const char *tmpdir, const char *gpus, const char *hosts, struct error *err)
{
    if (claim_errno == 0)
        return __real_claim_make(jobdir, tmpdir, gpus, hosts, err);
    errno = claim_errno;
    return error_errno(err, "claim", "%s", jobdir);
}

/* A job of two tasks, changed by `more`. */
static json_t *job_of(const char *more)
{
    json_t *job = json_pack("{s:i, s:s, s:i, s:s, s:i, s:i, s:[{s:s, s:o, s:[s]}, {s:s, s:o, s:[s], s:{s:o}}]}", "version", 1, "job", "st-main", "ensemble", 7,
                            "kind", "members", "walltime", 60, "grace", 1, "tasks", "id", "7.0", "dir", json_sprintf("%s/t/7.0", dir), "argv", "true", "id",
                            "7.1", "dir", json_sprintf("%s/t/7.1", dir), "argv", "true", "env", "STRETTO_CHECKPOINT_DIR",
                            json_sprintf("%s/t/ckpt/7.1", dir));
    json_t *other = json_loads(more, 0, NULL);

    assert_non_null(job);
    assert_non_null(other);
    json_object_update(job, other);
    json_decref(other);
    return job;
}

/* Begins with a directory that has this job. */
static void begin(const char *more)
{
    json_t *job = job_of(more);
    struct error err;
    char text[300];

    snprintf(text, sizeof text, "rm -rf '%s' '%s/t' && mkdir '%s'", job_dir, dir, job_dir);
    assert_int_equal(system(text), 0);
    snprintf(text, sizeof text, "%s/job.json", job_dir);
    assert_int_equal(file_write_json(text, job, 0600, &err), 0);
    json_decref(job);
    run_job_returns = dir_errno = claim_errno = 0;
}

static json_t *told; /* by the last run */
static int input = -1; /* its standard input; -1: none */

static int run_it(char *first, ...)
{
    char *argv[16] = {first};
    int argc = 1, status;
    struct error err;
    va_list words;
    pid_t pid;

    va_start(words, first);
    while (argc < 15 && (argv[argc] = va_arg(words, char *)) != NULL)
        argc++;
    va_end(words);
    unlink(told_path);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int out = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        dup2(out, 1);
        dup2(out, 2);
        dup2(out, 50);
        if (input >= 0)
            dup2(input, 0);
        else
            close(0);
        status = runner_main(argc, argv);
        fflush(stdout);
        _exit(status);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    json_decref(told);
    told = file_read_json(told_path, &err);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The last word is the directory. */
#define RUN(...) run_it("stretto-run", __VA_ARGS__, NULL)

static bool is(const char *key) { return json_is_true(json_object_get(told, key)); }

static int number(const char *key) { return (int)json_integer_value(json_object_get(told, key)); }

static const char *word(const char *key)
{
    const char *text = json_string_value(json_object_get(told, key));

    return text != NULL ? text : "-";
}

static bool has(const char *name) /* a file in the job's directory */
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", job_dir, name);
    return is_there(path);
}

static const char *in_claim(const char *key)
{
    static char text[256];
    char path[160];
    struct error err;
    json_t *claim;

    snprintf(path, sizeof path, "%s/claim.json", job_dir);
    claim = file_read_json(path, &err);
    snprintf(text, sizeof text, "%s", json_is_string(json_object_get(claim, key)) ? json_string_value(json_object_get(claim, key)) : "-");
    json_decref(claim);
    return text;
}

static void what_fails_is_the_exit_status(void **state)
{
    static const struct {
        int dir_errno, claim_errno, returns, status;
    } cases[] = {{0, 0, -1, EX_IOERR}, {0, EEXIST, 0, EX_TEMPFAIL}, {0, EBADF, 0, EX_IOERR}, {0, EIO, 0, EX_OSFILE}, {0, EROFS, 0, EX_OSFILE}, {0, ENOSPC, 0, EX_UNAVAILABLE}, {0, EDQUOT, 0, EX_UNAVAILABLE},
                 {EACCES, 0, 0, EX_CANTCREAT}, {ENOSPC, 0, 0, EX_UNAVAILABLE}, {EDQUOT, 0, 0, EX_UNAVAILABLE}, {EROFS, 0, 0, EX_OSFILE}, {EIO, 0, 0, EX_OSFILE}, {ESTALE, 0, 0, EX_OSFILE}, {ENOTCONN, 0, 0, EX_OSFILE}, {0, ENOTCONN, 0, EX_OSFILE}};
    char path[160];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int local = 0; local < 2; local++) {
            begin("{}");
            dir_errno = cases[i].dir_errno;
            claim_errno = cases[i].claim_errno;
            run_job_returns = cases[i].returns;
            if ((local ? RUN("--local", job_dir) : RUN(job_dir)) != cases[i].status)
                fail_msg("case %zu", i);
            assert_int_equal(told != NULL, cases[i].returns < 0);
            assert_int_equal(has("claim.json"), cases[i].returns < 0);
            assert_int_equal(has("runner.log"), local); /* which says why */
        }
    begin("{}"); /* before it is claimed */
    snprintf(path, sizeof path, "%s/t", dir);
    assert_int_equal(symlink("/nowhere/at/all", path), 0);
    assert_int_equal(RUN(job_dir), EX_CANTCREAT);
    assert_false(has("claim.json"));
    unlink(path);
    begin("{\"kind\": \"strange\"}");
    assert_int_equal(RUN(job_dir), EX_CONFIG);
    assert_int_equal(RUN("/nowhere/at/all"), EX_CONFIG);
    snprintf(path, sizeof path, "%s/job.json", job_dir);
    unlink(path);
    assert_int_equal(RUN(job_dir), EX_CONFIG);
    assert_null(told);
}

static void a_letter_takes_the_place_of_the_file(void **state)
{
    json_t *job = job_of("{}");
    char *text = json_dumps(job, 0), *twice, rm[96];
    struct error err;

    for (int there = 0; there < 2; there++) {
        begin("{\"kind\": \"strange\"}");
        snprintf(rm, sizeof rm, "rm -rf '%s'", job_dir);
        if (!there) /* it makes the directory then */
            assert_int_equal(system(rm), 0);
        input = jobfd_write(text, strlen(text), &err);
        assert_int_equal(RUN("--local", "--job-fd", "--gpus=a,b", job_dir), 0);
        close(input);
        assert_true(is("watched") && is("jobfd") && is("null") && is("claimed"));
        assert_string_equal(word("gpus"), "a,b");
        assert_string_equal(in_claim("gpus"), "a,b");
        assert_string_equal(word("jobdir"), job_dir);
    }
    twice = xasprintf("{\"version\": 1, %s", text + 1);
    for (int i = 0; i < 2; i++) {
        const char *bad = i == 0 ? "{]" : twice;

        begin("{}");
        input = jobfd_write(bad, strlen(bad), &err);
        assert_int_equal(RUN("--local", "--job-fd", job_dir), EX_CONFIG);
        close(input);
        assert_null(told);
        assert_false(has("claim.json"));
    }
    input = jobfd_write(text, strlen(text), &err);
    assert_int_equal(RUN("--local", "--job-fd", "/proc/nothing/can/be/made"), EX_CANTCREAT);
    dir_errno = ENOSPC;
    assert_int_equal(RUN("--local", "--job-fd", job_dir), EX_UNAVAILABLE);
    dir_errno = EACCES; /* which is nothing that the job's tasks have done */
    assert_int_equal(RUN("--local", "--job-fd", job_dir), EX_OSFILE);
    assert_int_equal(RUN("--job-fd", job_dir), EX_USAGE);
    close(input);
    input = -1;
    free(twice);
    free(text);
    json_decref(job);
}

/* Its directory is one of the test's own, since a runner moves a directory that has files aside. */
static char one_task[160];

static const char *said(void)
{
    static char text[200];
    FILE *f = fopen(out_path, "re");
    size_t n = fread(text, 1, sizeof text - 1, f);

    text[n] = '\0';
    fclose(f);
    return text;
}

static void other_words_lead_elsewhere(void **state)
{
    begin("{}");
    assert_int_equal(RUN("--pilot", job_dir), 7);
    assert_string_equal(word("pilot"), job_dir);
    assert_true(is("subreaper") && is("signals") && !is("node"));
    assert_int_equal(RUN("--pilot-node", job_dir), 7);
    assert_true(is("node") && is("subreaper"));
    assert_int_equal(RUN("--starter", "x"), 8);
    assert_int_equal(number("starter"), 3);
    umask(027);
    assert_int_equal(RUN("--copies", "1000", "true"), 9);
    assert_int_equal(number("copies"), 4);
    assert_int_equal(number("umask"), 027); /* the task's */
    umask(022);
    assert_int_equal(RUN("--version"), 0);
    assert_string_equal(said(), "stretto-run " PACKAGE_VERSION "\n");
    assert_int_equal(RUN("--version", job_dir), EX_USAGE);
    assert_int_equal(RUN("--strange", job_dir), EX_USAGE);
    assert_int_equal(RUN(job_dir, job_dir), EX_USAGE);
    assert_int_equal(RUN(NULL), EX_USAGE);
    assert_int_equal(RUN("--local"), EX_USAGE);
    assert_null(told);
}

/* PBS starts what it is given as a shell. */
static void as_a_shell_it_is_one(void **state)
{
    assert_int_equal(run_it("-sh", "-c", "exit 5", NULL), 5);
    assert_int_equal(run_it("-stretto-run", "-c", "trap 'exit 6' TERM; kill -TERM $$; exit 7", NULL), 7); /* it ignores that */
    setenv("PBS_ENVIRONMENT", "PBS_BATCH", 1);
    input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(run_it("stretto-run", NULL), 0);
    close(input);
    input = -1;
    begin("{}");
    assert_int_equal(RUN(job_dir), 0);
    assert_non_null(told);
    unsetenv("PBS_ENVIRONMENT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fails_is_the_exit_status),
        cmocka_unit_test(a_letter_takes_the_place_of_the_file),
        cmocka_unit_test(other_words_lead_elsewhere),
        cmocka_unit_test(as_a_shell_it_is_one),
    };
    static const char *const unset[] = {
        "SLURM_JOB_ID",       "SLURM_CPUS_ON_NODE", "SLURM_JOB_NODELIST",     "SLURM_TASKS_PER_NODE",
        "SLURM_JOB_END_TIME", "STRETTO_JOB_END",    "STRETTO_ALLOCATION_END", "CUDA_VISIBLE_DEVICES",
        "PBS_ENVIRONMENT",    "PBS_JOBID"};
    char rm[96];
    int rc;

    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        unsetenv(unset[i]);
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(told_path, sizeof told_path, "%s/told.json", dir);
    snprintf(out_path, sizeof out_path, "%s/out", dir);
    snprintf(job_dir, sizeof job_dir, "%s/job", dir);
    snprintf(one_task, sizeof one_task, "{\"tasks\": [{\"id\": \"7.0\", \"dir\": \"%s/t/7.0\", \"argv\": [\"true\"]}]}",
             dir);
    test_limit(60); /* what never comes is a failure, too */
    rc = cmocka_run_group_tests_name("runner_main", tests, NULL, NULL);
    json_decref(told);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}
