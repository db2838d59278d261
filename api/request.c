#include "api/request_private.h"

#include "api/clients.h"
#include "api/feed.h"
#include "api/problem.h"
#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "daemon/turn.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct api_config *request_config(const struct request *r)
{
    return r->host->config;
}

/* Returns whether the request changes nothing. It is then answered from what is on the disk, without waiting for
 * changes of others. */
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

int64_t request_token(const struct request *r)
{
    return r->caller.token;
}

const struct caller *request_caller(const struct request *r)
{
    return &r->caller;
}

int request_bearer(struct request *r, struct caller *bearer, struct error *err)
{
    return access_bearer(r->host->access, r->connection, bearer, err);
}

void request_refuse(struct request *r, struct error *err)
{
    access_refuse(r->host->access, r->connection, err);
    request_reply_problem(r, err);
}

const char *request_place(const struct request *r)
{
    return r->place;
}

/* Returns whether the client uses TLS. A proxy may have ended it, which the origin of the page shows. */
bool request_is_secure(const struct request *r)
{
    const char *origin = request_header(r, "Origin");

    return MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) != NULL ||
           (origin != NULL && strncasecmp(origin, "https://", 8) == 0);
}

const char *request_file(const struct request *r)
{
    return r->file;
}

bool request_wants_page(const struct request *r)
{
    const char *accept = request_header(r, "Accept");

    return accept != NULL && strstr(accept, "text/html") != NULL;
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

int request_query_words(const struct request *r, const char *name, const char *const words[], size_t n, unsigned *bits,
                        struct error *err)
{
    return query_words(&r->query, name, words, n, bits, err);
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

static void unref_request(struct request *r)
{
    stretto_assert(r->refs > 0);
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

static void resume_connection(struct request *r)
{
    if (!r->suspended || r->connection == NULL)
        return;
    r->suspended = false;
    MHD_resume_connection(r->connection);
    r->host->kick(r->host);
}

static void request_committed(void *arg, const struct error *err)
{
    struct request *r = arg;

    if (r->connection == NULL) {
        unref_request(r);
        return;
    }
    if (err != NULL) {
        r->n_headers = 0;
        request_set_json(r, problem_status(err->code), problem_json(err));
    }
    resume_connection(r);
    unref_request(r);
}

/* Returns whether an answer may depend on changes that are not on the disk yet, whether by this request or by
 * others. */
static bool rests_on_air(const struct request *r)
{
    return !only_reads(r) && (store_dirty(request_store(r)) || store_owes_flush(request_store(r)));
}

/* Sends the answer, or waits for the disk first. */
static void request_settle(struct request *r)
{
    if (r->connection != NULL && rests_on_air(r)) {
        suspend(r);
        r->refs++;
        turn_after_commit(request_config(r)->turn, request_committed, r);
    } else {
        resume_connection(r);
    }
}

void request_hold(struct request *r)
{
    stretto_assert(!r->held && r->response == NULL);
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
    resume_connection(r);
    unref_request(r);
}

static int request_fd(const struct request *r)
{
    const union MHD_ConnectionInfo *info =
        r->connection ? MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD) : NULL;

    return info != NULL ? info->connect_fd : -1;
}

int request_socket(const struct request *r)
{
    bool plain = r->connection && MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) == NULL;

    return plain ? request_fd(r) : -1;
}

bool request_is_orphan(const struct request *r)
{
    struct pollfd poll_fd = {.fd = request_fd(r), .events = POLLRDHUP};

    /* over TCP a client that has gone looks like one that only sends no more, so that both count as gone */
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

void request_answered(struct request *r)
{
    if (!r->held)
        return; /* the handler has answered at once, and request_end() goes on */
    r->held = false;
    request_settle(r);
    unref_request(r);
}

struct request *request_create(struct request_host *host, struct MHD_Connection *connection, const char *path,
                               const char *method, const struct error *malformed)
{
    static uint64_t requests; /* counts those of all listeners */
    struct request *r = xcalloc(1, sizeof *r);

    r->number = ++requests;
    r->refs = 1;
    r->host = host;
    r->connection = connection;
    r->client = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    snprintf(r->method, sizeof r->method, "%s", method);
    body_init(&r->body, &host->body_bytes);
    r->next = host->first;
    r->prev = &host->first;
    if (r->next != NULL)
        r->next->prev = &r->next;
    host->first = r;
    request_judge(r, path, malformed);
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

static void request_answer(struct request *r)
{
    struct store *reader = only_reads(r) ? r->host->config->reader : NULL;

    if (reader != NULL)
        store_answer_begin(reader);
    stretto_assert(r->route != NULL && r->response == NULL);
    r->route->handler(r);
    if (reader != NULL)
        store_answer_end(reader);
}

enum MHD_Result request_end(struct request *r)
{
    if (!r->started) {
        r->started = true;
        clients_answer(r->host->clients, r->client, true);
        /* a refusal depends on no change, so that it need not wait for the disk */
        if (r->response == NULL && request_body_is_fit(r)) {
            request_answer(r);
            if (!r->held && r->response == NULL)
                request_reply_error(r, "internal", "no answer");
            if (!r->held)
                request_settle(r);
        }
    }
    if (r->suspended)
        return MHD_YES;
    return r->response != NULL ? MHD_queue_response(r->connection, (unsigned)r->status, r->response) : MHD_NO;
}

void request_completed(struct request *r)
{
    access_used(r->host->access, &r->caller);
    clients_answer(r->host->clients, r->client, false);
    r->connection = NULL;
    r->client = NULL;
    stretto_assert(r->refs > 0 && *r->prev == r);
    *r->prev = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    body_fini(&r->body);
    unref_request(r);
}

void request_host_abandon(struct request_host *host)
{
    for (struct request *r = host->first; r != NULL; r = r->next)
        resume_connection(r);
}
