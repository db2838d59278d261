/* Lists things that have an id in pages, newest first. The cursor is the id below which the next page begins. A handler
 * calls listing_begin(), then lets the store call listing_put() for rows below `before`: limit + 1 of them, which shows
 * whether there are more. It passes the store's result to listing_reply(). */
#ifndef API_LISTING_H
#define API_LISTING_H
#include "api/request.h"

#include <jansson.h>

struct listing {
    struct request *r;
    json_t *items;
    int64_t limit, before; /* from the query; before is 0 for the newest on */
    int64_t next;          /* cursor of the next page; 0 if there is none */
    int64_t last;
    struct error err; /* filled if listing_put() was given NULL, or the store failed */
};

/* Returns 0, or -1 with err if the query is wrong. In both cases listing_reply() must follow. */
int listing_begin(struct listing *list, struct request *r);
/* To be called for each row. Returns false if the page is full, and this row is the first of the next page. */
bool listing_takes(struct listing *list);
/* Adds an item and returns what the store's callback must return. `json` is taken over. If it could not be made it is
 * NULL, and list->err says why. */
int listing_put(struct listing *list, int64_t id, json_t *json);
/* Answers {KEY: [...], "next": ...}, or with the problem if rc < 0 or an item could not be made. */
void listing_reply(struct listing *list, const char *key, int rc);
#endif
