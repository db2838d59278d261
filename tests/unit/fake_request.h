/* Requests without HTTP. A handler is called with the request of a test, and answers into memory. A program that is
 * linked with fake_request.c has these functions instead of api/request.c, and the turns of api/paced.c come at
 * once. */
#ifndef TESTS_FAKE_REQUEST_H
#define TESTS_FAKE_REQUEST_H
#include "api/request.h"

struct asked {
    int64_t ids[2];            /* the numbers in the path */
    const char *query;         /* such as "limit=3&cursor=7", not escaped; NULL: none */
    const char *headers[2][2]; /* names and values; NULL: none */
    struct caller caller;
    const char *body; /* NULL: none */
};

/* Calls the handler, and returns its answer, a JSON document or NULL. Sets *status; in a problem, the document has its
 * code. The answer is borrowed until the next call. */
const json_t *ask(void (*handler)(struct request *r), const struct asked *asked, int *status);
/* A header of the last answer; NULL: it has none. */
const char *header_of_answer(const char *name);
/* Calls the handler; the answer must have the status 200. */
const json_t *get(void (*handler)(struct request *r), int64_t id, const char *query);
/* Calls the handler; the answer must have this status and code. */
void is_refused(void (*handler)(struct request *r), int64_t id, const char *query, int status, const char *code);

extern bool fake_is_abandoned; /* nobody waits for answers any more */
extern void (*fake_between_turns)(void); /* called before each turn that a handler has waited for; NULL: nothing is */
extern void (*fake_on_hold)(void); /* called when a handler goes on to wait; NULL: nothing is */
extern int fake_revocations; /* how often somebody may have lost a right */
extern struct api_config fake_config; /* the configuration of all requests */
#endif
