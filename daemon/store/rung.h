/* Early stopping: the rungs of an ensemble, and the members that have reached them, in the order in which they did.
 * Less loss is better; of equal ones the earlier arrival is. The best 1/reduction of a rung are those up to its cut,
 * which moves by one at each arrival, so that no decision reads more than a few rows. */
#ifndef DAEMON_STORE_RUNG_H
#define DAEMON_STORE_RUNG_H
#include "daemon/store/store.h"

#define ARRIVAL_BY_HAND (-1)   /* it was not promoted: somebody has resubmitted its member */
#define ARRIVAL_CANCELLED (-2) /* it is never promoted: somebody has cancelled its member, which was stopped */

struct arrival_row {
    int64_t ensemble;
    int64_t number; /* from 1 on, over all rungs of the ensemble */
    int64_t rung;   /* the lowest is 1 */
    int64_t index, attempt;
    int64_t step;     /* of the point whose value counts */
    double value;     /* NaN if it is not finite */
    double loss;      /* the value, or its opposite if more is better; infinite if it is not finite */
    int64_t promoted; /* the arrival that promoted it; 0: none has; ARRIVAL_BY_HAND, ARRIVAL_CANCELLED */
    double best;      /* with the rule of the median, the member's best value up to there; NaN if there is none */
    double threshold; /* if nobody pauses: what its value was compared with; NaN if nothing was, or it is not finite */
};

struct rung_row {
    int64_t number, arrived, promoted;
    int64_t cancelled;       /* members that were stopped there, and cancelled since */
    int64_t under_way;       /* members whose open attempts are to reach it */
    struct arrival_row best; /* valid if any has arrived */
};

/* Adds an arrival and sets its number. Returns 1, 0 if the member has arrived there before, -1. */
int store_arrival_add(struct store *store, struct arrival_row *row, int64_t reduction, struct error *err);
/* Returns whether an arrival is among the best 1/reduction of its rung: 1, 0 or -1. */
int store_arrival_is_good(struct store *store, const struct arrival_row *row, struct error *err);
/* Finds the best arrival of the rung that is not promoted, if it is among the best 1/reduction: 1, 0 or -1. */
int store_arrival_promotable(struct store *store, int64_t ensemble, int64_t rung, struct arrival_row *row,
                             struct error *err);
/* Notes that an arrival is promoted, by the arrival of number `by`. */
int store_arrival_promote(struct store *store, const struct arrival_row *row, int64_t by, struct error *err);
/* Notes that a member leaves the highest rung that it has reached without a promotion, if it has reached one: `how` is
 * ARRIVAL_BY_HAND or ARRIVAL_CANCELLED. */
int store_arrival_leave(struct store *store, int64_t ensemble, int64_t index, int64_t how, struct error *err);
/* Finds the last arrival of the best 1/reduction of the rung, or the best one while these are none: 1, 0 or -1. */
int store_arrival_bar(struct store *store, int64_t ensemble, int64_t rung, struct arrival_row *row, struct error *err);
/* Finds how many have arrived at a rung, and the median of their losses, if the cut was moved by a reduction of 2.
 * Returns 1, 0 if none has arrived, or -1. */
int store_arrival_median(struct store *store, int64_t ensemble, int64_t rung, int64_t *n, double *loss,
                         struct error *err);
/* Stores an arrival's `promoted`, `threshold` and `best`. */
int store_arrival_decide(struct store *store, const struct arrival_row *row, struct error *err);
/* Finds the rung that the next attempt of a member is to reach. */
int store_arrival_next_rung(struct store *store, int64_t ensemble, int64_t index, int64_t *rung, struct error *err);
/* Finds the highest rung that a member has reached: 1, 0 if it has reached none, -1. */
int store_arrival_last(struct store *store, int64_t ensemble, int64_t index, struct arrival_row *row,
                       struct error *err);
/* Reads arrivals with a number above `after`, in their order. */
int store_arrival_each(struct store *store, int64_t ensemble, int64_t after, int limit,
                       int (*each)(void *arg, const struct arrival_row *row), void *arg, struct error *err);
/* Finds the highest rung of an ensemble that a member has reached; 0 if none has. */
int store_rung_highest(struct store *store, int64_t ensemble, int64_t *rung, struct error *err);
/* Reads one rung; of one that nobody has reached, the counts are 0. */
int store_rung_get(struct store *store, int64_t ensemble, int64_t number, struct rung_row *row, struct error *err);
#endif
