#include "api/server.h"

#include "api/limits.h"
#include "api/listener.h"
#include "api/request.h"
#include "common/log.h"
#include "common/xalloc.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>

struct server {
    struct request_host host; /* first, so that kick() finds the server */
    struct MHD_Daemon *daemon;
    struct listener listener;
    uv_poll_t poll;   /* MHD's epoll descriptor */
    uv_timer_t timer; /* MHD's next time-out */
    int open_handles;
};

static void on_timer(uv_timer_t *timer);

/* Let MHD do what there is to do, and ask when it wants to be called again. */
static void run(struct server *server)
{
    MHD_UNSIGNED_LONG_LONG ms;

    MHD_run(server->daemon);
    if (MHD_get_timeout(server->daemon, &ms) == MHD_YES)
        uv_timer_start(&server->timer, on_timer, ms, 0);
    else
        uv_timer_stop(&server->timer);
}

static void on_timer(uv_timer_t *timer)
{
    run(timer->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    run(poll->data);
}

static void kick(struct request_host *host)
{
    struct server *server = (struct server *)host;

    if (server->daemon != NULL && !uv_is_closing((uv_handle_t *)&server->timer))
        uv_timer_start(&server->timer, on_timer, 0, 0);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **context)
{
    struct server *server = cls;
    struct request *r = *context;

    if (r == NULL) {
        *context = r = request_create(&server->host, connection, url, method);
        return request_refused(r) ? request_end(r) : MHD_YES;
    }
    if (*size > 0) {
        size_t taken = *size;

        *size = 0;
        return request_take(r, data, taken) == 0 ? MHD_YES : MHD_NO;
    }
    return request_end(r);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode why)
{
    if (*context != NULL)
        request_completed(*context);
    *context = NULL;
}

static void on_mhd_log(void *cls, const char *fmt, va_list ap)
{
    char text[512];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    vsnprintf(text, sizeof text, fmt, ap);
#pragma GCC diagnostic pop
    for (char *p = text; *p; p++) {
        if ((unsigned char)*p < ' ')
            *p = ' ';
    }
    log_debug("libmicrohttpd: %s", text);
}

static void on_closed(uv_handle_t *handle)
{
    struct server *server = handle->data;

    if (--server->open_handles == 0)
        free(server);
}

int server_create(struct server **out, const struct api_config *config, const char *path, struct error *err)
{
    struct server *server = xcalloc(1, sizeof *server);
    const union MHD_DaemonInfo *info;

    if (listener_open(&server->listener, path, err) < 0) {
        free(server);
        return -1;
    }
    server->host.config = config;
    server->host.kick = kick;
    /* MHD wants the logger first */
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, server,
        MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL, MHD_OPTION_LISTEN_SOCKET, server->listener.fd,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_CONNECTION_TIMEOUT, LIMIT_IDLE_SECONDS,
        MHD_OPTION_CONNECTION_LIMIT, LIMIT_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LIMIT_HEADERS,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    if (server->daemon == NULL) {
        listener_remove(&server->listener);
        free(server);
        return error_set(err, "listen_failed", "the HTTP server could not be started on %s", path);
    }
    info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_timer_init(config->loop, &server->timer);
    uv_poll_init(config->loop, &server->poll, info->epoll_fd);
    server->timer.data = server->poll.data = server;
    server->open_handles = 2;
    uv_poll_start(&server->poll, UV_READABLE, on_poll);
    run(server);
    *out = server;
    return 0;
}

void server_destroy(struct server *server)
{
    if (server == NULL)
        return;
    listener_remove(&server->listener);
    MHD_run(server->daemon);
    uv_poll_stop(&server->poll);
    uv_timer_stop(&server->timer);
    uv_close((uv_handle_t *)&server->poll, on_closed);
    uv_close((uv_handle_t *)&server->timer, on_closed);
    request_host_abandon(&server->host);
    MHD_stop_daemon(server->daemon);
}
