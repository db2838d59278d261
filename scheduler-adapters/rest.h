/* Requests to a batch system's HTTP server, on the loop: never blocking, with a time limit, bounded answers, and exactly one
 * answer for each. Every request has a connection of its own: one that is kept may be closed just when the next request has
 * been taken from it, and nobody could tell then whether a second try does the same thing twice. */
#ifndef SCHEDULER_ADAPTERS_REST_H
#define SCHEDULER_ADAPTERS_REST_H
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* Where it is, and who asks; NULL: not said. */
struct rest_place {
    const char *url;        /* "unix:/PATH", "http://HOST:PORT" or "https://…" */
    const char *ca_file;    /* with https: what to check the server by, rather than by what this machine trusts */
    const char *token_file; /* read for each request, since it is renewed; then there are the two headers: */
    const char *user, *user_header, *token_header;
};

struct rest_request {
    const char *method, *path; /* path: "/…" */
    const char *body;          /* JSON; NULL: none */
    int64_t limit_ms;          /* from the connection to the end of the answer */
    size_t max;                /* bytes of the answer */
};

struct rest_result {
    long status; /* of HTTP; 0: there is no whole answer, and what the request has done is not known, or it was not sent */
    char *body;  /* ended by NUL, never NULL; the callback may change it in place, and frees nothing */
    size_t size;
    char why[400]; /* with status 0 */
    bool not_sent; /* with status 0: nothing of the request has left */
};

typedef void rest_cb(void *arg, struct rest_result *result);

struct rest;

/* At most `most` requests are under way at once; the others wait, in order. NULL with err where the place is none; its
 * pointer names the setting ("/url"). Nothing is connected yet. */
struct rest *rest_create(uv_loop_t *loop, const struct rest_place *place, unsigned most, struct error *err);

/* All are answered, with status 0, then done(arg) is called. Nothing may be asked any more. */
void rest_destroy(struct rest *rest, void (*done)(void *arg), void *arg);

/* The request is copied. The callback is called once, never from inside this call. */
void rest_ask(struct rest *rest, const struct rest_request *request, rest_cb *cb, void *arg);

/* rest_token.c: a token's file, which must be this user's and nobody else's to read: its one word, without a "NAME=" before
 * it, to be wiped and freed. From any thread. */
int rest_token_read(const char *path, char **out, struct error *err);
#endif
