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

struct local_copy *local_copy_create(struct adapter *a, int *theirs)
{
    struct local_copy *copy;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return NULL;
    copy = xcalloc(1, sizeof *copy);
    copy->a = a;
    copy->socket = ends[0];
    *theirs = ends[1];
    DL_APPEND(a->copies, copy);
    return copy;
}

void local_copy_dismiss(struct local_copy *copy)
{
    if (copy->watch != NULL)
        uv_close((uv_handle_t *)copy->watch, freed);
    copy->watch = NULL;
    if (copy->socket >= 0)
        close(copy->socket);
    copy->socket = -1;
}

void local_copy_free(struct local_copy *copy)
{
    local_copy_dismiss(copy);
    DL_DELETE(copy->a->copies, copy);
    free(copy);
}

void local_copy_take(struct local_copy *copy, struct local_job *job)
{
    copy->job = job;
    job->copy = copy;
}

void local_copy_leave(struct local_job *job)
{
    if (job->copy != NULL)
        local_copy_free(job->copy);
    job->copy = NULL;
}

static bool is_idle(const struct local_copy *copy)
{
    return copy->pid != 0 && copy->job == NULL && copy->socket >= 0;
}

static struct local_copy *idle_one(const struct adapter *a)
{
    struct local_copy *copy = a->copies;

    while (copy != NULL && !is_idle(copy))
        copy = copy->next;
    return copy;
}

bool local_copy_idle_take(struct local_job *job, const struct local_order *order)
{
    struct local_copy *copy;

    while ((copy = idle_one(job->a)) != NULL) {
        if (local_order_send(order, copy->socket, -1) == 0) {
            local_copy_take(copy, job);
            local_running(job, copy->pid, order->jobfd);
            return true;
        }
        local_copy_dismiss(copy); /* it is gone, which is reported soon */
    }
    return false;
}

bool local_copy_said_ended(const struct local_copy *copy)
{
    char said;

    return copy->socket >= 0 && recv(copy->socket, &said, 1, MSG_DONTWAIT) == 1 && said == STARTER_ENDED;
}

static void dismiss_idle(uv_timer_t *timer)
{
    struct adapter *a = timer->data;
    uint64_t now = uv_now(a->host.loop), next = 0;
    struct local_copy *copy;

    DL_FOREACH (a->copies, copy) {
        if (!is_idle(copy))
            continue;
        if (copy->idle_since + a->idle_ms <= now)
            local_copy_dismiss(copy);
        else
            next = copy->idle_since + a->idle_ms - now; /* the last is idle for longest */
    }
    if (next != 0)
        uv_timer_start(&a->idle, dismiss_idle, next, 0);
}

static void rest(struct local_copy *copy)
{
    struct adapter *a = copy->a;

    copy->idle_since = uv_now(a->host.loop);
    DL_DELETE(a->copies, copy);
    DL_PREPEND(a->copies, copy);
    if (!uv_is_active((uv_handle_t *)&a->idle))
        uv_timer_start(&a->idle, dismiss_idle, a->idle_ms, 0);
}

static void heard(uv_poll_t *watch, int status, int events)
{
    struct local_copy *copy = watch->data;
    struct local_job *job = copy->job;

    if (job == NULL || !local_copy_said_ended(copy)) {
        local_copy_dismiss(copy); /* its process ends, or does not speak as it should */
        return;
    }
    copy->job = NULL;
    job->copy = NULL;
    if (job->signalled)
        local_copy_dismiss(copy);
    else
        rest(copy);
    local_runner_ended(job, 0);
}

void local_copy_started(struct local_copy *copy, pid_t pid)
{
    copy->pid = pid;
    copy->watch = xcalloc(1, sizeof *copy->watch);
    copy->watch->data = copy;
    uv_poll_init(copy->a->host.loop, copy->watch, copy->socket);
    uv_poll_start(copy->watch, UV_READABLE, heard);
}

bool local_copy_gone(struct adapter *a, pid_t pid)
{
    struct local_copy *copy;

    DL_FOREACH (a->copies, copy)
        if (copy->pid == pid && copy->job == NULL)
            break;
    if (copy == NULL || waitpid(pid, NULL, WNOHANG) != pid)
        return false;
    local_copy_free(copy);
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
    struct local_copy *copy;

    while ((copy = a->copies) != NULL) {
        if (copy->job == NULL && copy->pid != 0) {
            kill(copy->pid, SIGKILL);
            waitpid(copy->pid, NULL, 0);
        }
        local_copy_free(copy);
    }
}
