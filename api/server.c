#include "api/server.h"

#include "api/clients.h"
#include "api/limits.h"
#include "api/listener.h"
#include "api/nul.h"
#include "api/request.h"
#include "common/log.h"
#include "common/xalloc.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct server {
    struct request_host host; /* must be first, so that kick() finds the server */
    struct MHD_Daemon *daemon;
    struct listener listener;
    uv_poll_t poll;   /* watches MHD's epoll descriptor */
    uv_timer_t timer; /* rings at MHD's next time-out */
    uv_idle_t again;  /* runs MHD again in the next turn, after others had theirs */
    unsigned urgent;  /* turns in a row in which MHD had more to do at once */
    int open_handles;
    bool secure;    /* uses TLS */
    char said[256]; /* libmicrohttpd's last message */
};

/* A client can send bytes that MHD neither understands nor refuses, and for which it wants to run again and again.
 * After so many turns it has to wait for a timer. */
#define URGENT_MAX 200

static void server_on_timer(uv_timer_t *timer);
static void on_again(uv_idle_t *idle);

/* Lets MHD do what there is to do, and asks when it wants to be called again. */
static void run_server(struct server *server)
{
    MHD_UNSIGNED_LONG_LONG ms;

    MHD_run(server->daemon);
    if (MHD_get_timeout(server->daemon, &ms) != MHD_YES) {
        server->urgent = 0;
        uv_timer_stop(&server->timer);
    } else if (ms > 0) {
        server->urgent = 0;
        uv_timer_start(&server->timer, server_on_timer, ms, 0);
    } else if (++server->urgent < URGENT_MAX) {
        /* no timer of 0 ms, since libuv before 1.45 never leaves one that its own callback starts again */
        uv_idle_start(&server->again, on_again);
    } else {
        uv_timer_start(&server->timer, server_on_timer, 1, 0);
    }
}

static void server_on_timer(uv_timer_t *timer)
{
    run_server(timer->data);
}

static void on_again(uv_idle_t *idle)
{
    uv_idle_stop(idle);
    run_server(idle->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    run_server(poll->data);
}

static void kick(struct request_host *host)
{
    struct server *server = (struct server *)host;

    if (server->daemon != NULL && !uv_is_closing((uv_handle_t *)&server->timer))
        uv_idle_start(&server->again, on_again);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **context)
{
    struct server *server = cls;
    struct request *r = *context;
    struct error err;

    if (nul_is_mark(r)) {
        int rc = nul_check(connection, r, method, version, &err);

        *context = r = request_create(&server->host, connection, url, method, rc < 0 ? &err : NULL);
        return request_refused(r) ? request_end(r) : MHD_YES;
    }
    if (*size > 0) {
        size_t taken = *size;

        *size = 0;
        return request_take(r, data, taken) == 0 ? MHD_YES : MHD_NO;
    }
    return request_end(r);
}

/* Cuts off query parameters beyond a limit before libmicrohttpd (0.9.75) reads them: it would never answer a request
 * with more than fit into its memory of one connection. The rest has an unknown parameter, or one twice, and is refused
 * for that. */
static void *on_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
    void *mark = nul_mark(uri);
    char *at = uri != NULL ? strchr(uri, '?') : NULL;

    for (unsigned n = 0; at != NULL && n < LIMIT_PARAMETERS; n++)
        at = strchr(at + 1, '&');
    if (at != NULL)
        *at = '\0';
    return mark; /* the value that *context has when on_request() is first called */
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode why)
{
    if (*context != NULL && !nul_is_mark(*context))
        request_completed(*context);
    *context = NULL;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct server *server = cls;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = clients_add(server->host.clients,
                               MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    } else if (*context != NULL) {
        clients_remove(server->host.clients, *context);
        *context = NULL;
    }
}

/* Unescapes a text. A text with an escaped NUL is left as it is, and then names nothing: the NUL would end the text for
 * its reader, but not for its writer. */
