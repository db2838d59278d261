/* Bulk operations: changes of many members or jobs of an ensemble that are made in pieces, some in each turn. The rest
 * is stored, so that it is done after a restart, too. */
#ifndef DAEMON_STORE_BULK_H
#define DAEMON_STORE_BULK_H
#include "daemon/store/member.h"

enum bulk_kind {
    BULK_CANCEL,   /* cancels pending members; those without a row come last */
    BULK_RESUBMIT, /* makes members in `state` pending that were not handed on, from `next` on */
    BULK_STOP,     /* stops attempts in flight beyond the width `next`; the engine does it */
};

/* An ensemble has at most one bulk operation of each kind and, of BULK_RESUBMIT, one for each state. */
struct bulk {
    enum bulk_kind kind;
    int64_t ensemble, next;
    enum member_state state; /* for BULK_RESUBMIT */
    bool afresh;             /* for BULK_RESUBMIT: the members' checkpoints do not count any more */
    /* for BULK_RESUBMIT: the number of a checkpoint of the ensemble's training, so that members which are whole in it
     * stay as they are; 0 for none */
    int64_t checkpoint;
};

/* Stores a bulk operation in place of an earlier one of the same kind and state. */
int store_bulk_put(struct store *store, const struct bulk *bulk, struct error *err);
/* Reads a bulk operation of an ensemble. Returns 1 if there is one, 0 if not, -1 on error. */
int store_bulk_first(struct store *store, int64_t ensemble, struct bulk *bulk, struct error *err);
int store_bulk_end(struct store *store, const struct bulk *bulk, struct error *err);
int store_bulk_end_all(struct store *store, int64_t ensemble, struct error *err);
/* Does a piece of a bulk operation (not of BULK_STOP): at most `limit` members. Returns 1 if there may be more, from
 * bulk->next on, which the caller then stores. Returns 0 if it is done, -1 on error. *span (may be NULL) is the range
 * of members with a row that were changed. */
int store_bulk_piece(struct store *store, struct bulk *bulk, int limit, struct member_span *span, struct error *err);

#endif
