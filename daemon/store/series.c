#include "daemon/store/series.h"

#include "common/text.h"
#include "common/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                                        \
    "id, ensemble, idx, name, attempt, step, time, first_time, last, least, greatest, area, points, not_finite, "      \
    "width, entries, file_attempt, file_read, newest"

static double series_value(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, column);
}

struct series_point series_point_of(int64_t step, int64_t time_ms, int64_t attempt, double value, double area)
{
    double finite = isfinite(value) ? value : NAN;

    return (struct series_point){step,    step,   time_ms,          time_ms,
                                 attempt, 1,      !isfinite(value), value,
                                 value,   finite, finite,           isfinite(area) ? area : 0,
                                 0};
}

/* Returns the sum of two areas; what would overflow is left out. */
static double sum_of(double area, double more)
{
    return isfinite(area + more) ? area + more : area;
}

/* Both prefer a number to NaN. */
static double least_number(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

static double greatest_number(double a, double b)
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
    to->min = least_number(to->min, next->min);
    to->max = greatest_number(to->max, next->max);
    to->area = sum_of(to->area, next->area);
    to->within = sum_of(to->within, next->area);
}

static void read_chunk(sqlite3_stmt *stmt, int column, struct chunk *chunk)
{
    const void *bytes = sqlite3_column_blob(stmt, column);
    size_t size = bytes != NULL ? (size_t)sqlite3_column_bytes(stmt, column) : 0;

    chunk->size = size < sizeof chunk->bytes ? size : sizeof chunk->bytes;
    if (chunk->size > 0)
        memcpy(chunk->bytes, bytes, chunk->size);
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
        .last = series_value(stmt, 8),
        .min = series_value(stmt, 9),
        .max = series_value(stmt, 10),
        .area = sqlite3_column_double(stmt, 11),
        .points = sqlite3_column_int64(stmt, 12),
        .not_finite = sqlite3_column_int64(stmt, 13),
        .width = sqlite3_column_int64(stmt, 14),
        .entries = sqlite3_column_int64(stmt, 15),
        .file_attempt = sqlite3_column_int64(stmt, 16),
        .file_read = sqlite3_column_int64(stmt, 17),
    };
    store_text(stmt, 3, row->name, sizeof row->name);
    read_chunk(stmt, 18, &row->newest);
}

/* Adds an entry behind all others. The entries before it become a chunk when there is no more room beside the
 * figures. */
static int series_push(struct store *store, struct series_row *row, const struct series_point *p, struct error *err)
{
    struct series_point first;
    size_t at = 0;

    row->entries++;
    if (chunk_add(&row->newest, p))
        return 0;
    if (!chunk_next(&row->newest, &at, &first))
        first.step = INT64_MIN; /* the database is damaged */
    if (store_exec(store, err, "INSERT OR REPLACE INTO member_point (series, step, points) VALUES (?1, ?2, ?3)", "iix",
                   row->id, first.step, (const char *)row->newest.bytes, row->newest.size) < 0)
        return -1;
    row->newest.size = 0;
    chunk_add(&row->newest, p);
    return 0;
}

