/* Requests to a batch system's HTTP server, on the loop. They never block, have a time limit and bounded answers, and
 * each gets exactly one result. Every request has a connection of its own. A connection that is kept may be closed just
 * when the next request has been sent on it. Nobody could then know whether a second try would do the same thing
 * twice. */
#ifndef SCHEDULER_ADAPTERS_REST_H
#define SCHEDULER_ADAPTERS_REST_H
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* The server's address and the user; NULL: not given. */
struct rest_place {
    const char *url; /* "unix:/PATH", "http://HOST:PORT" or "https://…" */
    /* with https: certificates to check the server by, instead of those that this machine trusts */
    const char *ca_file;
    const char *token_file; /* read for each request, since it is renewed; the two headers are sent only if it is set */
    const char *user, *user_header, *token_header;
};

struct rest_request {
    const char *method, *path; /* path: "/…" */
    const char *body;          /* JSON; NULL: none */
    int64_t limit_ms;          /* the time limit, from the connection to the end of the answer */
    size_t max;                /* bytes of the answer */
};

struct rest_result {
    long status; /* of HTTP; 0: there is no whole answer; the request was not sent, or its effect is not known */
    char *body;  /* ended by NUL, never NULL; the callback may change it in place, and frees nothing */
    size_t size;
    char why[400]; /* with status 0 */
    bool not_sent; /* with status 0: no part of the request was sent */
};

typedef void rest_cb(void *arg, struct rest_result *result);

struct rest;

/* At most `most` requests are under way at once; the others wait, in order. NULL with err if the address is not
 * valid; err->pointer names the setting ("/url"). Nothing is connected yet. */
struct rest *rest_create(uv_loop_t *loop, const struct rest_place *place, unsigned most, struct error *err);

/* Answers all requests, with status 0, then calls done(arg). No request may be made any more. */
void rest_destroy(struct rest *rest, void (*done)(void *arg), void *arg);

/* Makes a request, which is copied. The callback is called once, never from inside this call. */
void rest_ask(struct rest *rest, const struct rest_request *request, rest_cb *cb, void *arg);

/* rest_token.c: reads a token's file, which only this user may be able to read: its one word, without a "NAME=" before
 * it, which the caller wipes and frees. Callable from any thread. */
int rest_token_read(const char *path, char **out, struct error *err);
#endif
