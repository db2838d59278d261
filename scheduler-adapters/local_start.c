/* Starts a runner: as a copy of the starter, or else as a new process, on a worker thread. posix_spawn() returns only
 * when the new process has got a CPU and begun its program. On a busy machine that needs milliseconds, for which the
 * loop must not wait. */
#include "scheduler-adapters/local.h"

#include "common/jobfd.h"
#include "common/xalloc.h"
#include "tasks/proto/starter.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct start {
    uv_work_t work;
    struct local_job *job;
    const char *runner;
    char *args[6], **environment, *gpus;
    pid_t pid;
    int jobfd, error;
};

char **local_runner_environment(char *mark)
{
    size_t n = 0;
    char **list;

    while (environ[n] != NULL)
        n++;
    list = xcalloc(n + 2, sizeof *list);
    list[0] = mark;
    memcpy(list + 1, environ, n * sizeof *list);
    return list;
}

void local_start_init(struct adapter *a)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&a->attributes);
    posix_spawnattr_setflags(&a->attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&a->attributes, &none);
    posix_spawnattr_setsigdefault(&a->attributes, &all);
    posix_spawn_file_actions_init(&a->actions);
    posix_spawn_file_actions_addopen(&a->actions, 0, "/dev/null", O_RDWR, 0); /* the runner opens its log itself */
    posix_spawn_file_actions_adddup2(&a->actions, 0, 1);
    posix_spawn_file_actions_adddup2(&a->actions, 0, 2);
}

void local_start_fini(struct adapter *a)
{
    posix_spawn_file_actions_destroy(&a->actions);
    posix_spawnattr_destroy(&a->attributes);
}

/* Uses posix_spawn() rather than uv_spawn(), which forks: that costs a daemon with much memory more than all else that
 * it does for a job. */
static int runner_spawn(struct start *s)
{
    const struct adapter *a = s->job->a;
    posix_spawn_file_actions_t actions;
    int error;

    if (s->jobfd < 0)
        return posix_spawn(&s->pid, s->runner, &a->actions, &a->attributes, s->args, s->environment);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_adddup2(&actions, s->jobfd, 0);
    error = posix_spawn(&s->pid, s->runner, &actions, &a->attributes, s->args, s->environment);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static void do_start(uv_work_t *work)
{
    struct start *s = work->data;
    const char *descriptor = s->job->descriptor;
    struct error err;

    if (descriptor != NULL && (s->jobfd = jobfd_write(descriptor, strlen(descriptor), &err)) < 0)
        s->error = errno;
    else
        s->error = runner_spawn(s);
    if (s->error != 0 && s->jobfd >= 0)
        close(s->jobfd);
}

static void start_done(uv_work_t *work, int status)
{
    struct start *s = work->data;
    struct local_job *job = s->job;
    struct adapter *a = job->a;

    local_started(job, s->pid, s->jobfd, s->error);
    free(s->environment[0]);
    free(s->environment);
    free(s->gpus);
    free(s);
    local_worker_done(a);
}

void local_start_anew(struct local_job *job)
{
    struct start *s = xcalloc(1, sizeof *s);
    size_t n = 0;

    s->work.data = s;
    s->job = job;
    s->runner = job->a->host.runner;
    s->gpus = job->a->have.gpus > 0 ? local_gpus_option(job) : NULL;
    s->args[n++] = (char *)s->runner;
    s->args[n++] = "--local";
    if (job->descriptor != NULL)
        s->args[n++] = "--job-fd";
    s->jobfd = -1;
    if (s->gpus != NULL)
        s->args[n++] = s->gpus;
    s->args[n] = job->dir;
    s->environment = local_runner_environment(xasprintf("%s%s", STARTER_MARK, job->name));
    job->a->workers++;
    uv_queue_work(job->a->host.loop, &s->work, do_start, start_done);
}

void local_start(struct local_job *job)
{
    job->state = LOCAL_STARTING;
    if (!local_starter_take(job))
        local_start_anew(job);
}
