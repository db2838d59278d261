#include "daemon/store/series.h"

#include "common/text.h"
#include "common/xalloc.h"

#include <math.h>
#include <stdlib.h>

#define COLUMNS                                                                                                        \
    "id, ensemble, idx, name, attempt, step, time, first_time, last, least, greatest, area, points, not_finite, "     \
    "width, rows"
#define POINT "step, time, attempt, last, area, n, last_step, last_time, not_finite, first, least, greatest"

static double value_of(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, column);
}

struct series_point series_point_of(int64_t step, int64_t time_ms, int64_t attempt, double value, double area)
{
    double finite = isfinite(value) ? value : NAN;

    return (struct series_point){step, step, time_ms, time_ms, attempt, 1, !isfinite(value),
                                 value, value, finite, finite, isfinite(area) ? area : 0};
}

/* Returns the sum of two areas; what would overflow is left out. */
static double sum_of(double area, double more)
{
    return isfinite(area + more) ? area + more : area;
}

/* Both prefer a number to NaN. */
static double least(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

static double greatest(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

void series_point_merge(struct series_point *to, const struct series_point *next)
{
    to->last_step = next->last_step;
    to->last_time_ms = next->last_time_ms;
    to->attempt = next->attempt;
    to->count += next->count;
    to->not_finite += next->not_finite;
    to->last = next->last;
    to->min = least(to->min, next->min);
    to->max = greatest(to->max, next->max);
    to->area = sum_of(to->area, next->area);
}

static void read_series(sqlite3_stmt *stmt, struct series_row *row)
{
    *row = (struct series_row){
        .id = sqlite3_column_int64(stmt, 0),
        .ensemble = sqlite3_column_int64(stmt, 1),
        .index = sqlite3_column_int64(stmt, 2),
        .attempt = sqlite3_column_int64(stmt, 4),
        .step = sqlite3_column_int64(stmt, 5),
        .time_ms = sqlite3_column_int64(stmt, 6),
        .first_time_ms = sqlite3_column_int64(stmt, 7),
        .last = value_of(stmt, 8),
        .min = value_of(stmt, 9),
        .max = value_of(stmt, 10),
        .area = sqlite3_column_double(stmt, 11),
        .points = sqlite3_column_int64(stmt, 12),
        .not_finite = sqlite3_column_int64(stmt, 13),
        .width = sqlite3_column_int64(stmt, 14),
        .rows = sqlite3_column_int64(stmt, 15),
    };
    store_text(stmt, 3, row->name, sizeof row->name);
}

static void read_point(sqlite3_stmt *stmt, struct series_point *p)
{
    int64_t count = sqlite3_column_int64(stmt, 5);

    *p = series_point_of(sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2),
                         value_of(stmt, 3), sqlite3_column_double(stmt, 4));
    if (count == 1)
        return;
    p->count = count;
    p->last_step = sqlite3_column_int64(stmt, 6);
    p->last_time_ms = sqlite3_column_int64(stmt, 7);
    p->not_finite = sqlite3_column_int64(stmt, 8);
    p->first = value_of(stmt, 9);
    p->min = value_of(stmt, 10);
    p->max = value_of(stmt, 11);
}

static int put_point(struct store *store, int64_t series, const struct series_point *p, struct error *err)
{
    if (p->count == 1)
        return store_exec(store, err,
                          "INSERT OR REPLACE INTO member_point (series, step, time, attempt, last, area) VALUES (?1, "
                          "?2, ?3, ?4, ?5, ?6)",
                          "iiiidd", series, p->step, p->time_ms, p->attempt, p->last, p->area);
    return store_exec(store, err,
                      "INSERT OR REPLACE INTO member_point (series, " POINT ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
                      "?9, ?10, ?11, ?12, ?13)",
                      "iiiiddiiiiddd", series, p->step, p->time_ms, p->attempt, p->last, p->area, p->count,
                      p->last_step, p->last_time_ms, p->not_finite, p->first, p->min, p->max);
}

static int get_one(struct store *store, sqlite3_stmt *stmt, struct series_row *row, struct error *err)
{
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc != 1)
        return rc;
    read_series(stmt, row);
    return store_row_taken(store, stmt, err);
}

int store_series_get(struct store *store, int64_t ensemble, int64_t index, const char *name, struct series_row *row,
                     struct error *err)
{
    return get_one(store,
                   store_query(store, err,
                               "SELECT " COLUMNS " FROM member_series WHERE ensemble = ?1 AND idx = ?2 AND name = ?3",
                               "iit", ensemble, index, name),
                   row, err);
}

/* Returns the number of series that the member has, or -1. */
static int64_t count_series(struct store *store, int64_t ensemble, int64_t index, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT count(*) FROM member_series WHERE ensemble = ?1 AND idx = ?2",
                                     "ii", ensemble, index);
    int64_t n = -1;

    if (stmt != NULL && store_row(store, stmt, err) == 1) {
        n = sqlite3_column_int64(stmt, 0);
        store_done(stmt);
    }
    return n;
}

