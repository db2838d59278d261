#include "daemon/store/training.h"

#include <math.h>
#include <stdio.h>

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

/* Who is told of names, each with a number: one of the two. */
struct listener {
    int (*points)(void *arg, const char *name, int64_t points);
    int (*last)(void *arg, const char *name, double value);
    void *arg;
};

static int each_named(struct store *store, sqlite3_stmt *stmt, const struct listener *to, struct error *err)
{
    char name[256];
    int rc = stmt != NULL ? 1 : -1;

    while (rc == 1 && (rc = store_row(store, stmt, err)) == 1) {
        store_text(stmt, 0, name, sizeof name);
        if (store_read_whole(store, stmt, err) < 0)
            rc = -1;
        else if (to->points != NULL ? to->points(to->arg, name, sqlite3_column_int64(stmt, 1))
                                    : to->last(to->arg, name, value_of(stmt, 1)))
            rc = 0;
        if (rc != 1)
            store_done(stmt);
    }
    return rc;
}

int store_metric_each_name(struct store *store, int64_t training,
                           int (*each)(void *arg, const char *name, int64_t points), void *arg, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT name, count(*) FROM metric WHERE training = ?1 GROUP BY name ORDER BY name", "i", training);

    return each_named(store, stmt, &(struct listener){.points = each, .arg = arg}, err);
}

int store_metric_each(struct store *store, int64_t training, const char *name, int64_t stride,
                      int (*each)(void *arg, const struct metric_point *point), void *arg, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT step, time, rank, value FROM metric WHERE training = ?1 AND name = ?2 "
                                     "ORDER BY step, rank",
                                     "it", training, name);
    struct metric_point point;
    int64_t n = 0;
    int rc;

    if (stmt == NULL)
        return -1;
    if (stride < 1)
        stride = 1;
    while ((rc = store_row(store, stmt, err)) == 1) {
        point = (struct metric_point){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                                      sqlite3_column_int64(stmt, 2), value_of(stmt, 3)};
        if (n++ % stride == 0 && each(arg, &point)) {
            store_done(stmt);
            return 0;
        }
    }
    if (rc == 0 && n > 0 && (n - 1) % stride != 0)
        each(arg, &point);
    return rc;
}

int store_metric_each_last(struct store *store, int64_t training, int (*each)(void *arg, const char *name, double value),
                           void *arg, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err,
        "WITH RECURSIVE names (name) AS (SELECT min(name) FROM metric WHERE training = ?1 UNION ALL "
        "SELECT (SELECT min(m.name) FROM metric m WHERE m.training = ?1 AND m.name > names.name) FROM names "
        "WHERE names.name IS NOT NULL) "
        "SELECT name, (SELECT m.value FROM metric m WHERE m.training = ?1 AND m.name = names.name "
        "ORDER BY m.step DESC, m.rank DESC LIMIT 1) FROM names WHERE name IS NOT NULL",
        "i", training);

    return each_named(store, stmt, &(struct listener){.last = each, .arg = arg}, err);
}
