/* Lists of ensembles that are sorted by something other than their age. */
#ifndef DAEMON_STORE_ENSEMBLE_ORDER_H
#define DAEMON_STORE_ENSEMBLE_ORDER_H
#include "daemon/store/ensemble.h"

enum ensemble_key {
    ENSEMBLE_BY_CREATED,
    ENSEMBLE_BY_NAME,     /* A and a are the same */
    ENSEMBLE_BY_STATE,    /* by its name */
    ENSEMBLE_BY_RATE,     /* no index has it: api/ensembles_by_rate.c sorts by it */
    ENSEMBLE_BY_PROGRESS, /* the share of its members that are final */
    ENSEMBLE_BY_LAST,     /* the last value of a metric */
    ENSEMBLE_BY_MIN,      /* its least value */
    ENSEMBLE_BY_MAX       /* its greatest value */
};

struct ensemble_order {
    enum ensemble_key key;
    bool descending;
    const char *metric; /* if the key is one of a metric */
};

/* The place of an ensemble in a sorted list. Ensembles whose training has no value of the metric stand behind all
 * others in either direction, the newest first. */
struct ensemble_place {
    int64_t id;     /* of the training if it has a value of the metric, else of the ensemble; 0: before the first */
    bool has_value; /* true unless it stands behind those that have a value of the metric */
    double value;   /* by which it is sorted */
    char text[256]; /* its name or state if it is sorted by that */
};

/* Reads at most `limit` ensembles that pass the filter and stand behind `after`, whose id is 0 for the beginning, until
 * `each` returns non-zero. An index has the order, so that the time depends on how many ensembles are read, and not on
 * how many there are. Those that do not pass the filter, or have no value of the metric, are skipped one by one. */
int store_ensemble_each_sorted(struct store *store, const struct ensemble_order *order,
                               const struct ensemble_filter *filter, const struct ensemble_place *after, int limit,
                               int (*each)(void *arg, const struct ensemble_row *row,
                                           const struct ensemble_place *place),
                               void *arg, struct error *err);
#endif
