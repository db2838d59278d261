/* Changes of many members, or jobs, of an ensemble that are made some in a turn: what is left of them is a chore, which is done
 * piece by piece, also after a restart. */
#ifndef DAEMON_STORE_CHORE_H
#define DAEMON_STORE_CHORE_H
#include "daemon/store/member.h"

enum chore_kind {
    CHORE_CANCEL,   /* members that are pending become cancelled, those without a row last */
    CHORE_RESUBMIT, /* members in `state` that were not handed on become pending, from `next` on */
    CHORE_STOP,     /* attempts in flight beyond the width `next` are stopped: done by the engine */
};

/* An ensemble has one of each kind (and state) at most. */
struct chore {
    enum chore_kind kind;
    int64_t ensemble, next;
    enum member_state state; /* of CHORE_RESUBMIT */
    bool afresh;             /* likewise: their checkpoints do not count any more */
};

/* In place of the former of its kind. */
int store_chore_put(struct store *store, const struct chore *chore, struct error *err);
/* Any of an ensemble: 1 found, 0 none, -1. */
int store_chore_first(struct store *store, int64_t ensemble, struct chore *chore, struct error *err);
int store_chore_end(struct store *store, const struct chore *chore, struct error *err);
int store_chore_end_all(struct store *store, int64_t ensemble, struct error *err);
/* A piece of it, of `limit` members at most (not of CHORE_STOP): 1 there may be more, from chore->next on, 0 it is done, -1. What
 * is left is the caller's to put. *span (may be NULL): which members with a row it has changed. */
int store_chore_piece(struct store *store, struct chore *chore, int limit, struct member_span *span, struct error *err);

#endif
