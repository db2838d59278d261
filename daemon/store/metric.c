#include "daemon/store/training.h"

#include <math.h>
#include <stdlib.h>

int store_metric_put(struct store *store, int64_t training, const char *name, const struct metric_point *point,
                     struct error *err)
{
    return store_exec(store, err,
                      "INSERT INTO metric (training, name, step, rank, time, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
                      "ON CONFLICT DO UPDATE SET time = excluded.time, value = excluded.value",
                      "itiiid", training, name, point->step, point->rank, point->time_ms, point->value);
}

static double metric_value(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, column);
}

/* A callback for names, or one for names with figures; the other one is NULL. */
struct metric_listener {
    int (*name)(void *arg, const char *name);
    int (*figures)(void *arg, const char *name, const struct metric_figures *figures);
    void *arg;
};

static int listener_tell(const struct metric_listener *to, sqlite3_stmt *stmt, const char *name)
{
    struct metric_figures figures;

    if (to->name != NULL)
        return to->name(to->arg, name);
    figures = (struct metric_figures){
        .last = metric_value(stmt, 1), .min = metric_value(stmt, 2), .max = metric_value(stmt, 3)};
    return to->figures(to->arg, name, &figures);
}

static int each_named(struct store *store, sqlite3_stmt *stmt, const struct metric_listener *to, struct error *err)
{
    int rc = stmt != NULL ? 1 : -1;

    while (rc == 1 && (rc = store_row(store, stmt, err)) == 1) {
        char *name = store_text_copy(stmt, 0);

        if (store_read_whole(store, stmt, err) < 0)
            rc = -1;
        else if (listener_tell(to, stmt, name))
            rc = 0;
        free(name);
        if (rc != 1)
            store_done(stmt);
    }
    return rc;
}

int store_metric_each_name(struct store *store, int64_t training, const char *from,
                           int (*each)(void *arg, const char *name), void *arg, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT name FROM series WHERE training = ?1 AND name >= ?2 ORDER BY name", "it", training, from);

    return each_named(store, stmt, &(struct metric_listener){.name = each, .arg = arg}, err);
}

int store_metric_each_series(struct store *store, int64_t training,
                             int (*each)(void *arg, const char *name, const struct metric_figures *figures), void *arg,
                             struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT name, last, least, greatest FROM series WHERE training = ?1 ORDER BY name", "i", training);

    return each_named(store, stmt, &(struct metric_listener){.figures = each, .arg = arg}, err);
}

static void read_point(sqlite3_stmt *stmt, struct metric_point *point)
{
    *point = (struct metric_point){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                                   sqlite3_column_int64(stmt, 2), metric_value(stmt, 3)};
}

int store_metric_each(struct store *store, int64_t training, const char *name, int64_t step, int64_t rank, int64_t to,
                      int64_t limit, int (*each)(void *arg, const struct metric_point *point), void *arg,
                      struct error *err)
{
    struct metric_point point;

    return store_each_row(
        store,
        store_query(store, err,
                    "SELECT step, time, rank, value FROM metric WHERE training = ?1 AND name = ?2 AND (step, rank) > "
                    "(?3, ?4) AND step <= ?5 ORDER BY step, rank LIMIT ?6",
                    "itiiii", training, name, step, rank, to, limit),
        read_point, &point, each, arg, err);
}

int store_metric_bounds(struct store *store, int64_t training, const char *name, int64_t from, int64_t to,
                        int64_t *first, int64_t *last, struct error *err)
{
    /* two look-ups in the index; min() and max() in one query would read all points */
    sqlite3_stmt *stmt = store_query(
        store, err,
        "SELECT (SELECT step FROM metric WHERE training = ?1 AND name = ?2 AND step >= ?3 ORDER BY step LIMIT 1), "
        "(SELECT step FROM metric WHERE training = ?1 AND name = ?2 AND step <= ?4 ORDER BY step DESC LIMIT 1)",
        "itii", training, name, from, to);
    bool any;

    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    *first = sqlite3_column_int64(stmt, 0);
    *last = sqlite3_column_int64(stmt, 1);
    any = sqlite3_column_type(stmt, 0) != SQLITE_NULL && sqlite3_column_type(stmt, 1) != SQLITE_NULL && *first <= *last;
    store_done(stmt);
    return any;
}
