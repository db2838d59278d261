/* Chores: changes of many members or jobs of an ensemble that are made in pieces, some in each turn. The rest is
 * stored, so that it is done after a restart, too. */
#ifndef DAEMON_STORE_CHORE_H
#define DAEMON_STORE_CHORE_H
#include "daemon/store/member.h"

enum chore_kind {
    CHORE_CANCEL,   /* cancels pending members; those without a row come last */
    CHORE_RESUBMIT, /* makes members in `state` pending that were not handed on, from `next` on */
    CHORE_STOP,     /* stops attempts in flight beyond the width `next`; the engine does it */
};

/* An ensemble has at most one chore of each kind and, of CHORE_RESUBMIT, one for each state. */
struct chore {
    enum chore_kind kind;
    int64_t ensemble, next;
    enum member_state state; /* for CHORE_RESUBMIT */
    bool afresh;             /* for CHORE_RESUBMIT: the members' checkpoints do not count any more */
    /* for CHORE_RESUBMIT: the number of a checkpoint of the ensemble's training, so that members which are whole in it
     * stay as they are; 0 for none */
    int64_t checkpoint;
};

/* Stores a chore in place of an earlier one of the same kind and state. */
int store_chore_put(struct store *store, const struct chore *chore, struct error *err);
/* Reads a chore of an ensemble. Returns 1 if there is one, 0 if not, -1 on error. */
int store_chore_first(struct store *store, int64_t ensemble, struct chore *chore, struct error *err);
int store_chore_end(struct store *store, const struct chore *chore, struct error *err);
int store_chore_end_all(struct store *store, int64_t ensemble, struct error *err);
/* Does a piece of a chore (not of CHORE_STOP): at most `limit` members. Returns 1 if there may be more, from
 * chore->next on, which the caller then stores; 0 if it is done; -1 on error. *span (may be NULL) is the range of
 * members with a row that were changed. */
int store_chore_piece(struct store *store, struct chore *chore, int limit, struct member_span *span, struct error *err);

#endif
