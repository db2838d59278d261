/* One request, from its headers to the last byte of its reply.
 *
 * A handler is called once, on the loop thread, when the whole request is there. It answers once: at once, or after
 * request_hold() from a later callback on the loop thread. Replies leave only when everything the turn has changed so
 * far, and what was changed before, is on disk; if that fails the reply becomes the problem. Handlers need not care. Those of GET
 * read what is on disk, by a connection of its own, and wait for nothing. */
#ifndef API_REQUEST_H
#define API_REQUEST_H
#include "api/access.h"
#include "api/api.h"

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>

struct request;

/* For handlers: what was asked. */

const struct api_config *request_config(const struct request *r);
struct store *request_store(const struct request *r); /* for GET and HEAD one that only reads */
int64_t request_now_ms(const struct request *r);

/* The n-th number of the path. */
int64_t request_id(const struct request *r, int n);

/* The name at the end of the path, cut where it is too long for one of ours. */
const char *request_file(const struct request *r);
/* The client wants HTML rather than JSON: it shows a page to somebody. */
bool request_wants_page(const struct request *r);

/* A query parameter of the route, NULL where it was not given. */
const char *request_query(const struct request *r, const char *name);
/* A number; *value stays where the parameter was not given. Code "query_wrong_value". */
int request_query_int(const struct request *r, const char *name, int64_t min, int64_t max, int64_t *value,
                      struct error *err);

const char *request_header(const struct request *r, const char *name); /* NULL where it was not sent */

/* The body as it came. */
const void *request_body(const struct request *r, size_t *size);
/* The body as JSON, a new reference; NULL after having answered "json_malformed" with line and column. */
json_t *request_json(struct request *r);

/* For handlers: the answer. */

/* Set before the answer; `name` is a literal, `value` is copied. At most eight. */
void request_add_header(struct request *r, const char *name, const char *value);

void request_reply_json(struct request *r, int status, json_t *json); /* takes json over */
/* A whole body; `text` is from malloc and taken over. */
void request_reply_text(struct request *r, int status, const char *content_type, char *text);
/* A body that lives as long as the program. */
void request_reply_static(struct request *r, int status, const char *content_type, const char *data, size_t size);
/* Any body; `response` is taken over. */
void request_reply_response(struct request *r, int status, const char *content_type, struct MHD_Response *response);
/* problem+json with the status of err->code. */
void request_reply_problem(struct request *r, const struct error *err);
void request_reply_error(struct request *r, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The answer comes later. The request stays valid until request_reply_*() has been called, whatever happens to its
 * connection meanwhile. */
void request_hold(struct request *r);
/* Nobody waits for the answer any more: the client has gone, or the daemon ends (and request_config() with it). */
bool request_is_abandoned(const struct request *r);

/* While a reply is sent: the next piece is not there yet. request_pause() keeps the request and stops sending until
 * request_go_on(), which gives it back. */
void request_pause(struct request *r);
void request_go_on(struct request *r);
/* The client has closed its connection: MHD itself does not look while a request is paused. */
bool request_is_orphan(const struct request *r);

/* The id of the caller's token; 0 on the Unix socket. */
int64_t request_token(const struct request *r);
const struct caller *request_caller(const struct request *r);

/* For logins, whoever sends them: who the bearer of the token in the Authorization header is, 0 or -1 with err; that a
 * secret was wrong, which is answered; the place that the path names, or ""; and whether what the browser sends is
 * encrypted on its way. */
int request_bearer(struct request *r, struct caller *bearer, struct error *err);
void request_refuse(struct request *r, struct error *err);
const char *request_place(const struct request *r);
bool request_is_secure(const struct request *r);

/* The socket, to send more of the body on while the request is paused; -1 where it has gone or speaks TLS. */
int request_socket(const struct request *r);

/* The caller's token has been neither revoked nor has it expired since: asked by replies that take their time. */
bool request_is_allowed(struct request *r);
/* The handler revokes a token or ends sessions: replies to its bearers end, once that is on disk. */
void request_revokes(struct request *r);

/* For the server. */

/* What requests of one listener share. */
struct request_host {
    const struct api_config *config;
    struct access *access;
    const struct listener *listener;
    struct clients *clients;
    void (*kick)(struct request_host *host); /* a connection was resumed: run the daemon soon */
    size_t body_bytes;                       /* in memory now, over all requests */
    struct request *first;
};

/* The headers are there. NULL: no memory. */
struct request *request_create(struct request_host *host, struct MHD_Connection *connection, const char *path,
                               const char *method);
/* True where the answer is known from the headers alone and the body need not be waited for: request_end() now. */
bool request_refused(const struct request *r);
/* A piece of the body. -1: too much even to throw away, close the connection. */
int request_take(struct request *r, const char *data, size_t size);
/* All is there, or the connection was resumed: handle, wait, or queue the reply. */
enum MHD_Result request_end(struct request *r);
/* MHD is through with it. Frees it, unless something still holds it. */
void request_completed(struct request *r);
/* Resume everything that waits, without an answer: before MHD_stop_daemon(). */
void request_host_abandon(struct request_host *host);

#endif
