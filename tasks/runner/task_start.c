#include "tasks/runner/task.h"

#include "common/files.h"
#include "common/log.h"
#include "common/units.h"
#include "common/xalloc.h"
#include "tasks/runner/artefacts.h"
#include "tasks/runner/copies.h"
#include "tasks/runner/deadline.h"
#include "tasks/runner/environment.h"
#include "tasks/runner/program.h"
#include "tasks/runner/ran.h"
#include "tasks/runner/looks.h"
#include "tasks/runner/restarts.h"
#include "tasks/runner/signals.h"
#include "tasks/runner/silence.h"

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

#define ALIVE_PART 8
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

size_t gpus_count(const char *list)
{
    size_t n = list[0] != '\0';

    for (const char *p = list; *p; p++)
        n += *p == ',';
    return n;
}

/* Returns a task's part of the job's GPUs, to be freed: the same number for each task, in the order of the tasks. */
static char *gpus_of(const struct task *t)
{
    const char *from = t->job->gpus, *to;
    size_t each = gpus_count(from) / t->job->desc->ntasks, skip;

    skip = each * (size_t)(t->desc - t->job->desc->tasks);
    while (skip-- > 0)
        from += strcspn(from, ",") + 1;
    to = from;
    for (size_t i = 0; i < each; i++)
        to += strcspn(to, ",") + (i + 1 < each);
    return xasprintf("%.*s", (int)(to - from), from);
}

/* Sets the task's GPUs. A task that asked for none sees none, so that no GPU is used by two tasks, unless its own
 * environment says otherwise. */
static void task_set_gpus(struct task_environment *env, const struct task *t)
{
    char *gpus = gpus_of(t);

    environment_set(env, "STRETTO_GPUS", gpus);
    if (gpus[0] != '\0' || json_object_get(t->desc->env, "CUDA_VISIBLE_DEVICES") == NULL)
        environment_set(env, "CUDA_VISIBLE_DEVICES", gpus);
    free(gpus);
}

/* Asks the library to signal while it waits (tasks/proto/alive.h), several times within the shortest time after which a
 * task counts as hung. The file of a former process is removed. */
static void set_alive(struct task_environment *env, const struct task *t)
{
    char *path = xasprintf("%s/" TASK_ALIVE, t->desc->dir), number[32];

    snprintf(number, sizeof number, "%lld", (long long)(silence_stopped_ms(t->job->desc) / ALIVE_PART));
    unlink(path);
    environment_set(env, "STRETTO_ALIVE", path);
    environment_set(env, "STRETTO_ALIVE_MS", number);
    free(path);
}

static void set_metrics(struct task_environment *env, const struct task *t)
{
    char *path = xasprintf("%s/" METRICS_FILE, t->desc->dir);

    environment_set(env, "STRETTO_METRICS", path);
    free(path);
}

/* Names the memory to a rank that outlives its process. A path leads through launchers, which close descriptors. */
static void set_memory(struct task_environment *env, const struct task *t)
{
    const struct restarts *r = t->job->restarts;
    int fd = r->memory[t->desc - t->job->desc->tasks];
    char text[64];

    snprintf(text, sizeof text, "%d", r->number);
    environment_set(env, "STRETTO_RESTART", text);
    if (fd < 0)
        return;
    snprintf(text, sizeof text, "/proc/%d/fd/%d", (int)getpid(), fd);
    environment_set(env, "STRETTO_KEPT", text);
}

static struct task_environment *make_environment(const struct task *t)
{
    struct task_environment *env = environment_create();
    const char *name, *path;
    char number[32], *joined;
    json_t *value;
    size_t i;

    json_object_foreach ((json_t *)t->desc->env, name, value)
        environment_set(env, name, json_string_value(value));
    path = environment_get(env, "PATH");
    joined = xstrdup(path ? path : DEFAULT_PATH);
    for (i = json_array_size(t->desc->path); i > 0; i--) {
        char *longer = xasprintf("%s:%s", json_string_value(json_array_get(t->desc->path, i - 1)), joined);

        free(joined);
        joined = longer;
    }
    environment_set(env, "PATH", joined);
    free(joined);

