/* The runner of a job: it has a session of its own, so that it survives the daemon, or it is adopted from another
 * daemon. */
#include "scheduler-adapters/local.h"

#include "common/log.h"
#include "common/process.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OVERRUN_MS 30000 /* the time beyond walltime and grace after which a runner is killed */
#define CANCEL_OVERRUN_MS 10000
#define LOOK_AGAIN_MS 1000

#ifdef SYS_pidfd_open
static int pidfd_open_(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int pidfd_signal(int fd, int sig)
{
    return (int)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
}
#else
static int pidfd_open_(pid_t pid)
{
    errno = ENOSYS;
    return -1;
}

static int pidfd_signal(int fd, int sig)
{
    errno = ENOSYS;
    return -1;
}
#endif

static void runner_timer_freed(uv_handle_t *handle)
{
    free(handle);
}

static void close_timer(uv_timer_t **timer)
{
    if (*timer != NULL)
        uv_close((uv_handle_t *)*timer, runner_timer_freed);
    *timer = NULL;
}

void local_close_handles(struct local_job *job)
{
    if (job->watch != NULL)
        /* the handle leaves the loop's poll set at once, so that the descriptor may be closed */
        uv_close((uv_handle_t *)job->watch, runner_timer_freed);
    if (job->pidfd >= 0)
        close(job->pidfd);
    close_timer(&job->look_again);
    close_timer(&job->limit);
    job->watch = NULL;
    job->pidfd = -1;
}

static void runner_ended(struct local_job *job, int status)
{
    local_list_remove(&job->a->children, job);
    job->child = false;
    job->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    job->exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    local_close_handles(job);
    if (job->exit_status == 0 && job->exit_signal == 0)
        local_job_ended(job, "", false); /* a runner exits with 0 only when its whole process tree has gone */
    else
        local_look_into(job);
}

static void wait_for(struct local_job *job)
{
    int status;

    if (waitpid(job->pid, &status, WNOHANG) == job->pid)
        runner_ended(job, status);
}

/* Returns the next child of this process that can be waited for, even one that is no runner; 0: there is none. */
static pid_t first_ended(void)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid : 0;
}

void local_wait(struct adapter *a)
{
    struct local_job *job, *next;
    pid_t pid;

    while ((pid = first_ended()) != 0) {
        for (job = a->children.first; job != NULL && job->pid != pid; job = job->next)
            ;
        if (job != NULL)
            wait_for(job);
        else if (!local_starter_ended(a, pid))
            break;
    }
    /* runners behind a child that is not ours */
    for (job = pid != 0 ? a->children.first : NULL; job != NULL; job = next) {
        next = job->next; /* a runner that is started meanwhile is appended to the list */
        wait_for(job);
    }
}

static void set_scheduler_id(struct local_job *job)
{
    snprintf(job->status.scheduler_id, sizeof job->status.scheduler_id, "local:%d", (int)job->pid);
}

static void limit_reached(uv_timer_t *timer)
{
    struct local_job *job = timer->data;

    local_kill(job, job->limit_why);
}

/* Kills the job's runner and all that it started in ms, unless a limit is sooner. */
static void local_limit(struct local_job *job, int64_t ms, const char *why)
{
    if (ms < 0)
        ms = 0;
    if (job->limit == NULL) {
        job->limit = xcalloc(1, sizeof *job->limit);
        job->limit->data = job;
        uv_timer_init(job->a->host.loop, job->limit);
    } else if (uv_is_active((uv_handle_t *)job->limit) && uv_timer_get_due_in(job->limit) <= (uint64_t)ms) {
        return;
    }
    job->limit_why = why;
    uv_timer_start(job->limit, limit_reached, (uint64_t)ms, 0);
}

static void start_limit(struct local_job *job, int64_t already_ms)
{
    if (job->walltime_ms > 0)
        local_limit(job, job->walltime_ms + job->grace_ms + OVERRUN_MS - already_ms,
                    "its runner did not end it in time after the walltime");
}

