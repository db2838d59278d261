/* The query parameters of a request. Only those that the route knows are allowed, each at most once. */
#ifndef API_QUERY_H
#define API_QUERY_H
#include "common/error.h"

#include <microhttpd.h>
#include <stdint.h>

#define QUERY_MAX 12

struct query {
    struct {
        const char *name, *value; /* live as long as the request */
    } item[QUERY_MAX];
    size_t n;
};

/* Reads the query. `known` has names separated by blanks. Fails with "query_unknown_parameter" or
 * "query_wrong_value". */
int query_read(struct query *query, struct MHD_Connection *connection, const char *known, struct error *err);

const char *query_get(const struct query *query, const char *name); /* NULL if it was not given */

/* Reads a number in a range. *value is left alone if the parameter was not given. */
int query_int(const struct query *query, const char *name, int64_t min, int64_t max, int64_t *value, struct error *err);
/* Reads a parameter that is one of `n` words, or several with commas between them: *bits gets a bit for each. It stays
 * as it is if the parameter is not given. */
int query_words(const struct query *query, const char *name, const char *const words[], size_t n, unsigned *bits,
                struct error *err);
#endif
