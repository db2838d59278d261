/* Metric series of members. Figures are kept beside each series, so that lists can show its state without its points. A
 * limited number of entries is kept, each with one point or several neighbours that were merged. The newest entries lie
 * beside the figures, so that new points are stored by one change of one row. When there are enough of them, they
 * become a chunk of their own. */
#ifndef DAEMON_STORE_SERIES_H
#define DAEMON_STORE_SERIES_H
#include "daemon/store/chunk.h"
#include "daemon/store/store.h"

#define SERIES_NAME_SIZE 128
#define SERIES_STATISTIC "statistic" /* the one that has what a member's training reports of it */
#define SERIES_MAX 200               /* of one member */

/* One point, or neighbours that were merged. */
struct series_point {
    int64_t step, last_step, time_ms, last_time_ms;
    int64_t attempt; /* of the last point; 0: one in an earlier ensemble of the family */
    int64_t count, not_finite;
    double first, last; /* NaN and infinities are values, too */
    double min, max;    /* of the finite values; NaN if there is none */
    double area;        /* under the curve, from the last point before them on, in value times seconds */
    double within;      /* the part of it from their first point to their last one; 0 for one point */
};

struct series_point series_point_of(int64_t step, int64_t time_ms, int64_t attempt, double value, double area);
void series_point_merge(struct series_point *to, const struct series_point *next);

struct series_row {
    int64_t id; /* 0: it has no row yet */
    int64_t ensemble, index;
    char name[SERIES_NAME_SIZE];
    int64_t attempt, step, time_ms, first_time_ms; /* of the last point, and the time of the first */
    double last, min, max, area;                   /* as in points; NaN if there is no value */
    int64_t points, not_finite;
    int64_t width; /* points that an entry has */
    int64_t entries;
    /* The attempt from whose file of points the series was last stored, and how far that file had then been read.
     * Points from other sources leave both alone. */
    int64_t file_attempt, file_read;
    bool changed;
    struct chunk newest; /* entries behind those in chunks of their own; there is one unless the series is empty */
};

/* Reads a series to add points to it. One that does not exist yet is begun, with the points of the member's series in
 * the ensemble before, if it is of a follow-up. Returns 1, 0 if the member has too many series, -1. */
int store_series_open(struct store *store, int64_t ensemble, int64_t index, const char *name, struct series_row *row,
                      struct error *err);
/* Adds a point. If its step is not above the last one, it replaces the points from its step on. At most `keep` entries
 * are kept: if there are more, neighbours are merged. */
int store_series_add(struct store *store, struct series_row *row, const struct series_point *point, int64_t keep,
                     struct error *err);
/* Stores what store_series_add() has changed. */
int store_series_save(struct store *store, struct series_row *row, struct error *err);

int store_series_get(struct store *store, int64_t ensemble, int64_t index, const char *name, struct series_row *row,
                     struct error *err); /* 1, 0 if there is none, -1 */
/* Finds how far the file of points of this attempt has been read: the points before that are in the store. */
int store_series_file_read(struct store *store, int64_t ensemble, int64_t index, int64_t attempt, int64_t *read,
                           struct error *err);
/* Reads series by name, from `from` on ("" for all). */
int store_series_each(struct store *store, int64_t ensemble, int64_t index, const char *from,
                      int (*each)(void *arg, const struct series_row *row), void *arg, struct error *err);
/* Reads the series of this name of the members from one index up to but without another, by index. */
int store_series_each_of(struct store *store, int64_t ensemble, int64_t from, int64_t end, const char *name,
                         int (*each)(void *arg, const struct series_row *row), void *arg, struct error *err);
/* Reads at most `limit` entries of the series by step: those that begin after the step `after`, up to the step `to`.
 * The row is one that was read since the last change of the series. */
int store_series_each_point(struct store *store, const struct series_row *row, int64_t after, int64_t to, int64_t limit,
                            int (*each)(void *arg, const struct series_point *point), void *arg, struct error *err);
/* Finds the first and the last step from `from` to `to`, inclusive, with which an entry begins. Returns 1, 0 if there
 * is none, -1. */
int store_series_bounds(struct store *store, const struct series_row *row, int64_t from, int64_t to, int64_t *first,
                        int64_t *last, struct error *err);
#endif