    environment_set(env, "STRETTO_JOB", t->job->desc->job);
    environment_set(env, "STRETTO_TASK", t->mark);
    if (t->job->desc->kind == JOBDESC_MEMBERS)
        set_metrics(env, t);
    if (t->job->desc->streams != JOBDESC_STREAMS_NONE)
        environment_set(env, "STRETTO_STREAM_MARKS", t->desc->dir);
    if (t->job->tmpdir != NULL)
        environment_set(env, "STRETTO_TMPDIR", t->job->tmpdir);
    snprintf(number, sizeof number, "%lld", (long long)t->desc->ntasks);
    environment_set(env, "STRETTO_NTASKS", number);
    if (t->job->gpus != NULL)
        task_set_gpus(env, t);
    if (t->job->desc->checkpoint.before_ms > 0) {
        snprintf(number, sizeof number, "%g", (double)t->job->desc->checkpoint.before_ms / 1000);
        environment_set(env, "STRETTO_CHECKPOINT_BEFORE", number);
    }
    if (t->job->desc->silence_ms > 0)
        set_alive(env, t);
    if (t->job->restarts != NULL)
        set_memory(env, t);
    rendezvous_tell(&t->rendezvous, t->desc, env);
    if (t->job->deadline != 0) {
        snprintf(number, sizeof number, "%lld", (long long)t->job->deadline);
        environment_set(env, "STRETTO_DEADLINE", number);
    }
    return env;
}

/* Opens a file of output: a new one, or that of the task's former process. */
static int open_output(const struct task *t, const char *name, struct error *err)
{
    bool again = t->job->restarts != NULL && t->job->restarts->number > 0;
    char *path = xasprintf("%s/%s", t->desc->dir, name);
    int fd =
        open(path, O_WRONLY | O_CREAT | (again ? 0 : O_TRUNC) | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);

    if (fd < 0)
        error_errno(err, "cannot_start", "cannot start: %s", path);
    free(path);
    return fd;
}

/* Opens the files for the standard output and the standard error. If they are merged, both are one open file, so
 * that it has all writes in their order. */
static int open_outputs(const struct task *t, int fds[3], struct error *err)
{
    fds[1] = open_output(t, "stdout", err);
    if (fds[1] < 0)
        return -1;
    fds[2] = t->job->desc->merged ? fcntl(fds[1], F_DUPFD_CLOEXEC, 0) : open_output(t, "stderr", err);
    if (fds[2] < 0 && t->job->desc->merged)
        return error_errno(err, "cannot_start", "cannot start: no descriptor for its output");
    return fds[2] < 0 ? -1 : 0;
}

/* Becomes the program, in the new process. It shares the runner's memory until then: it may call nothing but system
 * calls, and change nothing. */
static void program_become(const struct program *program, const char *dir, char **env, const int fds[3],
                           const cpu_set_t *cpus, unsigned mask, const sigset_t *ignored, pid_t runner)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;

    setsid();
    /* a killed runner takes its tasks along; it may be gone already */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != runner)
        _exit(127);
    for (int sig = 1; sig < NSIG; sig++)
        if (sigismember(ignored, sig) == 1)
            sigaction(sig, &plain, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (cpus != NULL)
        sched_setaffinity(0, sizeof *cpus, cpus); /* if this is refused, the task runs on any CPU */
    umask(mask);
    if (chdir(dir) < 0)
        return;
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            return;
    execve(program->file, program->argv, env);
}

/* Returns the task's part of the job's CPUs, NULL if they are not divided. */
static const cpu_set_t *cpus_of(const struct task *t, cpu_set_t *set)
{
    const struct cpus *cpus = &t->job->cpus;
    size_t first, n = cpus_part(cpus->n, t->job->desc->ntasks, (size_t)(t->desc - t->job->desc->tasks), &first);

    CPU_ZERO(set);
    for (size_t i = first; i < first + n; i++)
        CPU_SET(cpus->list[i].id, set);
    return n > 0 ? set : NULL;
}

/* Returns 0 with t->pid set, or the errno of a failure in the new process, or -1 with err. */
static int task_spawn(struct task *t, const struct program *program, char **env, const int fds[3], struct error *err)
{
    const char *dir = t->desc->dir;
    cpu_set_t set;
    const cpu_set_t *cpus = cpus_of(t, &set);
    const sigset_t *ignored = run_ignored();
    volatile int failed = 0; /* written by the new process */
    pid_t runner = getpid(), pid;
    unsigned mask = 077; /* the files of the task are for the user alone, unless the spec says otherwise */

    if (t->job->desc->umask != NULL)
        umask_parse(t->job->desc->umask, &mask);
    pid = vfork(); /* returns when the new process has become the program, or has ended */
    if (pid == 0) {
        program_become(program, dir, env, fds, cpus, mask, ignored, runner);
        failed = errno;
        _exit(127);
    }
    if (pid < 0)
        return error_errno(err, "cannot_start", "cannot start \"%s\": no new process", program->argv[0]);
    if (failed != 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return failed;
    }
    t->pid = t->session = pid;
    return 0;
}

static bool is_to_stop(const void *arg)
{
    return deadline_or_signal(((const struct task *)arg)->job) != STOP_NONE;
}

/* Finds the checkpoint that the task goes on from, which is read whole. Fails with t->why if the job is to end
 * meanwhile: an older one would be taken then, or none. */
