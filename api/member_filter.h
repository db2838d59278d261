/* Filters the members of an ensemble by state, index, parameters, the host of the latest attempt, and why an attempt
 * failed. */
#ifndef API_MEMBER_FILTER_H
#define API_MEMBER_FILTER_H
#include "api/request.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/member.h"

#define MEMBER_FILTER_PIECE 1024 /* members that are looked at in one turn of the loop */
#define MEMBER_FILTER_NONE '-'   /* a member that the filter leaves out, or that is in another ensemble of the family */

struct member_filter;

/* Reads the query parameters state, from, to, where, host and cause of the request; the route may know fewer. Returns
 * NULL with "query_wrong_value" or another error. The filter is valid as long as the request. */
struct member_filter *member_filter_create(struct request *r, const struct ensemble_row *ensemble, struct error *err);
void member_filter_destroy(struct member_filter *filter);

/* Returns whether the store's index of states can answer: the filter lets all members through, or those in *state. */
bool member_filter_is_simple(const struct member_filter *filter, enum member_state *state);
/* Returns whether it filters by parameters, host or cause. */
bool member_filter_is_searching(const struct member_filter *filter);
/* Returns the range of indices that it can let through: from *first up to but without *end. */
void member_filter_span(const struct member_filter *filter, int64_t *first, int64_t *end);

/* Writes a byte for each member from one index up to but without another, at most MEMBER_FILTER_PIECE: '0' plus its
 * state, or MEMBER_FILTER_NONE. */
int member_filter_look(struct member_filter *filter, int64_t from, int64_t end, unsigned char *states,
                       struct error *err);
#endif
