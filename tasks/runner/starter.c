#include "tasks/runner/starter.h"

#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/starter.h"
#include "tasks/runner/cpus.h"
#include "tasks/runner/run.h"
#include "tasks/runner/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

struct starter {
    pid_t daemon;
    int null;          /* a descriptor of /dev/null, for the copies' standard input */
    char *mark, *args; /* in the memory that /proc shows */
    size_t mark_room, args_room;
};

struct order {
    char text[STARTER_ORDER_MAX + 1];
    const char *name, *dir, *gpus;
    int jobfd; /* -1: there is none */
};

static const char *order_string_after(const struct order *order, size_t size, const char *string)
{
    const char *next = string + strlen(string) + 1;

    return next < order->text + size ? next : NULL;
}

static int jobfd_of(struct msghdr *message)
{
    struct cmsghdr *part = CMSG_FIRSTHDR(message);
    int fd = -1;

    if (part != NULL && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
        part->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(part), sizeof fd);
    return fd;
}

/* Receives the next order. Returns 1; 0 if there are no more; -1 with errno if it cannot be carried out. */
static int next_order(struct order *order)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {order->text, STARTER_ORDER_MAX};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n;

    order->jobfd = -1;
    do
        n = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return 0;
    order->text[n] = '\0';
    order->jobfd = jobfd_of(&message);
    order->name = order->text;
    order->dir = order_string_after(order, (size_t)n, order->name);
    order->gpus = order->dir != NULL ? order_string_after(order, (size_t)n, order->dir) : NULL;
    if (order->dir != NULL && order->jobfd >= 0)
        return 1;
    errno = order->jobfd < 0 ? EMFILE : EINVAL;
    return -1;
}

/* Changes name, arguments and environment to those of a runner that was started by itself. */
static void look_the_part(const struct starter *s, const struct order *order)
{
    size_t room = s->args_room, n;

    memset(s->mark, 0, s->mark_room);
    snprintf(s->mark, s->mark_room, "%s", order->name);
    memset(s->args, 0, room);
    n = (size_t)snprintf(s->args, room, "--local%c--job-fd%c", 0, 0);
    if (order->gpus != NULL && n < room)
        n += (size_t)snprintf(s->args + n, room - n, "--gpus=%s%c", order->gpus, 0);
    if (n < room)
        snprintf(s->args + n, room - n, "%s", order->dir);
    prctl(PR_SET_NAME, "stretto-run");
}

/* Ends a copy. The rest of what exit() does is useless for a copy, and costs as much as reading the descriptor. The
 * sanitizers, however, look for leaks there. */
static void end_copy(int status) __attribute__((noreturn));
static void end_copy(int status)
{
#ifdef __SANITIZE_ADDRESS__
    exit(status);
#else
    _exit(status);
#endif
}

static void starter_become_runner(const struct starter *s, const struct order *order)
{
    int64_t now = time_monotonic_ms();

    look_the_part(s, order);
    setsid();
    if (dup2(s->null, STDIN_FILENO) < 0) /* replaces the socket */
        end_copy(EX_OSERR);
    end_copy(run_job_in_copy(order->dir, order->jobfd, order->gpus, s->daemon, now, INT64_MAX));
}

/* Makes a child of the daemon, not of this process: the daemon waits for its runners, and they watch their parent, as
 * if there were no starter between them. */
static pid_t starter_copy(void)
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

/* Does once what each copy would otherwise do by itself: reads the time zone, draws the seed of JSON objects, and finds
 * the functions that libraries call in each other. */
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
    while ((rc = next_order(&order)) != 0 && getppid() == s.daemon) {
        struct starter_reply reply = {.error = rc < 0 ? errno : 0};

        if (rc == 1 && (reply.pid = starter_copy()) == 0)
            starter_become_runner(&s, &order);
        if (reply.pid < 0)
            reply.error = errno;
        if (order.jobfd >= 0)
            close(order.jobfd);
        if (send(STDIN_FILENO, &reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply)
            break;
    }
    return 0;
}