static int task_find_checkpoint(struct task *t, struct error *err)
{
    int rc;

    ckptdir_heed(is_to_stop, t);
    rc = checkpoints_begin(&t->checkpoints, t->job->desc, t->desc, err);
    ckptdir_heed(NULL, NULL);
    t->why = task_leaves_checkpoints(t) ? deadline_or_signal(t->job) : STOP_NONE;
    return t->why != STOP_NONE ? -1 : rc;
}

static void watch_checkpoints(struct task *t)
{
    size_t number = (size_t)(t->desc - t->job->desc->tasks);
    char *records;

    if (!task_leaves_checkpoints(t))
        return;
    records = ckptdir_records(t->checkpoints.dir);
    watch_add(t->job->watch, t->checkpoints.dir, number, LOOKS_FILES);
    watch_add(t->job->watch, records, number, LOOKS_RECORDS);
    free(records);
}

/* Returns the command that replaces the task's launcher, or that starts copies of it, or a pilot on each of its nodes;
 * NULL: the launcher itself. By default Slurm gives a step the whole job, so that the steps of several tasks would wait
 * for each other. With these options each step gets the CPUs that it needs, and they share the job's memory. */
static const char *const *launch_of(const struct task *t, struct copies_words *words)
{
    const char *launcher = t->desc->launcher, *name = launcher != NULL ? strrchr(launcher, '/') : NULL;
    bool alone = t->job->desc->ntasks == 1 && getenv("STRETTO_PILOT") == NULL;

    if (copies_are_meant(t->desc)) {
        copies_launch(words, t->desc, t->job->desc->grace_ms);
        return words->list;
    }
    if (t->job->launch != NULL)
        return launcher != NULL || t->job->desc->kind == JOBDESC_PILOT ? t->job->launch : NULL;
    if (launcher == NULL || alone || strcmp(name != NULL ? name + 1 : launcher, "srun") != 0)
        return NULL;
    words->list[0] = launcher;
    words->list[1] = "--exact";
    words->list[2] = "--mem=0";
    words->list[3] = NULL;
    return words->list;
}

static int try_start(struct task *t, struct error *err)
{
    struct copies_words words;
    const char *resume = NULL;
    struct program_word marks[RENDEZVOUS_WORDS];
    struct task_environment *env = NULL;
    struct program program = {0};
    int fds[3] = {-1, -1, -1}, rc = -1, failed;

    if (dir_make(t->desc->dir, err) < 0 ||
        (t->desc->results != NULL && artefacts_check(t->desc->results, t->desc->owner, err) < 0))
        goto out;
    if (t->job->launch == NULL && /* else its processes are elsewhere */
        rendezvous_make(&t->rendezvous, t->job->desc, t->desc, err) < 0)
        goto out;
    env = make_environment(t);
    rendezvous_words(&t->rendezvous, marks);
    if (open_outputs(t, fds, err) < 0)
        goto out;
    if (task_find_checkpoint(t, err) < 0)
        goto out;
    watch_checkpoints(t);
    if (t->job->desc->kind == JOBDESC_MEMBERS)
        t->metrics = metrics_create(t->job->desc, t->desc, t->job->machine->unix_ms(), t->job->machine->monotonic_ms());
    resume = t->checkpoints.resume;
    t->rec.end.resumed = t->checkpoints.resumed;
    if (resume != NULL)
        environment_set(env, "STRETTO_RESUME", resume);
    if (program_init(&program, t->desc, launch_of(t, &words), environment_get(env, "PATH"), marks, resume, err) < 0)
        goto out;
    if (t->job->desc->attest != NULL && (t->ran = ran_begin(t, &program, env, &t->why)) == NULL)
        goto out;
    fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fds[0] < 0) {
        error_errno(err, "cannot_start", "cannot start: /dev/null");
        goto out;
    }
    failed = task_spawn(t, &program, environment_list(env), fds, err);
    if (failed > 0)
        program_exec_error(&program, failed, err);
    if (failed != 0)
        goto out;
    log_info("task %s: %s runs as process %d", t->desc->id, program.file, (int)t->pid);
    rc = 0;
out:
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    program_fini(&program);
    environment_destroy(env);
    return rc;
}

void task_start(struct task *t)
{
    struct error err;

    t->rec.end.started_ms = t->job->machine->unix_ms();
    if (try_start(t, &err) == 0)
        return;
    if (t->why != STOP_NONE) { /* it was to end before its process was made */
        task_skip(t, t->why);
        return;
    }
    t->rec.end.ended_ms = t->job->machine->unix_ms();
    t->rec.end.outcome = ATTEMPT_FAILED;
    snprintf(t->rec.end.reason, sizeof t->rec.end.reason, "%.511s", err.text);
}
