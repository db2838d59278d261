/* Members to which something has happened. The others have no row: they are pending (in a cancelled ensemble:
 * cancelled), and their indices begin with the ensemble's next_index. */
#ifndef DAEMON_STORE_MEMBER_H
#define DAEMON_STORE_MEMBER_H
#include "common/member_state.h"
#include "daemon/store/store.h"

/* For `not_before_ms` of a member that may go again at once: long past, but behind promoted members, which have 0. */
#define MEMBER_AT_ONCE INT64_C(1)

struct member_row {
    int64_t ensemble, index;
    enum member_state state;
    int64_t attempts; /* number of attempts so far */
    int64_t failures; /* attempts that cost a retry */
    int64_t losses;   /* attempts that did not, such as after a node failure */
    int64_t stalls;   /* attempts in a row that ran out of time without progress; they cost no retry, either */
    /* only checkpoints of attempts from this one on count, since it was told to start afresh; 0 for all */
    int64_t since;
    int64_t since_in;      /* the ensemble of its family that `since` is about; later ones count, too; 0 for its own */
    int64_t not_before_ms; /* it may start then at the earliest */
    int64_t rung;          /* it was promoted to this rung, and has not gone on to it yet; 0 if it was not */
    char reason[512];
    double progress; /* from 0 to 1; NaN if it never reported any; read only */
    int64_t predecessor,
        successor; /* the ensembles of its family before and after that had it; 0 for none; read only */
};

/* The range of members that one call has changed: from `first` to `last`, inclusive; none if first > last. */
struct member_span {
    int64_t first, last;
};

/* Counts the members that are not final, of numbers by state. */
int64_t member_counts_open(const int64_t n[MEMBER_STATE_COUNT]);

/* Both store a row: the first one whether it exists already or not, the second one if it is known to exist. */
int store_member_put(struct store *store, const struct member_row *row, struct error *err);
int store_member_change(struct store *store, const struct member_row *row, struct error *err);
/* Stores how far a member with a row is, as it reports. */
int store_member_progress(struct store *store, int64_t ensemble, int64_t index, double progress, struct error *err);
/* Returns 1 if there is a row, 0 if not, -1 on error. */
int store_member_get(struct store *store, int64_t ensemble, int64_t index, struct member_row *row, struct error *err);
/* Reads rows by index, from `from` on; only those in `state` unless it is MEMBER_STATE_COUNT. Members without a row are
 * not reported. */
int store_member_each(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int limit,
                      int (*each)(void *arg, const struct member_row *row), void *arg, struct error *err);
/* Reads the rows in `state` from one index to another, inclusive. */
int store_member_each_between(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int64_t to,
                              int (*each)(void *arg, const struct member_row *row), void *arg, struct error *err);
/* Reads the states of rows with an index from `from` up to but without `end`, by index. */
int store_member_each_state(struct store *store, int64_t ensemble, int64_t from, int64_t end,
                            int (*each)(void *arg, int64_t index, enum member_state state), void *arg,
                            struct error *err);
/* Counts the first `limit` rows in `state` from `from` on that were not handed on. *last is the index of the last
 * one. */
int store_member_slice(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int limit,
                       int64_t *n, int64_t *last, struct error *err);
/* Makes rows in `state` from `from` to `last` pending that were not handed on. They keep their attempts, but count as
 * never tried; with `afresh` their checkpoints do not count, either. Members that were cancelled one by one stay or
 * become cancelled: such a member may have succeeded before it was stopped, and be needed again. */
int store_member_reset(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int64_t last,
                       bool afresh, struct error *err);
/* Cancels the pending rows from `from` to `last`. */
int store_member_cancel(struct store *store, int64_t ensemble, int64_t from, int64_t last, struct error *err);
/* Returns the earliest time at which a pending row may be started, INT64_MAX if there is none. */
int store_member_next_due(struct store *store, int64_t ensemble, int64_t *when_ms, struct error *err);
/* Has pending rows whose last attempt ended after now, since the clock has been set back, wait no longer than until
 * then. */
int store_member_wait_at_most(struct store *store, int64_t ensemble, int64_t now_ms, int64_t when_ms,
                              struct error *err);
/* Reads pending rows that may be started at `now_ms`: the one that is due longest first, then the one of the highest
 * rung, of the highest priority, and by index. */
int store_member_each_due(struct store *store, int64_t ensemble, int64_t now_ms, int limit,
                          int (*each)(void *arg, const struct member_row *row), void *arg, struct error *err);
#endif
