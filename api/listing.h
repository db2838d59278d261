/* Lists of what has an id, newest first, in pages; the cursor is the id below which the next page begins. A handler calls
 * listing_begin(), has the store call it for each row below `before` (of limit + 1, so that it is known whether there are more), and
 * gives what came of that to listing_reply(). */
#ifndef API_LISTING_H
#define API_LISTING_H
#include "api/request.h"

#include <jansson.h>

struct listing {
    struct request *r;
    json_t *items;
    int64_t limit, before; /* as asked for; before 0: from the newest on */
    int64_t next;          /* the cursor of the next page; 0: there is none */
    int64_t last;
    struct error err;      /* filled where listing_put() was given NULL, or the store failed */
};

/* 0; or -1 with err where the query is wrong. Either way listing_reply() ends it. */
int listing_begin(struct listing *list, struct request *r);
/* For each row. False: the page is full, and this row is the first of the next. */
bool listing_takes(struct listing *list);
/* json is taken over; NULL: it could not be made, and list->err says why. What the store's callback returns. */
int listing_put(struct listing *list, int64_t id, json_t *json);
/* {KEY: [...], "next": ...}, or the problem where rc < 0 or something could not be made. */
void listing_reply(struct listing *list, const char *key, int rc);
#endif
