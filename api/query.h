/* The query parameters of a request: only those that the route knows, each at most once. */
#ifndef API_QUERY_H
#define API_QUERY_H
#include "common/error.h"

#include <microhttpd.h>
#include <stdint.h>

#define QUERY_MAX 10

struct query {
    struct {
        const char *name, *value; /* live as long as the request */
    } item[QUERY_MAX];
    size_t n;
};

/* `known`: names separated by blanks. Codes "query_unknown_parameter", "query_wrong_value". */
int query_read(struct query *query, struct MHD_Connection *connection, const char *known, struct error *err);

const char *query_get(const struct query *query, const char *name); /* NULL where it was not given */

/* A number in a range; *value stays where it was not given. */
int query_int(const struct query *query, const char *name, int64_t min, int64_t max, int64_t *value,
              struct error *err);
#endif
