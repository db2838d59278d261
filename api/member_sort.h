/* Sorts members by the time or resources that their latest attempts used, or by a figure of a metric. Members without a
 * value, or with NaN or an infinity, come last. No index has this order, since it would slow down every attempt. So all
 * members are read, some in each turn of the loop, and the first ones behind the cursor are kept. */
#ifndef API_MEMBER_SORT_H
#define API_MEMBER_SORT_H
#include "api/request.h"
#include "daemon/store/ensemble.h"

#include <jansson.h>

struct member_sort;

/* Reads the query parameters sort, order and cursor. Sets *sort to NULL if the query has no `sort`. Returns 0, or -1
 * with "query_wrong_value". */
int member_sort_create(struct request *r, const struct ensemble_row *ensemble, int64_t limit, struct member_sort **sort,
                       struct error *err);
void member_sort_destroy(struct member_sort *sort);
/* Takes the members from one index up to but without another, whose states are as member_filter_look() has them. */
int member_sort_look(struct member_sort *sort, int64_t from, int64_t end, const unsigned char *states,
                     struct error *err);
/* Returns whether members from this index on that were never tried cannot come into the page any more. */
bool member_sort_is_full(const struct member_sort *sort, int64_t at);
/* Returns the index of the nth member of the page, or -1 if it has fewer. */
int64_t member_sort_nth(const struct member_sort *sort, int64_t n);
/* Returns the cursor of the next page, or null. */
json_t *member_sort_next(const struct member_sort *sort);
#endif
