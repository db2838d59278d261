/* Which members of an ensemble a command is about, as options say it, and as a query says it to the API. */
#ifndef CLI_MEMBER_QUERY_H
#define CLI_MEMBER_QUERY_H
#include "common/text.h"

#include <jansson.h>
#include <stdbool.h>

struct member_query {
    const char *state, *from, *to, *host, *cause; /* NULL: any */
    json_t *where;                                /* NULL: any */
};

/* NAME=VALUE, NAME=LOW..HIGH, NAME=LOW.. or NAME=..HIGH, a further condition. -1 where it is none of them. */
int member_query_where(struct member_query *query, const char *text);
bool member_query_is_any(const struct member_query *query);
/* "&name=value" for each part. */
void member_query_put(const struct member_query *query, struct text *out);
void member_query_fini(struct member_query *query);
#endif