void local_child(struct local_job *job, pid_t pid)
{
    job->pid = pid;
    job->child = true;
    local_list_append(&job->a->children, job);
    set_scheduler_id(job);
    start_limit(job, 0);
}

static void adopted_gone(struct local_job *job)
{
    local_close_handles(job);
    local_look_into(job);
}

static void watch_ready(uv_poll_t *watch, int status, int events)
{
    adopted_gone(watch->data);
}

static void adopted_look_again(uv_timer_t *timer)
{
    struct local_job *job = timer->data;

    if (process_start_time(job->pid) != job->start_time)
        adopted_gone(job);
}

static void watch_adopted(struct local_job *job)
{
    if (job->pidfd >= 0) {
        job->watch = xcalloc(1, sizeof *job->watch);
        job->watch->data = job;
        if (uv_poll_init(job->a->host.loop, job->watch, job->pidfd) == 0) {
            uv_poll_start(job->watch, UV_READABLE, watch_ready);
            return;
        }
        free(job->watch);
        job->watch = NULL;
    }
    job->look_again = xcalloc(1, sizeof *job->look_again);
    job->look_again->data = job;
    uv_timer_init(job->a->host.loop, job->look_again);
    uv_timer_start(job->look_again, adopted_look_again, LOOK_AGAIN_MS, LOOK_AGAIN_MS);
}

int local_adopt(struct local_job *job, const struct claim *claim)
{
    int64_t started_ms = time_ms_of(claim->time), now = time_now_ms();

    job->pid = claim->pid;
    job->start_time = claim->start_time;
    job->pidfd = pidfd_open_(claim->pid);
    local_gpus_take_back(job); /* GPUs that the job was given, if another runner of it was first */
    local_gpus_note(job, claim->gpus);
    /* checked with the pidfd open, so that the answer is about the process that the pidfd holds */
    if (!claim_alive(claim)) {
        local_close_handles(job);
        return -1;
    }
    watch_adopted(job);
    job->state = LOCAL_RUNNING;
    job->status.state = ADAPTER_JOB_RUNNING;
    job->status.started_ms = started_ms;
    set_scheduler_id(job);
    start_limit(job, now > started_ms ? now - started_ms : 0);
    return 0;
}

/* Signals the runner, and never a process that only has the same process id. */
int local_runner_signal(struct local_job *job, int sig)
{
    if (job->child)
        return kill(job->pid, sig);
    if (job->pidfd >= 0)
        return pidfd_signal(job->pidfd, sig);
    if (process_start_time(job->pid) != job->start_time) {
        errno = ESRCH;
        return -1;
    }
    return kill(job->pid, sig);
}

/* A runner that does not yet block SIGUSR1 and SIGUSR2 would die of them. */
bool local_runner_ready(const struct local_job *job)
{
    unsigned long long blocked = 0;
    char path[64], line[256];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)job->pid);
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    while (fgets(line, sizeof line, f) != NULL && sscanf(line, "SigBlk: %llx", &blocked) != 1)
        ;
    fclose(f);
    return (blocked & (1ULL << (SIGUSR1 - 1))) != 0 && (blocked & (1ULL << (SIGUSR2 - 1))) != 0;
}

void local_kill(struct local_job *job, const char *why)
{
    job->killed_for = why;
    log_warn_of(LOG_JOB(0, job->name), "job %s: %s: killing it", job->name, why);
    local_runner_signal(job, SIGKILL); /* its processes are killed when it is gone and can start no more */
}

void local_terminate(struct local_job *job)
{
    job->cancelled = true;
    if (local_runner_signal(job, SIGTERM) < 0 && errno != ESRCH)
        log_warn_of(LOG_JOB(0, job->name), "job %s: cannot signal its runner: %s", job->name, strerror(errno));
    local_limit(job, job->grace_ms + CANCEL_OVERRUN_MS, "its runner did not end it in time after it was cancelled");
}
