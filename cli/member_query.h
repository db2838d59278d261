/* The members of an ensemble that a command is about: read from options, written as a query of the API. */
#ifndef CLI_MEMBER_QUERY_H
#define CLI_MEMBER_QUERY_H
#include "common/text.h"

#include <jansson.h>
#include <stdbool.h>

struct member_query {
    const char *state, *from, *to, *host, *cause; /* NULL for any */
    json_t *where;                                /* NULL for any */
};

/* Adds a condition: NAME=VALUE, NAME=LOW..HIGH, NAME=LOW.. or NAME=..HIGH. Returns -1 if the text is none of
 * them. */
int member_query_where(struct member_query *query, const char *text);
bool member_query_is_any(const struct member_query *query);
/* Adds "&name=value" for each part. */
void member_query_put(const struct member_query *query, struct text *out);
void member_query_fini(struct member_query *query);
#endif
