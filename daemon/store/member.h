/* Members to which something has happened. The others have no row: they are pending (cancelled in a cancelled
 * ensemble), with indices from the ensemble's next_index on. */
#ifndef DAEMON_STORE_MEMBER_H
#define DAEMON_STORE_MEMBER_H
#include "daemon/store/store.h"

enum member_state {
    MEMBER_PENDING,
    MEMBER_SUBMITTED,
    MEMBER_RUNNING,
    MEMBER_SUCCEEDED,
    MEMBER_FAILED,
    MEMBER_UNFINISHED,
    MEMBER_CANCELLED,
    MEMBER_STATE_COUNT
};

struct member_row {
    int64_t ensemble, index;
    enum member_state state;
    int64_t attempts; /* made so far */
    int64_t failures; /* that cost a retry */
    int64_t losses;   /* that did not: node failures and the like */
    int64_t stalls;   /* in a row, out of time without progress; they did not, either */
    int64_t since;    /* it was told to start afresh: only checkpoints of attempts from this one on count; 0: all do */
    int64_t since_in; /* of that ensemble of its family, and of those after it; 0: of its own */
    int64_t not_before_ms;
    char reason[512];
    int64_t origin, heir; /* the ensembles of its family that had it before, and next: not for the calls that write; 0: none */
};

/* Members that one call has changed: between these indices, inclusive; first > last: none. */
struct member_span {
    int64_t first, last;
};

const char *member_state_name(enum member_state state);
int member_state_parse(const char *name, enum member_state *state); /* 0 or -1 */

/* Its row, whether there is one already or not; and where it is known that there is. */
int store_member_put(struct store *store, const struct member_row *row, struct error *err);
int store_member_change(struct store *store, const struct member_row *row, struct error *err);
/* 1 found, 0 no row, -1 error. */
int store_member_get(struct store *store, int64_t ensemble, int64_t index, struct member_row *row, struct error *err);
/* By index from `from` on, only those in `state` unless it is MEMBER_STATE_COUNT; rows only (see above). */
int store_member_each(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int limit,
                      int (*each)(void *arg, const struct member_row *row), void *arg, struct error *err);
/* Those in `state` from one index to another, inclusive. */
int store_member_each_between(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int64_t to,
                              int (*each)(void *arg, const struct member_row *row), void *arg, struct error *err);
/* The states of rows from index `from` up to but without `end`, by index. */
int store_member_each_state(struct store *store, int64_t ensemble, int64_t from, int64_t end,
                            int (*each)(void *arg, int64_t index, enum member_state state), void *arg, struct error *err);
/* Of the rows in `state` that were not handed on, the first `limit` from `from` on: how many there are, and the last. */
int store_member_slice(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int limit, int64_t *n,
                       int64_t *last, struct error *err);
/* Of those from `from` to `last`: they become pending, as if nothing had been tried but for their attempts; `afresh`: and their
 * checkpoints, too. */
int store_member_reset(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int64_t last, bool afresh,
                       struct error *err);
int store_member_cancel(struct store *store, int64_t ensemble, int64_t from, int64_t last, struct error *err); /* pending ones */
/* Earliest time at which a pending row may go, INT64_MAX where there is none. */
int store_member_next_due(struct store *store, int64_t ensemble, int64_t *when_ms, struct error *err);
/* Pending rows that may go at `now`, the longest due first, then by index. */
int store_member_each_due(struct store *store, int64_t ensemble, int64_t now_ms, int limit,
                          int (*each)(void *arg, const struct member_row *row), void *arg, struct error *err);
#endif