static int series_get_one(struct store *store, sqlite3_stmt *stmt, struct series_row *row, struct error *err)
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
    return series_get_one(
        store,
        store_query(store, err, "SELECT " COLUMNS " FROM member_series WHERE ensemble = ?1 AND idx = ?2 AND name = ?3",
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

static int get_predecessor(struct store *store, const struct series_row *row, struct series_row *out, struct error *err)
{
    return series_get_one(store,
                          store_query(store, err,
                                      "SELECT " COLUMNS
                                      " FROM member_series WHERE ensemble = (SELECT predecessor FROM member "
                                      "WHERE ensemble = ?1 AND idx = ?2) AND idx = ?2 AND name = ?3",
                                      "iit", row->ensemble, row->index, row->name),
                          out, err);
}

/* Takes the figures of the series on by a point behind all others. */
static void series_take_point(struct series_row *row, const struct series_point *p)
{
    if (row->points == 0) {
        row->first_time_ms = p->time_ms;
        row->min = row->max = NAN;
    }
    row->attempt = p->attempt;
    row->step = p->last_step;
    row->time_ms = p->last_time_ms;
    row->last = p->last;
    row->min = least_number(row->min, p->min);
    row->max = greatest_number(row->max, p->max);
    row->area = sum_of(row->area, p->area);
    row->points += p->count;
    row->not_finite += p->not_finite;
}

struct points_heap {
    struct series_point *points;
    int64_t n;
};

static int gather_point(void *arg, const struct series_point *p)
{
    struct points_heap *heap = arg;

    heap->points[heap->n++] = *p;
    return 0;
}

/* Reads all entries; the caller frees them. */
static int gather_all(struct store *store, const struct series_row *row, struct points_heap *heap, struct error *err)
{
    *heap = (struct points_heap){.points = xcalloc((size_t)row->entries + 1, sizeof *heap->points)};
    return store_series_each_point(store, row, INT64_MIN, INT64_MAX, row->entries + 1, gather_point, heap, err);
}

/* Begins a series with what the member's former ensemble has of it. */
static int series_inherit(struct store *store, struct series_row *row, struct error *err)
{
    struct series_row from;
    struct points_heap heap = {0};
    int rc = get_predecessor(store, row, &from, err);

    if (rc != 1)
        return rc;
    rc = gather_all(store, &from, &heap, err);
    from.id = row->id;
    from.ensemble = row->ensemble;
    from.attempt = from.entries = from.file_attempt = from.file_read = 0;
    from.newest.size = 0;
    from.changed = true;
    *row = from;
    for (int64_t i = 0; rc == 0 && i < heap.n; i++) {
        heap.points[i].attempt = 0;
        rc = series_push(store, row, &heap.points[i], err);
    }
    free(heap.points);
    return rc == 0 ? store_series_save(store, row, err) : -1;
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
    if (store_exec(store, err, "INSERT INTO member_series (ensemble, idx, name) VALUES (?1, ?2, ?3)", "iit", ensemble,
                   index, row->name) < 0)
        return -1;
    row->id = store_last_id(store);
    return series_inherit(store, row, err) < 0 ? -1 : 1;
}

static int retake_point(void *arg, const struct series_point *p)
{
    struct series_row *row = arg;

    series_take_point(row, p);
    row->entries++;
    return 0;
}

/* Takes the last chunk back beside the figures, to drop entries of it. */
static int take_last_chunk(struct store *store, struct series_row *row, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT points, step FROM member_point WHERE series = ?1 ORDER BY step DESC LIMIT 1", "i", row->id);
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;
    int64_t step;

    if (rc != 1)
        return rc;
    read_chunk(stmt, 0, &row->newest);
    step = sqlite3_column_int64(stmt, 1);
    if (store_row_taken(store, stmt, err) < 0)
        return -1;
    return store_exec(store, err, "DELETE FROM member_point WHERE series = ?1 AND step = ?2", "ii", row->id, step);
}

/* Drops entries of the chunk from a step on. Points that were merged with others before that step stay. */
static void cut_chunk(struct chunk *chunk, int64_t step)
{
    struct series_point p, last = {.last_step = step - 1};
    size_t begin = 0, last_begin = 0;

    for (size_t at = 0; chunk_next(chunk, &at, &p) && p.step < step; begin = at) {
        last_begin = begin;
        last = p;
    }
    chunk->size = begin;
    if (last.last_step < step)
        return;
    last.last_step = step - 1;
    chunk->size = last_begin;
    chunk_add(chunk, &last);
}

/* Drops the points from a step on, and finds the figures of the others. */
static int series_cut(struct store *store, struct series_row *row, int64_t step, struct error *err)
{
    struct series_row left;

    if (store_exec(store, err, "DELETE FROM member_point WHERE series = ?1 AND step >= ?2", "ii", row->id, step) < 0)
        return -1;
    cut_chunk(&row->newest, step);
    if (row->newest.size == 0 && take_last_chunk(store, row, err) < 0)
        return -1;
    cut_chunk(&row->newest, step);
    left = *row;
    left.points = left.not_finite = left.entries = 0;
    left.area = 0;
    if (store_series_each_point(store, row, INT64_MIN, INT64_MAX, INT64_MAX, retake_point, &left, err) < 0)
        return -1;
    left.width = left.entries > 0 ? left.width : 1;
    *row = left;
    return 0;
}

/* Merges each two neighbours. */
static int series_thin(struct store *store, struct series_row *row, struct error *err)
{
    struct points_heap heap;
    int rc = gather_all(store, row, &heap, err);
    int64_t n = 0;

    for (int64_t i = 0; i < heap.n; i += 2) {
        heap.points[n] = heap.points[i];
        if (i + 1 < heap.n)
            series_point_merge(&heap.points[n], &heap.points[i + 1]);
        n++;
    }
    row->width *= 2;
    row->entries = 0;
    row->newest.size = 0;
    if (rc == 0)
        rc = store_exec(store, err, "DELETE FROM member_point WHERE series = ?1", "i", row->id);
    for (int64_t i = 0; rc == 0 && i < n; i++)
        rc = series_push(store, row, &heap.points[i], err);
    free(heap.points);
    return rc;
}

/* Finds the last entry. Returns whether it has room for points of the series' width. */
static bool is_unfilled(const struct series_row *row, size_t *begin, struct series_point *last)
{
    size_t at = *begin = chunk_last(&row->newest);

    return chunk_next(&row->newest, &at, last) && last->count < row->width;
}

int store_series_add(struct store *store, struct series_row *row, const struct series_point *point, int64_t keep,
                     struct error *err)
{
    struct series_point last;
    size_t begin;

    row->changed = true;
    if (row->points > 0 && point->step <= row->step && series_cut(store, row, point->step, err) < 0)
        return -1;
    series_take_point(row, point);
    if (row->width == 1 || !is_unfilled(row, &begin, &last)) {
        if (series_push(store, row, point, err) < 0)
            return -1;
        return row->entries > keep ? series_thin(store, row, err) : 0;
    }
    series_point_merge(&last, point);
    row->newest.size = begin;
    row->entries--;
    return series_push(store, row, &last, err);
}

int store_series_save(struct store *store, struct series_row *row, struct error *err)
{
    if (!row->changed)
        return 0;
    row->changed = false;
    return store_exec(
        store, err,
        "UPDATE member_series SET attempt = ?2, step = ?3, time = ?4, first_time = ?5, last = ?6, least = "
        "?7, greatest = ?8, area = ?9, points = ?10, not_finite = ?11, width = ?12, entries = ?13, "
        "file_attempt = ?14, file_read = ?15, newest = ?16 WHERE id = ?1",
        "iiiiiddddiiiiiix", row->id, row->attempt, row->step, row->time_ms, row->first_time_ms, row->last, row->min,
        row->max, row->area, row->points, row->not_finite, row->width, row->entries, row->file_attempt, row->file_read,
        (const char *)row->newest.bytes, row->newest.size);
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

/* Entries that are wanted of a series, by step. */
struct points_reading {
    int64_t after, to, left;
    int (*each)(void *arg, const struct series_point *point);
    void *arg;
    bool over; /* no others are */
};

static int tell_chunk(void *arg, const struct chunk *chunk)
{
    struct points_reading *r = arg;
    struct series_point p;

    for (size_t at = 0; !r->over && chunk_next(chunk, &at, &p);)
        r->over = p.step > r->after && (p.step > r->to || r->left-- <= 0 || r->each(r->arg, &p));
    return r->over;
}

static void read_points(sqlite3_stmt *stmt, struct chunk *chunk)
{
    read_chunk(stmt, 0, chunk);
}

/* A chunk that begins before the steps that are wanted may have some of them. */
int store_series_each_point(struct store *store, const struct series_row *row, int64_t after, int64_t to, int64_t limit,
                            int (*each)(void *arg, const struct series_point *point), void *arg, struct error *err)
{
    struct points_reading r = {after, to, limit, each, arg, false};
    struct chunk chunk;
    int rc = store_each_row(
        store,
        store_query(store, err,
                    "SELECT points FROM member_point WHERE series = ?1 AND step >= coalesce((SELECT step FROM "
                    "member_point WHERE series = ?1 AND step <= ?2 ORDER BY step DESC LIMIT 1), ?2) AND step <= ?3 "
                    "ORDER BY step",
                    "iii", row->id, after, to),
        read_points, &chunk, tell_chunk, &r, err);

    if (rc == 0)
        tell_chunk(&r, &row->newest);
    return rc;
}

/* Finds the last step up to `to` with which an entry of the chunk begins. Returns whether there is one. */
static bool find_last(const struct chunk *chunk, int64_t to, int64_t *last)
{
    struct series_point p;
    bool any = false;

    for (size_t at = 0; chunk_next(chunk, &at, &p) && p.step <= to; any = true)
        *last = p.step;
    return any;
}

struct last_search {
    int64_t to, *last;
};

static int note_last(void *arg, const struct chunk *chunk)
{
    const struct last_search *search = arg;

    find_last(chunk, search->to, search->last);
    return 1;
}

static int note_first(void *arg, const struct series_point *point)
{
    *(int64_t *)arg = point->step;
    return 1;
}

int store_series_bounds(struct store *store, const struct series_row *row, int64_t from, int64_t to, int64_t *first,
                        int64_t *last, struct error *err)
{
    struct last_search search = {to, last};
    struct chunk chunk;

    *first = INT64_MAX;
    *last = INT64_MIN;
    if (store_series_each_point(store, row, from > INT64_MIN ? from - 1 : from, to, 1, note_first, first, err) < 0)
        return -1;
    if (!find_last(&row->newest, to, last) &&
        store_each_row(
            store,
            store_query(store, err,
                        "SELECT points FROM member_point WHERE series = ?1 AND step <= ?2 ORDER BY step DESC "
                        "LIMIT 1",
                        "ii", row->id, to),
            read_points, &chunk, note_last, &search, err) < 0)
        return -1;
    return *first <= *last;
}

int store_series_file_read(struct store *store, int64_t ensemble, int64_t index, int64_t attempt, int64_t *read,
                           struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT max(file_read) FROM member_series WHERE ensemble = ?1 AND idx = ?2 AND file_attempt = ?3",
        "iii", ensemble, index, attempt);

    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    *read = sqlite3_column_int64(stmt, 0);
    store_done(stmt);
    return 0;
}
