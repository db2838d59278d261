/* Which members of an ensemble a query asks for: by state, index, parameters, the host of the latest attempt, and why an attempt failed. */
#ifndef API_MEMBER_FILTER_H
#define API_MEMBER_FILTER_H
#include "api/request.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/member.h"

#define MEMBER_FILTER_PIECE 1024 /* members looked at in one turn of the loop */
#define MEMBER_FILTER_NONE '-'   /* a member that is not asked for, or that is in another ensemble of the family */

struct member_filter;

/* The query parameters state, from, to, where, host and cause of the request, of which the route may have less. NULL with
 * "query_wrong_value", or another error. The filter holds for as long as the request. */
struct member_filter *member_filter_create(struct request *r, const struct ensemble_row *ensemble, struct error *err);
void member_filter_destroy(struct member_filter *filter);

/* True where the store's index of states answers: all members, or those in *state. */
bool member_filter_is_simple(const struct member_filter *filter, enum member_state *state);
/* True where parameters, host or cause are asked for. */
bool member_filter_is_searching(const struct member_filter *filter);
/* Indices that it can have: from the first up to but without the end. */
void member_filter_span(const struct member_filter *filter, int64_t *first, int64_t *end);

/* For the members from one index up to but without another, at most MEMBER_FILTER_PIECE: '0' and their state, or MEMBER_FILTER_NONE. */
int member_filter_look(struct member_filter *filter, int64_t from, int64_t end, unsigned char *states, struct error *err);
#endif
