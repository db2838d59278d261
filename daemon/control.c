#include "daemon/control.h"

#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/control_key.h"
#include "tasks/proto/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#define MESSAGES_A_TURN 256
#define REFUSALS_LOGGED_MS 60000 /* refusals are logged at most once in this time */

struct control {
    uv_poll_t poll;
    uv_idle_t again; /* runs while there are more messages than one turn takes */
    int open_handles;
    struct engine *engine;
    const struct store *store;
    void *context, *socket;
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

/* Returns whether a message is well formed and has the key of the job that it names. */
static bool believed(struct control *control, const char *data, size_t size, struct control_message *message)
{
    struct error err;

    if (control_parse(data, size, message, &err) < 0) {
        control->counts.malformed++;
        log_refusal(control, err.text);
        return false;
    }
    if (!control_key_fits(control->store, message)) {
        control->counts.wrong_key++;
        error_set(&err, "control_key", "it claims to come from job %s, and its key is not that job's", message->job);
        log_refusal(control, err.text);
        return false;
    }
    control->counts.taken++;
    return true;
}

/* Reads messages until there are none left, since ZMQ_FD is edge-triggered. If there are too many for one turn, `again`
 * continues in the next one without waiting for an edge. */
static void drain(struct control *control)
{
    char buf[CONTROL_MESSAGE_MAX];

    for (int i = 0; i < MESSAGES_A_TURN; i++) {
        struct control_message message;
        int n = zmq_recv(control->socket, buf, sizeof buf, ZMQ_DONTWAIT);

        if (n < 0) {
            if (errno == EINTR)
                continue;
            uv_idle_stop(&control->again);
            return;
        }
        if (!believed(control, buf, (size_t)n, &message))
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

static void on_idle(uv_idle_t *handle)
{
    drain(handle->data);
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
    struct control *control = handle->data;

    uv_idle_start(&control->again, on_idle);
    drain(control);
}

int control_open(struct control **out, uv_loop_t *loop, const char *path, struct engine *engine,
                 const struct store *store, struct error *err)
{
    struct control *control;
    char *endpoint;
    int fd, linger = 0, rc = 0;
    size_t size = sizeof fd;

    if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return error_set(err, "path_too_long",
                         "the control socket's path is longer than a Unix socket's can be (%zu bytes): %s; choose a "
                         "shorter state directory",
                         sizeof((struct sockaddr_un *)0)->sun_path - 1, path);
    control = xcalloc(1, sizeof *control);
    control->engine = engine;
    control->store = store;
    control->context = zmq_ctx_new();
    control->socket = zmq_socket(control->context, ZMQ_PULL);
    zmq_setsockopt(control->socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(control->socket, ZMQ_MAXMSGSIZE, &(int64_t){4096}, sizeof(int64_t));
    endpoint = xasprintf("ipc://%s", path);
    if (zmq_bind(control->socket, endpoint) < 0)
        rc = error_set(err, "control_bind", "cannot bind %s: %s", endpoint, zmq_strerror(errno));
    free(endpoint);
    if (rc < 0) {
        zmq_close(control->socket);
        zmq_ctx_term(control->context);
        free(control);
        return -1;
    }
    zmq_getsockopt(control->socket, ZMQ_FD, &fd, &size);
    uv_poll_init(loop, &control->poll, fd);
    uv_idle_init(loop, &control->again);
    control->poll.data = control->again.data = control;
    control->open_handles = 2;
    uv_poll_start(&control->poll, UV_READABLE, on_readable);
    uv_idle_start(&control->again, on_idle); /* for messages that came before the first edge */
    *out = control;
    return 0;
}

const struct control_counts *control_counts(const struct control *control)
{
    return &control->counts;
}

static void on_closed(uv_handle_t *handle)
{
    struct control *control = handle->data;

    if (--control->open_handles > 0)
        return;
    zmq_close(control->socket);
    zmq_ctx_term(control->context);
    free(control);
}

void control_close(struct control *control)
{
    if (control == NULL)
        return;
    uv_close((uv_handle_t *)&control->poll, on_closed);
    uv_close((uv_handle_t *)&control->again, on_closed);
}
