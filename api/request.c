#include "api/request.h"

#include "api/body.h"
#include "api/clients.h"
#include "api/feed.h"
#include "api/headers.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/routes.h"
#include "api/value.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/turn.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADERS_MAX 4

struct header {
    const char *name;
    char value[128];
};

struct request {
    uint64_t number; /* since the daemon started: in its log, and in X-Request-Id where something went wrong here */
    unsigned refs; /* MHD's one, and one for each thing that will call back */
    struct request_host *host;
    struct request *next, **prev;
    struct MHD_Connection *connection; /* NULL once MHD is through with it */
    char method[16];
    const struct route *route;
    int64_t ids[ROUTE_IDS];
    struct caller caller;
    struct query query;
    struct body body;

    bool started;   /* the handler has been called, or need not be */
    bool suspended; /* MHD waits for us */
    bool held;      /* the answer comes later */
    struct header headers[HEADERS_MAX];
    size_t n_headers;
    int status;
    struct MHD_Response *response; /* the answer; NULL: none yet */
};

const struct api_config *request_config(const struct request *r)
{
    return r->host->config;
}

/* It changes nothing, so it is answered from what is on the disk; it need not wait for what others change meanwhile. */
static bool only_reads(const struct request *r)
{
    return r->host->config->reader != NULL && (strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0);
}

struct store *request_store(const struct request *r)
{
    return only_reads(r) ? r->host->config->reader : r->host->config->store;
}

int64_t request_now_ms(const struct request *r)
{
    return r->host->config->now_ms(r->host->config->now_arg);
}

int64_t request_id(const struct request *r, int n)
{
    return r->ids[n];
}

const char *request_query(const struct request *r, const char *name)
{
    return query_get(&r->query, name);
}

int request_query_int(const struct request *r, const char *name, int64_t min, int64_t max, int64_t *value,
                      struct error *err)
{
    return query_int(&r->query, name, min, max, value, err);
}

const char *request_header(const struct request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

const void *request_body(const struct request *r, size_t *size)
{
    *size = r->body.size;
    return r->body.data;
}

json_t *request_json(struct request *r)
{
    struct error err;
    json_t *json, *problem;
    int line, column;

    json = body_json(&r->body, &line, &column, &err);
    if (json != NULL)
        return json;
    problem = problem_json(&err);
    json_object_set_new(problem, "line", json_integer(line));
    json_object_set_new(problem, "column", json_integer(column));
    request_reply_json(r, problem_status(err.code), problem);
    return NULL;
}

static void unref(struct request *r)
{
    if (--r->refs > 0)
        return;
    body_fini(&r->body);
    if (r->response != NULL)
        MHD_destroy_response(r->response);
    free(r);
}

static void suspend(struct request *r)
{
    if (r->suspended || r->connection == NULL)
        return;
    MHD_suspend_connection(r->connection);
    r->suspended = true;
}

static void resume(struct request *r)
{
    if (!r->suspended || r->connection == NULL)
        return;
    r->suspended = false;
    MHD_resume_connection(r->connection);
    r->host->kick(r->host);
}

static void set_response(struct request *r, int status, const char *content_type, struct MHD_Response *response)
{
    if (r->response != NULL)
        MHD_destroy_response(r->response);
    r->response = response;
    r->status = status;
    if (response == NULL)
        return;
    if (content_type != NULL)
        MHD_add_response_header(response, "Content-Type", content_type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (status >= 500) {
        char number[24];

        snprintf(number, sizeof number, "%" PRIu64, r->number);
        MHD_add_response_header(response, "X-Request-Id", number);
    }
    for (size_t i = 0; i < r->n_headers; i++)
        MHD_add_response_header(response, r->headers[i].name, r->headers[i].value);
}

static void set_json(struct request *r, int status, json_t *json)
{
    char *text = value_dump(json);

    json_decref(json);
    if (text == NULL) {
        log_error_of(LOG_REQUEST(r->number), "request %" PRIu64 ": the reply could not be put into words: no memory",
                     r->number);
        set_response(r, 500, NULL, MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT));
        return;
    }
    set_response(r, status, status >= 400 ? "application/problem+json" : "application/json",
                 MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE));
}

static void committed(void *arg, const struct error *err)
{
    struct request *r = arg;

    if (r->connection == NULL) {
        unref(r);
        return;
    }
    if (err != NULL) {
        r->n_headers = 0;
        set_json(r, problem_status(err->code), problem_json(err));
    }
    resume(r);
    unref(r);
}

