/* Families: an ensemble and its follow-ups, each after the other. Members are handed on from one to the next. */
#ifndef DAEMON_STORE_FAMILY_H
#define DAEMON_STORE_FAMILY_H
#include "daemon/store/ensemble.h"

/* Reads the newest ensemble of the family, which is its root if there is no follow-up. Returns 1, 0 if there is no
 * such family, -1 on error. */
int store_family_newest(struct store *store, int64_t root, struct ensemble_row *row, struct error *err);
/* Finds an ensemble of the family that has not ended or has members in flight. Returns 1 and *id, 0 if there is none,
 * -1. */
int store_family_open(struct store *store, int64_t root, int64_t *id, struct error *err);
/* Counts the follow-ups of the family. */
int store_family_follow_ups(struct store *store, int64_t root, int64_t *n, struct error *err);
/* Counts each member of the family once, by its state in the newest ensemble that has it. */
int store_family_tally(struct store *store, int64_t root, int64_t n[MEMBER_STATE_COUNT], struct error *err);
/* Reads the roots above `after` of families that have unfinished members, ascending. */
int store_family_each_unfinished(struct store *store, int64_t after, int limit,
                                 int (*each)(void *arg, const int64_t *root), void *arg, struct error *err);
/* Counts the families that have unfinished members. */
int store_family_unfinished(struct store *store, int64_t *n, struct error *err);
/* Finds the ensemble whose parent is this one. Returns 1 and *id, 0 if there is none, -1 on error. */
int store_follow_up_of(struct store *store, int64_t ensemble, int64_t *id, struct error *err);

/* Counts the members of an ensemble that were handed on, by state. */
int store_handed_get(struct store *store, int64_t ensemble, int64_t n[MEMBER_STATE_COUNT], struct error *err);

/* Lets the follow-up `row`, which was just stored, take over the members of its family that are in `state`. */
int store_handover_add(struct store *store, const struct ensemble_row *row, enum member_state state, struct error *err);
/* Takes over at most `limit` members, which are then pending in the follow-up. *n is how many, *span (may be NULL) the
 * range of them. Returns 1 if there may be more, 0 if there are no more, -1 on error. */
int store_handover_take(struct store *store, int64_t ensemble, int limit, int64_t *n, struct member_span *span,
                        struct error *err);
/* Ends the handover early: the follow-up keeps the row->next_index members that it has, and gets no more. */
int store_handover_end(struct store *store, struct ensemble_row *row, struct error *err);
/* Finds the follow-up of the family that does not have all of its members yet. Returns 1 and *id, 0 if there is none,
 * -1. */
int store_handover_in(struct store *store, int64_t root, int64_t *id, struct error *err);
#endif
