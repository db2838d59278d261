#include "tasks/runner/starter.h"

#include "common/xalloc.h"
#include "tasks/proto/starter.h"
#include "tasks/runner/cpus.h"
#include "tasks/runner/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

struct starter {
    pid_t daemon;
    int null;          /* a descriptor of /dev/null */
    char *mark, *args; /* in the memory that /proc shows */
    size_t mark_room, args_room;
};

struct order {
    char text[STARTER_ORDER_MAX + 1];
    const char *name, *dir, *gpus;
    int jobfd, socket; /* -1: there is none */
};

static const char *after(const struct order *order, size_t size, const char *string)
{
    const char *next = string + strlen(string) + 1;

    return next < order->text + size ? next : NULL;
}

static void take_descriptors(struct order *order, struct msghdr *message)
{
    struct cmsghdr *part = CMSG_FIRSTHDR(message);
    int fds[2] = {-1, -1};

    if (part != NULL && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
        memcpy(fds, CMSG_DATA(part),
               part->cmsg_len - CMSG_LEN(0) < sizeof fds ? part->cmsg_len - CMSG_LEN(0) : sizeof fds);
    order->jobfd = fds[0];
    order->socket = fds[1];
}

/* Receives the next order: 1; 0 where there are no more; -1 with errno where it cannot be carried out, or, EAGAIN, is
 * not there yet. */
static int next_order(int socket, int flags, struct order *order)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec part = {order->text, STARTER_ORDER_MAX};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n;

    order->jobfd = order->socket = -1;
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return -1;
    if (n <= 0)
        return 0;
    order->text[n] = '\0';
    take_descriptors(order, &message);
    order->name = order->text;
    order->dir = after(order, (size_t)n, order->name);
    order->gpus = order->dir != NULL ? after(order, (size_t)n, order->dir) : NULL;
    if (order->dir != NULL && order->jobfd >= 0)
        return 1;
    errno = order->jobfd < 0 ? EMFILE : EINVAL;
    return -1;
}

static void close_descriptors(const struct order *order)
{
    if (order->jobfd >= 0)
        close(order->jobfd);
    if (order->socket >= 0)
        close(order->socket);
}

static void set_mark(const struct starter *s, const char *name)
{
    snprintf(s->mark, s->mark_room, "%s", name);
    memset(s->mark + strlen(s->mark), 0, s->mark_room - strlen(s->mark));
}

/* Changes name, arguments and environment to those of a runner that was started anew. */
static void look_the_part(const struct starter *s, const struct order *order)
{
    size_t room = s->args_room, n;

    set_mark(s, order->name);
    memset(s->args, 0, room);
    n = (size_t)snprintf(s->args, room, "--local%c--job-fd%c", 0, 0);
    if (order->gpus != NULL && n < room)
        n += (size_t)snprintf(s->args + n, room - n, "--gpus=%s%c", order->gpus, 0);
    if (n < room)
        snprintf(s->args + n, room - n, "%s", order->dir);
}

/* From now on this process is the runner of no job. */
static void look_idle(const struct starter *s)
{
    set_mark(s, "");
    memset(s->args, 0, s->args_room);
    snprintf(s->args, s->args_room, "--idle");
}

/* Ends a copy. What exit() would do besides is nothing that a copy needs, and costs as much as reading the descriptor;
 * but the sanitizers look for leaks there. */
static void end_copy(int status) __attribute__((noreturn));
static void end_copy(int status)
{
#ifdef __SANITIZE_ADDRESS__
    exit(status);
#else
    _exit(status);
#endif
}

static bool told_to_end(void)
{
    sigset_t set;

    sigpending(&set);
    return sigismember(&set, SIGTERM) || sigismember(&set, SIGINT) || sigismember(&set, SIGHUP);
}

/* No signal of a child is left for the wait, and none can come: all of them were waited for. */
static void forget_children(void)
{
    static const struct timespec now = {0};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigtimedwait(&set, NULL, &now);
}

/* Waits for the next order. Returns false where this process is to end without having begun anything: there are no more
 * orders, or it was told by a signal. A forwarded signal that comes before the order is for no job, and one that comes
 * after it is left to the job. */