/* Begins a series with what the member's former ensemble has of it. */
static int inherit(struct store *store, const struct series_row *row, struct error *err)
{
    if (store_exec(store, err,
                   "INSERT INTO member_series (ensemble, idx, name, step, time, first_time, last, least, greatest, "
                   "area, points, not_finite, width, rows) SELECT ?1, idx, name, step, time, first_time, last, least, "
                   "greatest, area, points, not_finite, width, rows FROM member_series WHERE ensemble = (SELECT predecessor "
                   "FROM member WHERE ensemble = ?1 AND idx = ?2) AND idx = ?2 AND name = ?3",
                   "iit", row->ensemble, row->index, row->name) < 0)
        return -1;
    if (store_changes(store) == 0)
        return 0;
    return store_exec(store, err,
                      "INSERT INTO member_point (series, " POINT ") SELECT ?1, step, time, 0, last, area, n, last_step, "
                      "last_time, not_finite, first, least, greatest FROM member_point WHERE series = (SELECT id FROM "
                      "member_series WHERE ensemble = (SELECT predecessor FROM member WHERE ensemble = ?2 AND idx = ?3) AND "
                      "idx = ?3 AND name = ?4)",
                      "iiit", store_last_id(store), row->ensemble, row->index, row->name) < 0
               ? -1
               : 1;
}

int store_series_open(struct store *store, int64_t ensemble, int64_t index, const char *name, struct series_row *row,
                      struct error *err)
{
    int rc = store_series_get(store, ensemble, index, name, row, err);
    int64_t n;

    if (rc != 0)
        return rc;
    n = count_series(store, ensemble, index, err);
    if (n < 0 || n >= SERIES_MAX)
        return n < 0 ? -1 : 0;
    *row = (struct series_row){.ensemble = ensemble, .index = index, .last = NAN, .min = NAN, .max = NAN, .width = 1};
    text_copy(row->name, sizeof row->name, name);
    rc = inherit(store, row, err);
    if (rc != 0)
        return rc < 0 ? -1 : store_series_get(store, ensemble, index, name, row, err);
    if (store_exec(store, err, "INSERT INTO member_series (ensemble, idx, name) VALUES (?1, ?2, ?3)", "iit", ensemble,
                   index, row->name) < 0)
        return -1;
    row->id = store_last_id(store);
    return 1;
}

static int flush_tail(struct store *store, struct series_row *row, struct error *err)
{
    int rc = row->tail.count > 0 ? put_point(store, row->id, &row->tail, err) : 0;

    row->tail.count = 0;
    return rc;
}

/* Takes the figures of the series on by a point behind all others. */
static void take(struct series_row *row, const struct series_point *p)
{
    if (row->points == 0) {
        row->first_time_ms = p->time_ms;
        row->min = row->max = NAN;
    }
    row->attempt = p->attempt;
    row->step = p->last_step;
    row->time_ms = p->last_time_ms;
    row->last = p->last;
    row->min = least(row->min, p->min);
    row->max = greatest(row->max, p->max);
    row->area = sum_of(row->area, p->area);
    row->points += p->count;
    row->not_finite += p->not_finite;
}

static int retake(void *arg, const struct series_point *p)
{
    struct series_row *row = arg;

    take(row, p);
    row->rows++;
    return 0;
}

/* Drops the points from a step on, and finds the figures of the others. Points that were merged with others before that
 * step stay. */
static int cut(struct store *store, struct series_row *row, int64_t step, struct error *err)
{
    struct series_row left = *row;

    if (flush_tail(store, row, err) < 0 ||
        store_exec(store, err, "DELETE FROM member_point WHERE series = ?1 AND step >= ?2", "ii", row->id, step) < 0 ||
        store_exec(store, err,
                   "UPDATE member_point SET last_step = ?2 - 1 WHERE series = ?1 AND step = (SELECT max(step) FROM "
                   "member_point WHERE series = ?1) AND last_step >= ?2",
                   "ii", row->id, step) < 0)
        return -1;
    left.tail.count = 0;
    left.points = left.not_finite = left.rows = 0;
    left.area = 0;
    if (store_series_each_point(store, row->id, INT64_MIN, INT64_MAX, INT64_MAX, retake, &left, err) < 0)
        return -1;
    left.width = left.rows > 0 ? left.width : 1;
    *row = left;
    return 0;
}

struct heap {
    struct series_point *points;
    int64_t n;
};

static int gather(void *arg, const struct series_point *p)
{
    struct heap *heap = arg;

    heap->points[heap->n++] = *p;
    return 0;
}