/* Whether an answer may rest on what is not on the disk yet: what it has changed, or has found changed by another. */
static bool rests_on_air(const struct request *r)
{
    return !only_reads(r) && (store_dirty(request_store(r)) || store_owes_flush(request_store(r)));
}

/* The answer is there: let it go, or wait for the disk. */
static void settle(struct request *r)
{
    if (r->connection != NULL && rests_on_air(r)) {
        suspend(r);
        r->refs++;
        turn_after_commit(request_config(r)->turn, committed, r);
    } else {
        resume(r);
    }
}

void request_hold(struct request *r)
{
    r->refs++;
    r->held = true;
    suspend(r);
}

bool request_is_abandoned(const struct request *r)
{
    return r->connection == NULL;
}

void request_pause(struct request *r)
{
    r->refs++;
    suspend(r);
}

void request_go_on(struct request *r)
{
    resume(r);
    unref(r);
}

static int fd_of(const struct request *r)
{
    const union MHD_ConnectionInfo *info =
        r->connection ? MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD) : NULL;

    return info != NULL ? info->connect_fd : -1;
}

int request_socket(const struct request *r)
{
    bool plain = r->connection && MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) == NULL;

    return plain ? fd_of(r) : -1;
}

bool request_is_orphan(const struct request *r)
{
    struct pollfd poll_fd = {.fd = fd_of(r), .events = POLLRDHUP};

    /* over TCP, who has gone cannot be told from who only says no more: both are taken to be gone */
    return poll_fd.fd < 0 || (poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0);
}

bool request_is_allowed(struct request *r)
{
    return r->connection != NULL && access_holds(r->host->access, &r->caller);
}

void request_revokes(struct request *r)
{
    r->host->access->revocations++;
    feed_review(request_config(r)->feed);
}

/* After a handler's answer: the one that was waited for frees the hold. */
static void answered(struct request *r)
{
    if (!r->held)
        return; /* request_end() goes on */
    r->held = false;
    settle(r);
    unref(r);
}

void request_add_header(struct request *r, const char *name, const char *value)
{
    if (r->n_headers == HEADERS_MAX)
        return;
    r->headers[r->n_headers].name = name;
    snprintf(r->headers[r->n_headers].value, sizeof r->headers[0].value, "%s", value);
    r->n_headers++;
}

void request_reply_json(struct request *r, int status, json_t *json)
{
    set_json(r, status, json);
    answered(r);
}

void request_reply_text(struct request *r, int status, const char *content_type, char *text)
{
    request_reply_response(r, status, content_type,
                           MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE));
}

void request_reply_static(struct request *r, int status, const char *content_type, const char *data, size_t size)
{
    request_reply_response(r, status, content_type,
                           MHD_create_response_from_buffer(size, (void *)data, MHD_RESPMEM_PERSISTENT));
}

void request_reply_response(struct request *r, int status, const char *content_type, struct MHD_Response *response)
{
    set_response(r, status, content_type, response);
    answered(r);
}

void request_reply_problem(struct request *r, const struct error *err)
{
    int status = problem_status(err->code);

    if (strcmp(err->code, "too_many_tries") == 0)
        request_add_header(r, "Retry-After", "60");
    if (status >= 500)
        log_error_of(LOG_REQUEST(r->number), "request %" PRIu64 ", %s %s: %s (%s)", r->number, r->method,
                     r->route != NULL ? r->route->pattern : "?", err->text, err->code);
    request_reply_json(r, status, problem_json(err));
}