static size_t unescape(void *cls, struct MHD_Connection *connection, char *text)
{
    return strstr(text, "%00") != NULL ? strlen(text) : MHD_http_unescape(text);
}

/* Logs what libmicrohttpd refuses by itself: request lines, headers and lengths that are malformed or too long. */
static void log_refused(struct server *server, const char *text)
{
    static const char refused[] = "Error processing request (HTTP response code is ";
    char what[80];

    if (strncmp(text, refused, sizeof refused - 1) != 0)
        return;
    snprintf(what, sizeof what, "what was sent is no request that could be read: status %.3s",
             text + sizeof refused - 1);
    access_log(server->host.access, NULL, what);
}

static void on_mhd_log(void *cls, const char *fmt, va_list ap)
{
    struct server *server = cls;
    char text[512];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    vsnprintf(text, sizeof text, fmt, ap);
#pragma GCC diagnostic pop
    for (char *p = text; *p; p++) {
        if ((unsigned char)*p < ' ')
            *p = ' ';
    }
    text[strcspn(text, "\r\n")] = '\0';
    snprintf(server->said, sizeof server->said, "%.255s", text);
    log_debug("libmicrohttpd: %s", text);
    log_refused(server, text);
}

static void server_handle_closed(uv_handle_t *handle)
{
    struct server *server = handle->data;

    if (--server->open_handles == 0)
        free(server);
}

const char *server_name(const struct server *server)
{
    return server->listener.name;
}

char *server_url(const struct server *server)
{
    const char *name = server->listener.name;

    return server->listener.tcp ? xasprintf("%s://%s", server->secure ? "https" : "http", name + 4) : xstrdup(name);
}

int server_create(struct server **out, struct access *access, const struct tls *tls, const char *listen,
                  struct error *err)
{
    const struct api_config *config = access->config;
    struct server *server = xcalloc(1, sizeof *server);
    struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_retriever()},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_PRIORITIES},
        {MHD_OPTION_END, 0, NULL},
    };
    const union MHD_DaemonInfo *info;
    unsigned max = config->connections_max;

    if (listener_open(&server->listener, listen, tls->current != NULL, err) < 0) {
        free(server);
        return -1;
    }
    server->secure = server->listener.tcp && tls->current != NULL;
    server->host.config = config;
    server->host.access = access;
    server->host.listener = &server->listener;
    server->host.kick = kick;
    server->host.clients = clients_create(config->loop, max, config->clients);
    /* MHD requires that the logger comes first */
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (server->secure ? MHD_USE_TLS : 0), 0, NULL,
        NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, server, MHD_OPTION_LISTEN_SOCKET,
        server->listener.fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_CONNECTION_TIMEOUT,
        LIMIT_IDLE_SECONDS, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_CONNECTION_LIMIT, max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LIMIT_HEADERS, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_URI_LOG_CALLBACK, on_uri, NULL,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY, server->secure ? secure : secure + 2, MHD_OPTION_END);
    if (server->daemon == NULL) {
        listener_remove(&server->listener);
        clients_destroy(server->host.clients);
        error_set(err, "listen_failed", "the HTTP server could not be started on %.200s: %s", listen, server->said);
        free(server);
        return -1;
    }
    info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_timer_init(config->loop, &server->timer);
    uv_poll_init(config->loop, &server->poll, info->epoll_fd);
    uv_idle_init(config->loop, &server->again);
    server->timer.data = server->poll.data = server->again.data = server;
    server->open_handles = 3;
    uv_poll_start(&server->poll, UV_READABLE, on_poll);
    run_server(server);
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
    uv_close((uv_handle_t *)&server->poll, server_handle_closed);
    uv_close((uv_handle_t *)&server->timer, server_handle_closed);
    uv_close((uv_handle_t *)&server->again, server_handle_closed);
    request_host_abandon(&server->host);
    MHD_stop_daemon(server->daemon);
    clients_destroy(server->host.clients);
}