/* Merges each two neighbours. */
static int thin(struct store *store, struct series_row *row, struct error *err)
{
    struct heap heap = {.points = xcalloc((size_t)row->rows + 1, sizeof *heap.points)};
    int64_t next = 0;
    int rc = flush_tail(store, row, err);

    if (rc == 0)
        rc = store_series_each_point(store, row->id, INT64_MIN, INT64_MAX, row->rows + 1, gather, &heap, err);
    if (rc == 0)
        rc = store_exec(store, err, "DELETE FROM member_point WHERE series = ?1", "i", row->id);
    for (row->rows = 0; rc == 0 && next < heap.n; row->rows++) {
        struct series_point *p = &heap.points[next++];

        if (next < heap.n)
            series_point_merge(p, &heap.points[next++]);
        rc = put_point(store, row->id, p, err);
    }
    row->width *= 2;
    free(heap.points);
    return rc;
}

static void read_tail(sqlite3_stmt *stmt, struct series_row *row)
{
    read_point(stmt, &row->tail);
}

static int nothing(void *arg, const struct series_row *row)
{
    return 0;
}

/* Reads the last row, to fill it on. */
static int load_tail(struct store *store, struct series_row *row, struct error *err)
{
    if (row->width == 1 || row->rows == 0 || row->tail.count > 0)
        return 0;
    return store_each_row(
        store,
        store_query(store, err, "SELECT " POINT " FROM member_point WHERE series = ?1 ORDER BY step DESC LIMIT 1", "i",
                    row->id),
        read_tail, row, nothing, NULL, err);
}

int store_series_add(struct store *store, struct series_row *row, const struct series_point *point, int64_t keep,
                     struct error *err)
{
    row->changed = true;
    if (row->points > 0 && point->step <= row->step && cut(store, row, point->step, err) < 0)
        return -1;
    if (load_tail(store, row, err) < 0)
        return -1;
    take(row, point);
    if (row->tail.count > 0 && row->tail.count < row->width) {
        series_point_merge(&row->tail, point);
        return 0;
    }
    if (flush_tail(store, row, err) < 0)
        return -1;
    row->tail = *point;
    row->rows++;
    return row->rows > keep ? thin(store, row, err) : 0;
}

int store_series_save(struct store *store, struct series_row *row, struct error *err)
{
    if (!row->changed)
        return 0;
    row->changed = false;
    if (flush_tail(store, row, err) < 0)
        return -1;
    return store_exec(store, err,
                      "UPDATE member_series SET attempt = ?2, step = ?3, time = ?4, first_time = ?5, last = ?6, least = "
                      "?7, greatest = ?8, area = ?9, points = ?10, not_finite = ?11, width = ?12, rows = ?13 WHERE id = "
                      "?1",
                      "iiiiiddddiiii", row->id, row->attempt, row->step, row->time_ms, row->first_time_ms, row->last,
                      row->min, row->max, row->area, row->points, row->not_finite, row->width, row->rows);
}

int store_series_each(struct store *store, int64_t ensemble, int64_t index, const char *from,
                      int (*each)(void *arg, const struct series_row *row), void *arg, struct error *err)
{
    struct series_row row;

    return store_each_row(store,
                          store_query(store, err,
                                      "SELECT " COLUMNS " FROM member_series WHERE ensemble = ?1 AND idx = ?2 AND name "
                                      ">= ?3 ORDER BY name",
                                      "iit", ensemble, index, from),
                          read_series, &row, each, arg, err);
}

int store_series_each_of(struct store *store, int64_t ensemble, int64_t from, int64_t end, const char *name,
                         int (*each)(void *arg, const struct series_row *row), void *arg, struct error *err)
{
    struct series_row row;

    return store_each_row(store,
                          store_query(store, err,
                                      "SELECT " COLUMNS " FROM member_series WHERE ensemble = ?1 AND idx >= ?2 AND idx "
                                      "< ?3 AND name = ?4 ORDER BY idx",
                                      "iiit", ensemble, from, end, name),
                          read_series, &row, each, arg, err);
}

int store_series_each_point(struct store *store, int64_t series, int64_t after, int64_t to, int64_t limit,
                            int (*each)(void *arg, const struct series_point *point), void *arg, struct error *err)
{
    struct series_point point;

    return store_each_row(store,
                          store_query(store, err,
                                      "SELECT " POINT " FROM member_point WHERE series = ?1 AND step > ?2 AND step <= "
                                      "?3 ORDER BY step LIMIT ?4",
                                      "iiii", series, after, to, limit),
                          read_point, &point, each, arg, err);
}

int store_series_bounds(struct store *store, int64_t series, int64_t from, int64_t to, int64_t *first, int64_t *last,
                        struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err,
        "SELECT (SELECT step FROM member_point WHERE series = ?1 AND step >= ?2 ORDER BY step LIMIT 1), (SELECT step "
        "FROM member_point WHERE series = ?1 AND step <= ?3 ORDER BY step DESC LIMIT 1)",
        "iii", series, from, to);
    bool any;

    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    *first = sqlite3_column_int64(stmt, 0);
    *last = sqlite3_column_int64(stmt, 1);
    any = sqlite3_column_type(stmt, 0) != SQLITE_NULL && sqlite3_column_type(stmt, 1) != SQLITE_NULL && *first <= *last;
    store_done(stmt);
    return any;
}
