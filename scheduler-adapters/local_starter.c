/* The starter: a process that stands by to become the runners (tasks/proto/starter.h). If there is none, local_start.c
 * starts a new process for each runner. A starter that is gone is replaced, but not more often than every AGAIN_MS.
 *
 * A starter that goes with unanswered orders may have carried one out. Then a second runner is started for the job,
 * which finds the claim of the first, as in any case of two runners for a job. */
#include "scheduler-adapters/local.h"

#include "common/jobfd.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "tasks/proto/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGAIN_MS 10000
#define JOBFD_MAX_HERE (256 << 10) /* bytes: a worker writes longer descriptors */

struct raising {
    uv_work_t work;
    struct adapter *a;
    int fd; /* our end of the socket */
    pid_t pid;
    int error;
};

static void do_raise(uv_work_t *work)
{
    struct raising *r = work->data;
    char mark[sizeof STARTER_MARK + STARTER_MARK_ROOM], room[STARTER_ARGS_ROOM];
    char *args[] = {(char *)r->a->host.runner, "--starter", room, NULL}, **environment;
    posix_spawn_file_actions_t actions;
    int ends[2];

    snprintf(mark, sizeof mark, "%s%*s", STARTER_MARK, STARTER_MARK_ROOM, "");
    snprintf(room, sizeof room, "%*s", (int)sizeof room - 1, "");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        r->error = errno;
        return;
    }
    environment = local_runner_environment(mark);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    r->error = posix_spawn(&r->pid, r->a->host.runner, &actions, &r->a->attributes, args, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    close(ends[1]);
    r->fd = ends[0];
    if (r->error == 0 && fcntl(r->fd, F_SETFL, O_NONBLOCK) == 0)
        return;
    close(r->fd);
    r->fd = -1;
}

static void starter_watch_freed(uv_handle_t *handle)
{
    free(handle);
}

/* Closes the connection and kills the starter. local_starter_ended() waits for it once its end is reported. */
static void starter_dismiss(struct adapter *a)
{
    uv_close((uv_handle_t *)a->starter.watch, starter_watch_freed);
    close(a->starter.fd);
    if (a->starter.pid != 0)
        kill(a->starter.pid, SIGKILL);
    a->starter.watch = NULL;
    a->starter.fd = -1;
}

static void starter_gone(struct adapter *a)
{
    struct local_job *job;

    log_warn("the process that stands by to become runners is gone");
    starter_dismiss(a);
    while (!atomic_load(&a->closing) && (job = a->starter.asked.first) != NULL) {
        local_list_remove(&a->starter.asked, job);
        close(job->jobfd);
        job->jobfd = -1;
        local_start_anew(job);
    }
}

static void starter_answered(uv_poll_t *watch, int status, int events)
{
    struct adapter *a = watch->data;
    struct starter_reply reply;
    struct local_job *job;
    ssize_t n;

    while ((n = recv(a->starter.fd, &reply, sizeof reply, 0)) == sizeof reply &&
           (job = a->starter.asked.first) != NULL) {
        local_list_remove(&a->starter.asked, job);
        if (reply.error != 0)
            close(job->jobfd);
        local_started(job, reply.pid, job->jobfd, reply.error);
        if (a->starter.watch != watch) /* it was dismissed meanwhile */
            return;
    }
    if (n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        starter_gone(a);
}

static void starter_raised(uv_work_t *work, int status)
{
    struct raising *r = work->data;
    struct adapter *a = r->a;

    a->starter.raising = false;
    if (r->error == 0)
        a->starter.pid = r->pid;
    else
        log_warn("no process can stand by to become runners, each is started anew: %s", strerror(r->error));
    if (r->fd >= 0) {
        a->starter.fd = r->fd;
        a->starter.watch = xcalloc(1, sizeof *a->starter.watch);
        a->starter.watch->data = a;
        uv_poll_init(a->host.loop, a->starter.watch, r->fd);
        uv_poll_start(a->starter.watch, UV_READABLE, starter_answered);
    }
    free(r);
    local_worker_done(a);
}

static void raise_starter(struct adapter *a)
{
    uint64_t now = uv_now(a->host.loop);
    struct raising *r;

    if (a->starter.raising || a->starter.pid != 0 || now < a->starter.not_before)
        return;
    a->starter.raising = true;
    a->starter.not_before = now + AGAIN_MS;
    r = xcalloc(1, sizeof *r);
    r->work.data = r;
    r->a = a;
    r->fd = -1;
    a->workers++;
    uv_queue_work(a->host.loop, &r->work, do_raise, starter_raised);
}

/* Writes the order. Returns its size, 0 if it is too long. */
static size_t write_order(const struct local_job *job, char order[STARTER_ORDER_MAX])
{
    char *option = job->a->have.gpus > 0 ? local_gpus_option(job) : NULL;
    const char *gpus = option != NULL ? strchr(option, '=') + 1 : "";
    int n = snprintf(order, STARTER_ORDER_MAX, "%s%c%s%c%s", job->name, 0, job->dir, 0, gpus);
    bool fits = strlen(job->name) < STARTER_MARK_ROOM && n + 1 < STARTER_ORDER_MAX;
    size_t size = (size_t)n + (option != NULL); /* the third string is left out if GPUs are not counted */

    free(option);
    return fits ? size : 0;
}

static int send_order(int socket, const char *order, size_t size, int jobfd)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)order, size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof jobfd);
    memcpy(CMSG_DATA(head), &jobfd, sizeof jobfd);
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size ? 0 : -1;
}

bool local_starter_take(struct local_job *job)
{
    struct adapter *a = job->a;
    char order[STARTER_ORDER_MAX];
    size_t length = job->descriptor != NULL ? strlen(job->descriptor) : 0, size;
    struct error err;

    if (length == 0 || length > JOBFD_MAX_HERE)
        return false;
    if (a->starter.watch == NULL) {
        raise_starter(a);
        return false;
    }
    size = write_order(job, order);
    job->jobfd = size > 0 ? jobfd_write(job->descriptor, length, &err) : -1;
    if (job->jobfd < 0)
        return false;
    if (send_order(a->starter.fd, order, size, job->jobfd) < 0) {
        /* too many orders wait, or the starter is gone, which is reported soon */
        close(job->jobfd);
        job->jobfd = -1;
        return false;
    }
    local_list_append(&a->starter.asked, job);
    return true;
}

bool local_starter_ended(struct adapter *a, pid_t pid)
{
    if (pid != a->starter.pid || waitpid(pid, NULL, WNOHANG) != pid)
        return false;
    a->starter.pid = 0; /* the socket may still hold answers that it gave before, and then its end */
    return true;
}

void local_starter_stop(struct adapter *a)
{
    struct local_job *job;

    if (a->starter.watch != NULL)
        starter_dismiss(a);
    if (a->starter.pid != 0)
        waitpid(a->starter.pid, NULL, 0); /* it has been killed, and uses no file system */
    a->starter.pid = 0;
    while ((job = a->starter.asked.first) != NULL) {
        local_list_remove(&a->starter.asked, job);
        close(job->jobfd);
        local_started(job, 0, -1, ECANCELED);
    }
}
