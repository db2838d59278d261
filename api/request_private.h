/* A request from the inside: shared by request.c (its life), request_admit.c (whether it is let in) and request_reply.c. */
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
    uint64_t number; /* since the daemon started: in its log, and in X-Request-Id where something went wrong here */
    unsigned refs; /* MHD's one, and one for each thing that will call back */
    struct request_host *host;
    struct request *next, **prev;
    struct MHD_Connection *connection; /* NULL once MHD is through with it */
    struct client *client;             /* whose connection it is, as long */
    char method[16];
    const struct route *route;
    int64_t ids[ROUTE_IDS];
    char file[ROUTE_FILE];
    char place[SESSION_PLACE_SIZE]; /* of a session, "" where the path names none */
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

/* The answer is `response`, which is taken; an earlier one goes. NULL: there is none, the connection is closed. */
void request_set_response(struct request *r, int status, const char *content_type, struct MHD_Response *response);

/* The same with a document, which is taken. */
void request_set_json(struct request *r, int status, json_t *json);

/* After a handler's answer: the one that was waited for frees the hold. */
void request_answered(struct request *r);

/* Look at method, path, caller and headers: sets the route, or answers with why not. */
void request_judge(struct request *r, const char *path);

/* Whether the body is one that the call takes; if not, that is the answer. */
bool request_body_is_fit(struct request *r);
#endif
