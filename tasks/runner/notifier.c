#include "tasks/runner/notifier.h"

#include "common/log.h"
#include "tasks/proto/control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 3000 /* longer than a sender waits for its messages */

/* Passes notifications on until the other end is closed. Several that come at once become one message, which only says
 * that there is news. */
static void pass_on(int fd, const char *endpoint, const char *job, const char *key)
{
    struct control_sender *sender = control_sender_create(endpoint, job, key);
    char bytes[256];
    ssize_t n;

    while ((n = read(fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0)
            control_sender_nudge(sender, CONTROL_EXIT);
    }
    control_sender_destroy(sender);
}

/* Becomes the notifier. Signals are blocked here as in the pilot, which alone decides when to end. */
static void become_notifier(const int fds[2], pid_t pilot, const char *endpoint, const char *job, const char *key)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != pilot)
        _exit(0);
    close(fds[0]);
    prctl(PR_SET_NAME, "stretto-notify");
    pass_on(fds[1], endpoint, job, key);
    _exit(0);
}

void notifier_start(struct notifier *n, const char *endpoint, const char *job, const char *key)
{
    pid_t self = getpid(), pid;
    int fds[2];

    *n = (struct notifier){0};
    if (endpoint == NULL)
        return;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        log_warn("the daemon will not be told of news: %s", strerror(errno));
        return;
    }
    pid = fork();
    if (pid == 0)
        become_notifier(fds, self, endpoint, job, key);
    close(fds[1]);
    if (pid < 0) {
        log_warn("the daemon will not be told of news: %s", strerror(errno));
        close(fds[0]);
        return;
    }
    *n = (struct notifier){.pid = pid, .fd = fds[0]};
}

void notifier_nudge(struct notifier *n)
{
    /* the socket is full of notifications, or its other end is gone: neither matters */
    if (n->pid > 0 && send(n->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    }
}

void notifier_leave(struct notifier *n)
{
    if (n->pid > 0)
        close(n->fd);
    *n = (struct notifier){0};
}

void notifier_end(struct notifier *n)
{
    struct pollfd end = {.events = POLLIN};

    if (n->pid == 0)
        return;
    end.fd = n->fd;
    shutdown(n->fd, SHUT_WR);
    poll(&end, 1, END_MS); /* the notifier writes nothing, so the socket becomes readable at its end */
    kill(n->pid, SIGKILL);
    waitpid(n->pid, NULL, 0);
    notifier_leave(n);
}
