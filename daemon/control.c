#include "daemon/control.h"

#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGES_A_TURN 256
#define REFUSALS_LOGGED_MS 60000 /* refusals are logged at most once in this time */

struct control {
    uv_poll_t poll;
    int fd;
    struct sockaddr_un address;
    struct engine *engine;
    struct control_counts counts;
    int64_t refusal_logged; /* time of the last log line by the monotonic clock; 0 for never */
    uint64_t silent;        /* refusals since that line */
};

static void log_refusal(struct control *control, const char *why)
{
    int64_t now = time_monotonic_ms();

    if (control->refusal_logged != 0 && now - control->refusal_logged < REFUSALS_LOGGED_MS) {
        control->silent++;
        return;
    }
    if (control->silent > 0)
        log_warn("control message dropped: %s; %llu before it were not logged", why,
                 (unsigned long long)control->silent);
    else
        log_warn("control message dropped: %s", why);
    control->refusal_logged = now;
    control->silent = 0;
}

/* Receives a datagram without waiting. Returns its size, which is cut to CONTROL_MESSAGE_MAX, or -1 with errno. */
static ssize_t receive_message(const struct control *control, char data[CONTROL_MESSAGE_MAX], uid_t *sender)
{
    struct iovec iov = {.iov_base = data, .iov_len = CONTROL_MESSAGE_MAX};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct ucred))]; /* no room for descriptors: the kernel closes any that come */
    } ancillary;
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    ssize_t n = recvmsg(control->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = n >= 0 ? CMSG_FIRSTHDR(&msg) : NULL;
    struct ucred cred;

    *sender = (uid_t)-1;
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
        memcpy(&cred, CMSG_DATA(header), sizeof cred);
        *sender = cred.uid;
    }
    return n;
}

/* Returns whether a message is well formed and comes from this user. */
static bool is_believed(struct control *control, const char *data, size_t size, uid_t sender,
                        struct control_message *message)
{
    struct error err;

    if (sender != geteuid()) {
        control->counts.other_user++;
        error_set(&err, "control_user", "user %llu sent it, who does not run the daemon", (unsigned long long)sender);
        log_refusal(control, err.text);
        return false;
    }
    if (control_parse(data, size, message, &err) < 0) {
        control->counts.malformed++;
        log_refusal(control, err.text);
        return false;
    }
    control->counts.taken++;
    return true;
}

/* Takes as many messages as one turn may. The poll reports the others in the next turn. */
static void on_control_readable(uv_poll_t *handle, int status, int events)
{
    struct control *control = handle->data;
    char data[CONTROL_MESSAGE_MAX];

    for (int i = 0; i < MESSAGES_A_TURN; i++) {
        struct control_message message;
        uid_t sender;
        ssize_t n = receive_message(control, data, &sender);

        if (n < 0 && errno != EINTR)
            return;
        if (n < 0 || !is_believed(control, data, (size_t)n, sender, &message))
            continue;
        switch (message.what) {
        case CONTROL_CLAIM:
        case CONTROL_EXIT:
        case CONTROL_ENDED: engine_look(control->engine, message.job, ENGINE_LOOK_RECORDS); break;
        case CONTROL_STATUS:
        case CONTROL_METRICS:
        case CONTROL_DONE:
        case CONTROL_ENDPOINT: engine_look(control->engine, message.job, ENGINE_LOOK_STREAM); break;
        }
    }
}

static int bind_control(const struct sockaddr_un *address, struct error *err)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    /* credentials are asked for before anyone can send a message without them */
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)) == 0 &&
        (unlink(address->sun_path) == 0 || errno == ENOENT) &&
        bind(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return fd;
    error_errno(err, "control_bind", "cannot bind the control socket %s", address->sun_path);
    if (fd >= 0)
        close(fd);
    return -1;
}

int control_open(struct control **out, uv_loop_t *loop, const char *path, struct engine *engine, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct control *control;
    int fd;

    if (strlen(path) >= sizeof address.sun_path)
        return error_set(err, "path_too_long",
                         "the control socket's path is longer than a Unix socket's can be (%zu bytes): %s; choose a "
                         "shorter state directory",
                         sizeof address.sun_path - 1, path);
    strcpy(address.sun_path, path);
    fd = bind_control(&address, err);
    if (fd < 0)
        return -1;
    control = xcalloc(1, sizeof *control);
    control->engine = engine;
    control->fd = fd;
    control->address = address;
    uv_poll_init(loop, &control->poll, fd);
    control->poll.data = control;
    uv_poll_start(&control->poll, UV_READABLE, on_control_readable);
    *out = control;
    return 0;
}

const struct control_counts *control_counts(const struct control *control)
{
    return &control->counts;
}

static void on_control_closed(uv_handle_t *handle)
{
    struct control *control = handle->data;

    close(control->fd);
    free(control);
}

void control_close(struct control *control)
{
    if (control == NULL)
        return;
    unlink(control->address.sun_path);
    uv_close((uv_handle_t *)&control->poll, on_control_closed);
}