static bool wait_for_order(const struct starter *s, int socket, int signal_fd, struct order *order)
{
    struct pollfd fds[] = {{.fd = socket, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
    struct signalfd_siginfo nobodys;
    int rc;

    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return false;
        rc = next_order(socket, MSG_DONTWAIT, order);
        if (rc >= 0 || errno != EAGAIN)
            /* the next daemon repeats the orders of a dead one */
            return rc == 1 && !told_to_end() && getppid() == s->daemon;
        if (told_to_end())
            return false;
        if (read(signal_fd, &nobodys, sizeof nobodys) < 0 && errno != EAGAIN)
            return false;
    }
}

/* Runs the job of the order, and then those of the orders that come on its socket, if it has one. */
static void become_runner(const struct starter *s, struct order *order)
{
    int socket = order->socket, signal_fd;
    bool again;
    struct error err;

    prctl(PR_SET_NAME, "stretto-run");
    setsid();
    signal_fd = run_signals(&err);
    if (signal_fd < 0 || dup2(s->null, STDIN_FILENO) < 0) /* replaces the socket */
        end_copy(EX_OSERR);
    for (;;) {
        struct starter_job job = {.dir = order->dir, .gpus = order->gpus, .jobfd = order->jobfd, .daemon = s->daemon};
        int status;

        look_the_part(s, order);
        status = starter_run_job(&job, signal_fd, &again);
        if (status != 0 || !again || socket < 0)
            end_copy(status);
        close(order->jobfd);
        look_idle(s);
        forget_children();
        if (send(socket, &(char){STARTER_ENDED}, 1, MSG_NOSIGNAL) != 1)
            end_copy(0);
        if (!wait_for_order(s, socket, signal_fd, order))
            end_copy(STARTER_UNSEEN);
    }
}

/* Makes a child of the daemon, not of this process: the daemon waits for its runners, and they watch their parent, as
 * if there were no starter between them. */
static pid_t copy(void)
{
    return (pid_t)syscall(SYS_clone, (unsigned long)(CLONE_PARENT | SIGCHLD), NULL, NULL, NULL, NULL);
}

static bool find_room(struct starter *s, int argc, char **argv)
{
    if (argc < 2)
        return false;
    s->args = argv[1];
    s->args_room = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[1]);
    for (char **entry = environ; *entry != NULL && s->mark == NULL; entry++)
        if (strncmp(*entry, STARTER_MARK, sizeof STARTER_MARK - 1) == 0)
            s->mark = *entry + sizeof STARTER_MARK - 1;
    s->mark_room = s->mark != NULL ? strlen(s->mark) : 0;
    return s->mark_room > 0;
}

/* Does once what each copy would otherwise do by itself: reading the time zone, drawing the seed of JSON objects, and
 * finding the functions that libraries call in each other at their first call. */
static void warm_up(void)
{
    static const char text[] = "{\"list\": [1, 0.5, \"text\", null, true]}";
    json_error_t wrong;
    json_t *value = json_loadb(text, sizeof text - 1, JSON_REJECT_DUPLICATES, &wrong);

    free(json_dumps(value, JSON_COMPACT));
    json_decref(value);
    free(xasprintf("%99d", 0)); /* so long that the C library calls realloc() */
    tzset();
    run_ignored();
}

int starter_main(int argc, char **argv)
{
    struct starter s = {.daemon = getppid(), .null = open("/dev/null", O_RDWR | O_CLOEXEC)};
    struct order order;
    int rc;

    if (s.null < 0)
        return EX_OSERR;
    if (!find_room(&s, argc, argv))
        return EX_USAGE;
    cpus_disown();
    prctl(PR_SET_NAME, "stretto-starter"); /* the starter itself is no runner */
    warm_up();
    /* the next daemon repeats the orders of a dead one */
    while ((rc = next_order(STDIN_FILENO, 0, &order)) != 0 && getppid() == s.daemon) {
        struct starter_reply reply = {.error = rc < 0 ? errno : 0};

        if (rc == 1 && (reply.pid = copy()) == 0)
            become_runner(&s, &order);
        if (reply.pid < 0)
            reply.error = errno;
        close_descriptors(&order);
        if (send(STDIN_FILENO, &reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply)
            break;
    }
    return 0;
}