void request_reply_error(struct request *r, const char *code, const char *fmt, ...)
{
    struct error err;
    char text[sizeof err.text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    error_set(&err, code, "%s", text);
    request_reply_problem(r, &err);
}

/* They are told what to send, and nothing of what there is. */
static void refuse_access(struct request *r, const struct error *err)
{
    const char *challenge = access_challenge(err);

    if (challenge != NULL)
        request_add_header(r, "WWW-Authenticate", challenge);
    r->route = NULL;
    request_reply_problem(r, err);
}

static struct client *client_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void judge_headers(struct request *r, const char *path)
{
    char allow[64];
    struct error err;
    enum routes_answer answer = routes_find(r->method, path, &r->route, r->ids, allow, sizeof allow);

    if (headers_check(r->connection, &err) < 0) {
        access_log(r->host->access, r->connection, err.text);
        request_add_header(r, "Connection", "close");
        r->route = NULL;
        request_reply_problem(r, &err);
        return;
    }
    if (access_check(r->host->access, r->host->listener, r->connection, &r->caller, &err) < 0) {
        refuse_access(r, &err);
        return;
    }
    if (!clients_admit(r->host->clients, client_of(r->connection))) {
        request_add_header(r, "Retry-After", "10");
        request_add_header(r, "Connection", "close");
        error_set(&err, "busy", "too many clients are connected; try again later");
        access_log(r->host->access, r->connection, err.text); /* not as an error of ours, each time */
        request_reply_json(r, problem_status(err.code), problem_json(&err));
        return;
    }
    if (answer == ROUTES_NO_PATH) {
        request_reply_error(r, "path_not_found", "there is nothing at %.300s; /openapi.json lists what there is", path);
        return;
    }
    if (answer == ROUTES_NO_METHOD) {
        request_add_header(r, "Allow", allow);
        if (strcmp(r->method, "OPTIONS") == 0)
            request_reply_static(r, 204, NULL, "", 0);
        else
            request_reply_error(r, "method_not_allowed", "%s is not possible here; possible: %s", r->method, allow);
        return;
    }
    if (access_permit(r->host->access, r->connection, &r->caller, r->route, &err) < 0 ||
        query_read(&r->query, r->connection, r->route->query, &err) < 0 ||
        body_check_headers(r->connection, r->route->flags & (ROUTE_BODY | ROUTE_BODY_OPTIONAL), &err) < 0)
        request_reply_problem(r, &err);
}

struct request *request_create(struct request_host *host, struct MHD_Connection *connection, const char *path,
                               const char *method)
{
    static uint64_t requests; /* over all listeners */
    struct request *r = xcalloc(1, sizeof *r);

    r->number = ++requests;
    r->refs = 1;
    r->host = host;
    r->connection = connection;
    snprintf(r->method, sizeof r->method, "%s", method);
    body_init(&r->body, &host->body_bytes);
    r->next = host->first;
    r->prev = &host->first;
    if (r->next != NULL)
        r->next->prev = &r->next;
    host->first = r;
    judge_headers(r, path);
    return r;
}

bool request_refused(const struct request *r)
{
    return r->response != NULL && body_can_be_left(r->connection);
}

int request_take(struct request *r, const char *data, size_t size)
{
    struct error err;

    if (r->response != NULL)
        return body_discard(&r->body, size);
    if (body_append(&r->body, data, size, &err) < 0) {
        request_reply_problem(r, &err);
        return body_discard(&r->body, size);
    }
    return 0;
}

/* A call that takes no body may get an empty object, but nothing that it would have to ignore. */
static bool body_is_fit(struct request *r)
{
    struct error err;
    json_t *json;
    bool fit;

    if ((r->route->flags & (ROUTE_BODY | ROUTE_BODY_OPTIONAL)) || r->body.size == 0 || strcmp(r->route->method, "GET") == 0)
        return true;
    json = request_json(r);
    if (json == NULL)
        return false;
    fit = json_is_object(json) && json_object_size(json) == 0;
    json_decref(json);
    if (!fit) {
        error_set(&err, "spec_unknown_key", "this call takes no body, or {}");
        request_reply_problem(r, &err);
    }
    return fit;
}

enum MHD_Result request_end(struct request *r)
{
    if (!r->started) {
        r->started = true;
        /* what was refused before depends on nothing that is not on disk yet */
        if (r->response == NULL && body_is_fit(r)) {
            r->route->handler(r);
            if (!r->held && r->response == NULL)
                request_reply_error(r, "internal", "no answer");
            if (!r->held)
                settle(r);
        }
    }
    if (r->suspended)
        return MHD_YES;
    return r->response != NULL ? MHD_queue_response(r->connection, (unsigned)r->status, r->response) : MHD_NO;
}

void request_completed(struct request *r)
{
    access_used(r->host->access, &r->caller);
    r->connection = NULL;
    *r->prev = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    body_fini(&r->body);
    unref(r);
}

void request_host_abandon(struct request_host *host)
{
    for (struct request *r = host->first; r != NULL; r = r->next)
        resume(r);
}
