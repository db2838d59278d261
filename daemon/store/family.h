/* Families: an ensemble and its follow-ups, one after the other, and how members are handed on from one to the next. */
#ifndef DAEMON_STORE_FAMILY_H
#define DAEMON_STORE_FAMILY_H
#include "daemon/store/ensemble.h"

/* The newest ensemble of the family, its root where there is no other: 1 found, 0 none, -1 error. */
int store_family_newest(struct store *store, int64_t root, struct ensemble_row *row, struct error *err);
/* One of the family that is not over, or has members under way: 1 and *id, 0 none, -1. */
int store_family_open(struct store *store, int64_t root, int64_t *id, struct error *err);
/* How many follow-ups it has. */
int store_family_follow_ups(struct store *store, int64_t root, int64_t *n, struct error *err);
/* Each member once, by the state that it is in where it is newest. */
int store_family_tally(struct store *store, int64_t root, int64_t n[MEMBER_STATE_COUNT], struct error *err);
/* Roots beyond `after` of families that have unfinished members, ascending. */
int store_family_each_unfinished(struct store *store, int64_t after, int limit, int (*each)(void *arg, const int64_t *root),
                                 void *arg, struct error *err);
/* How many families these are. */
int store_family_unfinished(struct store *store, int64_t *n, struct error *err);
/* The follow-up of this very ensemble: 1 and *id, 0 none, -1. */
int store_follow_up_of(struct store *store, int64_t ensemble, int64_t *id, struct error *err);

/* Of an ensemble's members, by state, how many were handed on. */
int store_handed_get(struct store *store, int64_t ensemble, int64_t n[MEMBER_STATE_COUNT], struct error *err);

/* The follow-up `row`, just stored, is to take over its family's members in `state`. */
int store_handover_add(struct store *store, const struct ensemble_row *row, enum member_state state, struct error *err);
/* Some of what is to be taken over, at most `limit`: *n members, pending in the follow-up; *span (may be NULL):
 * which ones. 1: there may be more, 0: it has them all, -1. */
int store_handover_take(struct store *store, int64_t ensemble, int limit, int64_t *n, struct member_span *span, struct error *err);
/* It takes over no more: those that it has are all, row->next_index of them. */
int store_handover_end(struct store *store, struct ensemble_row *row, struct error *err);
/* The follow-up of the family that has not all of its members yet: 1 and *id, 0 none, -1. */
int store_handover_in(struct store *store, int64_t root, int64_t *id, struct error *err);
#endif
