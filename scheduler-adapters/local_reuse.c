/* Runners that run one job after another, since making a process costs more than all else that a runner does for a
 * short job (tasks/proto/starter.h). Only a runner that is as it was before takes another job, and only one to which
 * this adapter has sent no signal: it might see it in its next job. One that is idle for IDLE_MS is dismissed.
 *
 * What becomes of a job does not depend on this: a runner that dies, idle or not, is a runner that was killed. */
#include "scheduler-adapters/local.h"

#include "common/xalloc.h"
#include "tasks/proto/starter.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#define IDLE_MS 1000

static void freed(uv_handle_t *handle)
{
    free(handle);
}

struct local_runner *local_runner_create(struct adapter *a, int *theirs)
{
    struct local_runner *runner;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return NULL;
    runner = xcalloc(1, sizeof *runner);
    runner->a = a;
    runner->socket = ends[0];
    *theirs = ends[1];
    DL_APPEND(a->runners, runner);
    return runner;
}

void local_runner_dismiss(struct local_runner *runner)
{
    if (runner->watch != NULL)
        uv_close((uv_handle_t *)runner->watch, freed);
    runner->watch = NULL;
    if (runner->socket >= 0)
        close(runner->socket);
    runner->socket = -1;
}

void local_runner_free(struct local_runner *runner)
{
    local_runner_dismiss(runner);
    DL_DELETE(runner->a->runners, runner);
    free(runner);
}

void local_runner_take(struct local_runner *runner, struct local_job *job)
{
    runner->job = job;
    job->runner = runner;
}

void local_runner_leave(struct local_job *job)
{
    if (job->runner != NULL)
        local_runner_free(job->runner);
    job->runner = NULL;
}

static bool is_idle(const struct local_runner *runner)
{
    return runner->pid != 0 && runner->job == NULL && runner->socket >= 0;
}

struct local_runner *local_idle_runner(struct adapter *a)
{
    struct local_runner *runner = a->runners;

    while (runner != NULL && !is_idle(runner))
        runner = runner->next;
    return runner;
}

bool local_runner_said_ended(const struct local_runner *runner)
{
    char said;

    return runner->socket >= 0 && recv(runner->socket, &said, 1, MSG_DONTWAIT) == 1 && said == STARTER_ENDED;
}

static void dismiss_idle(uv_timer_t *timer)
{
    struct adapter *a = timer->data;
    uint64_t now = uv_now(a->host.loop), next = 0;
    struct local_runner *runner;

    DL_FOREACH (a->runners, runner) {
        if (!is_idle(runner))
            continue;
        if (runner->idle_since + a->idle_ms <= now)
            local_runner_dismiss(runner);
        else
            next = runner->idle_since + a->idle_ms - now; /* the last is idle for longest */
    }
    if (next != 0)
        uv_timer_start(&a->idle, dismiss_idle, next, 0);
}

static void rest(struct local_runner *runner)
{
    struct adapter *a = runner->a;

    runner->idle_since = uv_now(a->host.loop);
    DL_DELETE(a->runners, runner);
    DL_PREPEND(a->runners, runner);
    if (!uv_is_active((uv_handle_t *)&a->idle))
        uv_timer_start(&a->idle, dismiss_idle, a->idle_ms, 0);
}

static void heard(uv_poll_t *watch, int status, int events)
{
    struct local_runner *runner = watch->data;
    struct local_job *job = runner->job;

    if (job == NULL || !local_runner_said_ended(runner)) {
        local_runner_dismiss(runner); /* its process ends, or does not speak as it should */
        return;
    }
    runner->job = NULL;
    job->runner = NULL;
    if (job->signalled)
        local_runner_dismiss(runner);
    else
        rest(runner);
    local_runner_ended(job, 0);
}

void local_runner_started(struct local_runner *runner, pid_t pid)
{
    runner->pid = pid;
    runner->watch = xcalloc(1, sizeof *runner->watch);
    runner->watch->data = runner;
    uv_poll_init(runner->a->host.loop, runner->watch, runner->socket);
    uv_poll_start(runner->watch, UV_READABLE, heard);
}

bool local_runner_gone(struct adapter *a, pid_t pid)
{
    struct local_runner *runner;

    DL_FOREACH (a->runners, runner)
        if (runner->pid == pid && runner->job == NULL)
            break;
    if (runner == NULL || waitpid(pid, NULL, WNOHANG) != pid)
        return false;
    local_runner_free(runner);
    return true;
}

void local_reuse_start(struct adapter *a)
{
    uv_timer_init(a->host.loop, &a->idle);
    a->idle.data = a;
    a->idle_ms = IDLE_MS;
}

void local_reuse_stop(struct adapter *a)
{
    struct local_runner *runner;

    while ((runner = a->runners) != NULL) {
        if (runner->job == NULL && runner->pid != 0) {
            kill(runner->pid, SIGKILL);
            waitpid(runner->pid, NULL, 0);
        }
        local_runner_free(runner);
    }
}
