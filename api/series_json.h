/* The figures of members' metric series in lists, by the query parameter "metrics". */
#ifndef API_SERIES_JSON_H
#define API_SERIES_JSON_H
#include "api/request.h"

#include <jansson.h>

/* Adds "metrics" to the JSON of a member: an object of the figures of each series that `names` has, with commas between
 * them; all if it is NULL or "*". Returns 0, or -1 with err. */
int series_json_add(json_t *member, struct store *store, int64_t ensemble, int64_t index, const char *names,
                    struct error *err);
#endif
