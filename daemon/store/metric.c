#include "daemon/store/training.h"

#include <math.h>
#include <stdlib.h>

int store_metric_put(struct store *store, int64_t training, const char *name, const struct metric_point *point,
                     struct error *err)
{
    return store_exec(store, err,
                      "INSERT OR REPLACE INTO metric (training, name, step, rank, time, value) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                      "itiiid", training, name, point->step, point->rank, point->time_ms, point->value);
}

static double value_of(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, column);
}

/* Names, and a value of each or none: who is told of them is one of the two. */
struct listener {
    int (*name)(void *arg, const char *name);
    int (*last)(void *arg, const char *name, double value);
    void *arg;
};

static int each_named(struct store *store, sqlite3_stmt *stmt, const struct listener *to, struct error *err)
{
    int rc = stmt != NULL ? 1 : -1;

    while (rc == 1 && (rc = store_row(store, stmt, err)) == 1) {
        char *name = store_text_copy(stmt, 0);

        if (store_read_whole(store, stmt, err) < 0)
            rc = -1;
        else if (to->name != NULL ? to->name(to->arg, name) : to->last(to->arg, name, value_of(stmt, 1)))
            rc = 0;
        free(name);
        if (rc != 1)
            store_done(stmt);
    }
    return rc;
}

/* From one name the next is found by the index, without what lies between. */
#define NAMES                                                                                                          \
    "WITH RECURSIVE names (name) AS (SELECT min(name) FROM metric WHERE training = ?1 AND name >= ?2 UNION ALL "       \
    "SELECT (SELECT min(m.name) FROM metric m WHERE m.training = ?1 AND m.name > names.name) FROM names "             \
    "WHERE names.name IS NOT NULL) "

int store_metric_each_name(struct store *store, int64_t training, const char *from,
                           int (*each)(void *arg, const char *name), void *arg, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err, NAMES "SELECT name FROM names WHERE name IS NOT NULL", "it", training, from);

    return each_named(store, stmt, &(struct listener){.name = each, .arg = arg}, err);
}

int store_metric_each_last(struct store *store, int64_t training, int (*each)(void *arg, const char *name, double value),
                           void *arg, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err,
        NAMES "SELECT name, (SELECT m.value FROM metric m WHERE m.training = ?1 AND m.name = names.name "
              "ORDER BY m.step DESC, m.rank DESC LIMIT 1) FROM names WHERE name IS NOT NULL",
        "it", training, "");

    return each_named(store, stmt, &(struct listener){.last = each, .arg = arg}, err);
}

int store_metric_count(struct store *store, int64_t training, const char *name, int64_t limit, int64_t *n,
                       struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err,
                    "SELECT count(*) FROM (SELECT 1 FROM metric WHERE training = ?1 AND name = ?2 LIMIT ?3)", "iti",
                    training, name, limit);

    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    *n = sqlite3_column_int64(stmt, 0);
    store_done(stmt);
    return 0;
}

static void read_point(sqlite3_stmt *stmt, struct metric_point *point)
{
    *point = (struct metric_point){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                                   sqlite3_column_int64(stmt, 2), value_of(stmt, 3)};
}

/* Points of a selection that begins anew, now and then, with the point that was the last: each once. */
struct selection {
    int (*each)(void *arg, const struct metric_point *point);
    void *arg;
    struct metric_point last;
    int64_t n;
    bool over;
};

static int select_point(void *arg, const struct metric_point *point)
{
    struct selection *s = arg;

    if (s->n > 0 && point->step == s->last.step && point->rank == s->last.rank)
        return 0;
    s->last = *point;
    s->n++;
    s->over = s->each(s->arg, point) != 0;
    return s->over;
}

static int each_point(struct store *store, sqlite3_stmt *stmt, struct selection *s, struct error *err)
{
    struct metric_point point;

    return store_each_row(store, stmt, read_point, &point, select_point, s, err);
}

#define POINTS "SELECT step, time, rank, value FROM metric WHERE training = ?1 AND name = ?2 ORDER BY "

int store_metric_each(struct store *store, int64_t training, const char *name, int64_t points,
                      int (*each)(void *arg, const struct metric_point *point), void *arg, struct error *err)
{
    struct selection s = {.each = each, .arg = arg};

    return each_point(store, store_query(store, err, POINTS "step, rank LIMIT ?3", "iti", training, name, points), &s,
                      err);
}

/* One point of the series; 1, or 0 where it has none. */
static int end_of(struct store *store, sqlite3_stmt *stmt, struct metric_point *point, struct error *err)
{
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc != 1)
        return rc;
    read_point(stmt, point);
    return store_row_taken(store, stmt, err);
}

int store_metric_each_spread(struct store *store, int64_t training, const char *name, int64_t points,
                             int (*each)(void *arg, const struct metric_point *point), void *arg, struct error *err)
{
    struct selection s = {.each = each, .arg = arg};
    struct metric_point first, last;
    int64_t parts = points > 2 ? points - 1 : 1;
    uint64_t span;
    int rc = end_of(store, store_query(store, err, POINTS "step, rank LIMIT 1", "it", training, name), &first, err);

    if (rc == 1)
        rc = end_of(store, store_query(store, err, POINTS "step DESC, rank DESC LIMIT 1", "it", training, name), &last, err);
    if (rc != 1)
        return rc;
    span = (uint64_t)last.step - (uint64_t)first.step;
    if (parts > 1 && /* what is above the places is found by the index: it costs the points there, not those between */
        each_point(store,
                   store_query(store, err,
                               "WITH RECURSIVE place (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM place WHERE n + 1 < ?6) "
                               "SELECT m.step, m.time, m.rank, m.value FROM place CROSS JOIN metric m "
                               "WHERE m.training = ?1 AND m.name = ?2 AND (m.step, m.rank) = "
                               "(SELECT f.step, f.rank FROM metric f WHERE f.training = ?1 AND f.name = ?2 AND "
                               "f.step >= ?3 + place.n * ?4 + place.n * ?5 / ?6 ORDER BY f.step, f.rank LIMIT 1)",
                               "itiiii", training, name, first.step, (int64_t)(span / (uint64_t)parts),
                               (int64_t)(span % (uint64_t)parts), parts),
                   &s, err) < 0)
        return -1;
    if (parts == 1)
        select_point(&s, &first);
    if (!s.over)
        select_point(&s, &last);
    return 0;
}
