/* Requests without HTTP: a handler is called with what a test asks, and answers into memory. A program that is linked with this one's
 * source has these instead of api/request.c, and turns of api/paced.c that come at once. */
#ifndef TESTS_FAKE_REQUEST_H
#define TESTS_FAKE_REQUEST_H
#include "api/request.h"

struct asked {
    int64_t ids[2];            /* of the path */
    const char *query;         /* as "limit=3&cursor=7", not escaped; NULL: none */
    const char *headers[2][2]; /* names and values; NULL: none */
    struct caller caller;
    const char *body; /* NULL: none */
};

/* The handler's answer, a JSON document or NULL; its status into *status, and of a problem its code. Borrowed until the next one. */
const json_t *ask(void (*handler)(struct request *r), const struct asked *asked, int *status);
/* The same where the answer must be 200. */
const json_t *get(void (*handler)(struct request *r), int64_t id, const char *query);
/* The answer must have this status and code. */
void is_refused(void (*handler)(struct request *r), int64_t id, const char *query, int status, const char *code);

extern int fake_revocations; /* how often somebody may have lost a right */
extern struct api_config fake_config; /* of all requests */
#endif
