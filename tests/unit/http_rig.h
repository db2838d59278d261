/* The HTTP interface in the test's own process: its listener on a Unix socket, a store, an engine that knows nothing
 * but the store, and a client. Everything runs in one loop, so that a request takes a fraction of a millisecond. */
#ifndef TESTS_HTTP_RIG_H
#define TESTS_HTTP_RIG_H
#include "daemon/engine/memory/core.h"
#include "tests/unit/open_store.h"

#include <jansson.h>

extern char rig_dir[64]; /* the run directory, which is also that of the socket */
extern struct engine rig_engine;
extern int64_t rig_now; /* milliseconds; 1000000 at first */

/* Set before rig_open(), for one time; 0 stands for what is usual. */
extern struct rig_options {
    unsigned connections_max;
    int64_t heartbeat_ms;
    bool reader;          /* what only reads has a connection of its own to the database */
    unsigned patience_ms; /* so long may changes stay uncommitted for which nobody waits */
} rig_options;

int rig_open(void **state);
int rig_close(void **state);

struct reply {
    int status;
    char headers[4096]; /* lines that end with \r\n, the first with the status too */
    char *body;         /* in full, not in chunks; a NUL follows it */
    size_t size;
    bool whole; /* the body is as long as its headers say */
};

/* Sends a request, such as "GET /healthz", with these further headers (lines that end with \r\n, or "") and this body
 * (NULL: none). The reply is borrowed until the next call. */
const struct reply *rig_ask(const char *request, const char *headers, const char *body);
/* Sends these bytes as they are, and reads until the connection is closed. */
const struct reply *rig_send(const char *bytes, size_t size);
/* The value of a header of the reply, borrowed until the next call; NULL: there is none. */
const char *rig_header(const struct reply *reply, const char *name);
/* The body as JSON, borrowed until the next call. */
const json_t *rig_json(const struct reply *reply);
/* The reply must have this status, and, if it is a problem, this code. */
const struct reply *rig_refused(const char *request, const char *headers, const char *body, int status,
                                const char *code);

/* A connection whose reply is read bit by bit. */
int rig_begin(const char *request, const char *headers);
/* Reads until the text has come, and fails if the connection is closed before. What has come up to its end is
 * forgotten. */
void rig_until(int fd, const char *text);
/* The same, but nothing is forgotten; returns what has come. */
const char *rig_wait(int fd, const char *text);
/* Reads until the connection is closed; what has come since the last text. */
const char *rig_rest(int fd);
size_t rig_size(void); /* of that */

/* Makes a token as this body says, whose id is one more than that of the last one, and returns the header with it. From
 * now on connections are made to the TCP listener. */
const char *rig_bearer(const char *body);
void rig_revoke(int64_t token);
/* Connections are made to the TCP listener from now on, where a token is needed, or to the Unix socket, as at first. */
void rig_over_tcp(bool tcp);

/* Workers do nothing from now on, until they are let go. */
void rig_hold_workers(void);
void rig_let_workers_go(void);

void rig_turn(void); /* once around the loop, without waiting */
#endif
