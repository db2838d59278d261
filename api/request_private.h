/* The inside of a request, which request.c (its life), request_admit.c (whether it is let in) and request_reply.c
 * share. */
#ifndef API_REQUEST_PRIVATE_H
#define API_REQUEST_PRIVATE_H
#include "api/body.h"
#include "api/query.h"
#include "api/request.h"
#include "api/routes.h"
#include "api/session.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEADERS_MAX 8

struct header {
    const char *name;
    char value[320];
};

struct request {
    /* counted since the start; X-Request-Id has it after a failure of the daemon, and so has its log */
    uint64_t number;
    unsigned refs; /* one of MHD, and one for each callback to come */
    struct request_host *host;
    struct request *next, **prev;
    struct MHD_Connection *connection; /* NULL when MHD is done with the request */
    struct http_client *client;        /* the client of the connection, valid as long as that */
    char method[16];
    const struct route *route;
    int64_t ids[ROUTE_IDS];
    char file[ROUTE_FILE];
    char place[SESSION_PLACE_SIZE]; /* the place of a session, "" if the path has none */
    struct caller caller;
    struct query query;
    struct body body;

    bool started;   /* the handler has been called, or need not be called */
    bool suspended; /* MHD waits until it is resumed */
    bool held;      /* the handler answers later */
    struct header headers[HEADERS_MAX];
    size_t n_headers;
    int status;
    struct MHD_Response *response; /* the answer; NULL until there is one */
};

/* Sets the answer to a document, which is taken over, in place of an earlier answer. */
void request_set_json(struct request *r, int status, json_t *json);

/* Called after a handler's answer: if the request was held, it goes on, and the hold is released. */
void request_answered(struct request *r);

/* Judges method, path, caller and headers: sets the route, or answers why there is none. `malformed` is
 * that of request_create(). */
void request_judge(struct request *r, const char *path, const struct error *malformed);

/* Returns whether the call takes such a body. If it does not, that has been answered. */
bool request_body_is_fit(struct request *r);
#endif
