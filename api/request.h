/* One request, from its headers to the last byte of its reply.
 *
 * A handler is called once, on the loop's thread, when the whole request is there. It answers once: at once, or after
 * request_hold() from a later callback on the loop's thread. Replies leave only when everything that the turn has
 * changed so far, and all earlier changes, are on disk; if that fails, the reply becomes the problem. Handlers need not
 * care. Handlers of GET read what is on disk, by a connection of its own, and their replies wait for nothing. */
#ifndef API_REQUEST_H
#define API_REQUEST_H
#include "api/access.h"
#include "api/api.h"

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>

struct request;

/* Functions by which handlers read the request */

const struct api_config *request_config(const struct request *r);
struct store *request_store(const struct request *r); /* for GET and HEAD a connection that only reads */
int64_t request_now_ms(const struct request *r);

/* Returns the n-th number of the path. */
int64_t request_id(const struct request *r, int n);

/* Returns the path of the file below /web/ ("" if another thing is asked for), cut if it is longer than any of ours. */
const char *request_file(const struct request *r);
/* Returns whether the client prefers HTML to JSON, because it shows a page to somebody. */
bool request_wants_page(const struct request *r);

/* Returns a query parameter of the route, or NULL if it was not given. */
const char *request_query(const struct request *r, const char *name);
/* Reads a number. *value is left alone if the parameter was not given. Fails with code "query_wrong_value". */
int request_query_int(const struct request *r, const char *name, int64_t min, int64_t max, int64_t *value,
                      struct error *err);
/* Reads a query parameter as query_words() does (query.h). */
int request_query_words(const struct request *r, const char *name, const char *const words[], size_t n, unsigned *bits,
                        struct error *err);

const char *request_header(const struct request *r, const char *name); /* NULL if it was not sent */

/* Returns the body as it came. */
const void *request_body(const struct request *r, size_t *size);
/* Returns the body as JSON, a new reference; NULL after having answered "json_malformed" with line and column. */
json_t *request_json(struct request *r);

/* Functions by which handlers answer */

/* Adds a header to the answer that comes next. `name` is a literal, `value` is copied. There may be eight. */
void request_add_header(struct request *r, const char *name, const char *value);

void request_reply_json(struct request *r, int status, json_t *json); /* takes json over */
/* Answers with a whole body; `text` is from malloc and taken over. */
void request_reply_text(struct request *r, int status, const char *content_type, char *text);
/* Answers with a body that lives as long as the program. */
void request_reply_static(struct request *r, int status, const char *content_type, const char *data, size_t size);
/* Answers with any body; `response` is taken over. */
void request_reply_response(struct request *r, int status, const char *content_type, struct MHD_Response *response);
/* Answers with problem+json and the status of err->code. */
void request_reply_problem(struct request *r, const struct error *err);
void request_reply_error(struct request *r, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Postpones the answer. The request stays valid until request_reply_*() has been called, whatever happens to its
 * connection meanwhile. */
void request_hold(struct request *r);
/* Returns whether nobody waits for the answer any more: the client has gone, or the daemon (and request_config())
 * ends. */
bool request_is_abandoned(const struct request *r);

/* Both are used while a reply is sent. request_pause() keeps the request and stops sending, because the next piece is
 * not there yet; request_go_on() sends on and gives the request back. */
void request_pause(struct request *r);
void request_go_on(struct request *r);
/* Returns whether the client has closed its connection, for which MHD itself does not look while a request is
 * paused. */
bool request_is_orphan(const struct request *r);

/* Returns the id of the caller's token; 0 on the Unix socket. */
int64_t request_token(const struct request *r);
const struct caller *request_caller(const struct request *r);

/* These are for logins, which anybody may send. request_bearer() finds the bearer of the token in the Authorization
 * header, 0 or -1 with err. request_refuse() answers that a secret was wrong. The others return the place in the path,
 * or "", and whether what the browser sends is encrypted on its way. */
int request_bearer(struct request *r, struct caller *bearer, struct error *err);
void request_refuse(struct request *r, struct error *err);
const char *request_place(const struct request *r);
bool request_is_secure(const struct request *r);

/* Returns the socket, for sending more of the body while the request is paused; -1 if it is closed or uses TLS. */
int request_socket(const struct request *r);

/* Returns whether the caller's token has neither been revoked nor expired since. Long replies must ask. */
bool request_is_allowed(struct request *r);
/* Called by handlers that revoke a token or end sessions: replies to their bearers end once that is on disk. */
void request_revokes(struct request *r);

/* Functions for the server */

/* State that the requests of one listener share. */
struct request_host {
    const struct api_config *config;
    struct access *access;
    const struct listener *listener;
    struct clients *clients;
    void (*kick)(struct request_host *host); /* called when a connection was resumed: the server must run soon */
    size_t body_bytes;                       /* bytes of all request bodies in memory */
    struct request *first;
};

/* Begins a request when its headers are there. `malformed` says what is wrong with them, NULL if nothing is. */
struct request *request_create(struct request_host *host, struct MHD_Connection *connection, const char *path,
                               const char *method, const struct error *malformed);
/* Returns whether the headers alone decide the answer, so that request_end() is called without waiting for the body. */
bool request_refused(const struct request *r);
/* Takes a piece of the body. Returns -1 if there is too much even to throw away; the connection is then closed. */
int request_take(struct request *r, const char *data, size_t size);
/* Called when everything is there, and when the connection was resumed: handles, waits, or queues the reply. */
enum MHD_Result request_end(struct request *r);
/* Called when MHD is done with the request. Frees it, unless something still holds it. */
void request_completed(struct request *r);
/* Resumes all requests that wait, without an answer, as must be done before MHD_stop_daemon(). */
void request_host_abandon(struct request_host *host);

#endif
