#include "daemon/store/rung.h"

#include "daemon/store/internal.h"

#include <math.h>

#define COLUMNS "ensemble, number, rung, idx, attempt, step, value, loss, promoted, threshold, best"

static double arrival_value(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, column);
}

static void arrival_read(sqlite3_stmt *stmt, struct arrival_row *row)
{
    row->ensemble = sqlite3_column_int64(stmt, 0);
    row->number = sqlite3_column_int64(stmt, 1);
    row->rung = sqlite3_column_int64(stmt, 2);
    row->index = sqlite3_column_int64(stmt, 3);
    row->attempt = sqlite3_column_int64(stmt, 4);
    row->step = sqlite3_column_int64(stmt, 5);
    row->value = arrival_value(stmt, 6);
    row->loss = sqlite3_column_double(stmt, 7);
    row->promoted = sqlite3_column_int64(stmt, 8);
    row->threshold = arrival_value(stmt, 9);
    row->best = arrival_value(stmt, 10);
}

static int get_arrival(struct store *store, sqlite3_stmt *stmt, struct arrival_row *row, struct error *err)
{
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc != 1)
        return rc;
    arrival_read(stmt, row);
    return store_row_taken(store, stmt, err);
}

static int get_number(struct store *store, sqlite3_stmt *stmt, int64_t *number, struct error *err)
{
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    *number = rc == 1 ? sqlite3_column_int64(stmt, 0) : 0;
    if (rc == 1)
        store_done(stmt);
    return rc;
}

static bool is_better(const struct arrival_row *a, const struct arrival_row *b)
{
    return a->loss < b->loss || (a->loss == b->loss && a->number < b->number);
}

/* Reads the cut of a rung: 1, 0 if there is none yet, -1. */
static int get_cut(struct store *store, int64_t ensemble, int64_t rung, struct arrival_row *cut, struct error *err)
{
    return get_arrival(store,
                       store_query(store, err,
                                   "SELECT " COLUMNS
                                   " FROM arrival WHERE ensemble = ?1 AND number = (SELECT cut FROM rung "
                                   "WHERE ensemble = ?1 AND number = ?2)",
                                   "ii", ensemble, rung),
                       cut, err);
}

/* Finds the arrival before or after one, by their losses. The result stays 0 if there is none. */
static int neighbour_of_arrival(struct store *store, const struct arrival_row *of, bool after, int64_t *number,
                                struct error *err)
{
    sqlite3_stmt *stmt =
        after ? store_query(store, err,
                            "SELECT number FROM arrival INDEXED BY arrival_by_loss WHERE ensemble = ?1 AND rung = ?2 "
                            "AND (loss, number) > (?3, ?4) ORDER BY loss, number LIMIT 1",
                            "iidi", of->ensemble, of->rung, of->loss, of->number)
              : store_query(store, err,
                            "SELECT number FROM arrival INDEXED BY arrival_by_loss WHERE ensemble = ?1 AND rung = ?2 "
                            "AND (loss, number) < (?3, ?4) ORDER BY loss DESC, number DESC LIMIT 1",
                            "iidi", of->ensemble, of->rung, of->loss, of->number);

    return get_number(store, stmt, number, err) < 0 ? -1 : 0;
}

static int first_arrival(struct store *store, const struct arrival_row *row, int64_t *number, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT number FROM arrival INDEXED BY arrival_by_loss WHERE ensemble = ?1 AND "
                                     "rung = ?2 ORDER BY loss, number LIMIT 1",
                                     "ii", row->ensemble, row->rung);

    return get_number(store, stmt, number, err) < 0 ? -1 : 0;
}

/* Moves the cut after an arrival, the n-th of its rung: there are n / reduction arrivals up to it. */
static int move_cut(struct store *store, const struct arrival_row *row, int64_t n, int64_t reduction, struct error *err)
{
    bool grows = n % reduction == 0;
    struct arrival_row cut;
    int64_t number = 0;
    int rc = get_cut(store, row->ensemble, row->rung, &cut, err);

    if (rc < 0)
        return -1;
    if (rc == 0 && grows)
        rc = first_arrival(store, row, &number, err);
    else if (rc == 1 && is_better(row, &cut) != grows)
        rc = neighbour_of_arrival(store, &cut, grows, &number, err);
    else
        return 0;
    if (rc < 0 || number == 0)
        return rc;
    return store_exec(store, err, "UPDATE rung SET cut = ?3 WHERE ensemble = ?1 AND number = ?2", "iii", row->ensemble,
                      row->rung, number);
}

static int insert_arrival(struct store *store, struct arrival_row *row, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT coalesce(max(number), 0) + 1 FROM arrival WHERE ensemble = ?1",
                                     "i", row->ensemble);

    if (get_number(store, stmt, &row->number, err) != 1 ||
        store_exec(store, err,
                   "INSERT INTO arrival (ensemble, number, rung, idx, attempt, step, value, loss) VALUES (?1, ?2, ?3, "
                   "?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
                   "iiiiiidd", row->ensemble, row->number, row->rung, row->index, row->attempt, row->step,
                   isfinite(row->value) ? row->value : NAN, row->loss) < 0)
        return -1;
    return store_changes(store) == 1;
}

int store_arrival_add(struct store *store, struct arrival_row *row, int64_t reduction, struct error *err)
{
    int64_t n;
    int rc = insert_arrival(store, row, err);

    if (rc != 1)
        return rc;
    if (store_exec(store, err,
                   "INSERT INTO rung (ensemble, number, arrived) VALUES (?1, ?2, 1) ON CONFLICT (ensemble, number) DO "
                   "UPDATE SET arrived = arrived + 1",
                   "ii", row->ensemble, row->rung) < 0 ||
        get_number(store,
                   store_query(store, err, "SELECT arrived FROM rung WHERE ensemble = ?1 AND number = ?2", "ii",
                               row->ensemble, row->rung),
                   &n, err) != 1 ||
        move_cut(store, row, n, reduction, err) < 0)
        return -1;
    return 1;
}

static int get_best(struct store *store, int64_t ensemble, int64_t rung, struct arrival_row *best, struct error *err)
{
    return get_arrival(store,
                       store_query(store, err,
                                   "SELECT " COLUMNS
                                   " FROM arrival INDEXED BY arrival_by_loss WHERE ensemble = ?1 AND rung "
                                   "= ?2 ORDER BY loss, number LIMIT 1",
                                   "ii", ensemble, rung),
                       best, err);
}

int store_arrival_is_good(struct store *store, const struct arrival_row *row, struct error *err)
{
    struct arrival_row cut;
    int rc = get_cut(store, row->ensemble, row->rung, &cut, err);

    return rc == 1 ? isfinite(row->loss) && !is_better(&cut, row) : rc;
}

int store_arrival_promotable(struct store *store, int64_t ensemble, int64_t rung, struct arrival_row *row,
                             struct error *err)
{
    int rc =
        get_arrival(store,
                    store_query(store, err,
                                "SELECT " COLUMNS " FROM arrival INDEXED BY arrival_waiting WHERE ensemble = ?1 AND "
                                "rung = ?2 AND promoted = 0 ORDER BY loss, number LIMIT 1",
                                "ii", ensemble, rung),
                    row, err);

    return rc == 1 ? store_arrival_is_good(store, row, err) : rc;
}

int store_arrival_promote(struct store *store, const struct arrival_row *row, int64_t by, struct error *err)
{
    return store_exec(store, err,
                      "UPDATE arrival SET promoted = ?3 WHERE ensemble = ?1 AND number = ?2 AND promoted = 0", "iii",
                      row->ensemble, row->number, by);
}

int store_arrival_leave(struct store *store, int64_t ensemble, int64_t index, int64_t how, struct error *err)
{
    return store_exec(
        store, err,
        "UPDATE arrival SET promoted = ?3 WHERE ensemble = ?1 AND (promoted = 0 OR promoted = -2) AND "
        "number = (SELECT number FROM arrival WHERE ensemble = ?1 AND idx = ?2 ORDER BY rung DESC LIMIT 1)",
        "iii", ensemble, index, how);
}

int store_arrival_bar(struct store *store, int64_t ensemble, int64_t rung, struct arrival_row *row, struct error *err)
{
    int rc = get_cut(store, ensemble, rung, row, err);

    return rc == 0 ? get_best(store, ensemble, rung, row, err) : rc;
}

/* There are n / 2 arrivals up to the cut, so that the one behind it is in the middle, or else both are. */
int store_arrival_median(struct store *store, int64_t ensemble, int64_t rung, int64_t *n, double *loss,
                         struct error *err)
{
    struct arrival_row cut, next;
    int64_t number = 0;
    int rc = get_number(
        store,
        store_query(store, err, "SELECT arrived FROM rung WHERE ensemble = ?1 AND number = ?2", "ii", ensemble, rung),
        n, err);

    if (rc == 1)
        rc = store_arrival_bar(store, ensemble, rung, &cut, err);
    if (rc != 1)
        return rc;
    *loss = cut.loss;
    if (*n == 1)
        return 1;
    if (neighbour_of_arrival(store, &cut, true, &number, err) < 0 ||
        get_arrival(store,
                    store_query(store, err, "SELECT " COLUMNS " FROM arrival WHERE ensemble = ?1 AND number = ?2", "ii",
                                ensemble, number),
                    &next, err) != 1)
        return -1;
    *loss = *n % 2 == 0 ? (cut.loss + next.loss) / 2 : next.loss;
    return 1;
}

int store_arrival_decide(struct store *store, const struct arrival_row *row, struct error *err)
{
    return store_exec(
        store, err, "UPDATE arrival SET promoted = ?3, threshold = ?4, best = ?5 WHERE ensemble = ?1 AND number = ?2",
        "iiidd", row->ensemble, row->number, row->promoted, isfinite(row->threshold) ? row->threshold : NAN, row->best);
}

int store_arrival_next_rung(struct store *store, int64_t ensemble, int64_t index, int64_t *rung, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT coalesce(max(rung), 0) + 1 FROM arrival WHERE ensemble = ?1 AND idx = ?2 AND promoted <> 0",
        "ii", ensemble, index);

    return get_number(store, stmt, rung, err) == 1 ? 0 : -1;
}

int store_arrival_last(struct store *store, int64_t ensemble, int64_t index, struct arrival_row *row, struct error *err)
{
    return get_arrival(store,
                       store_query(store, err,
                                   "SELECT " COLUMNS
                                   " FROM arrival WHERE ensemble = ?1 AND idx = ?2 ORDER BY rung DESC "
                                   "LIMIT 1",
                                   "ii", ensemble, index),
                       row, err);
}

int store_arrival_each(struct store *store, int64_t ensemble, int64_t after, int limit,
                       int (*each)(void *arg, const struct arrival_row *row), void *arg, struct error *err)
{
    struct arrival_row row;

    return store_each_row(store,
                          store_query(store, err,
                                      "SELECT " COLUMNS " FROM arrival WHERE ensemble = ?1 AND number > ?2 ORDER BY "
                                      "number LIMIT ?3",
                                      "iii", ensemble, after, (int64_t)limit),
                          arrival_read, &row, each, arg, err);
}

int store_rung_highest(struct store *store, int64_t ensemble, int64_t *rung, struct error *err)
{
    return get_number(
               store,
               store_query(store, err, "SELECT coalesce(max(number), 0) FROM rung WHERE ensemble = ?1", "i", ensemble),
               rung, err) == 1
               ? 0
               : -1;
}

int store_rung_get(struct store *store, int64_t ensemble, int64_t number, struct rung_row *row, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err,
        "SELECT coalesce(max(arrived), 0), coalesce(max(promoted), 0), coalesce(max(cancelled), 0), "
        "(SELECT count(*) FROM attempt INDEXED BY attempt_open WHERE ensemble = ?1 AND outcome IS NULL AND rung = ?2) "
        "FROM rung WHERE ensemble = ?1 AND number = ?2",
        "ii", ensemble, number);

    *row = (struct rung_row){.number = number};
    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    row->arrived = sqlite3_column_int64(stmt, 0);
    row->promoted = sqlite3_column_int64(stmt, 1);
    row->cancelled = sqlite3_column_int64(stmt, 2);
    row->under_way = sqlite3_column_int64(stmt, 3);
    if (store_row_taken(store, stmt, err) < 0)
        return -1;
    return row->arrived > 0 && get_best(store, ensemble, number, &row->best, err) < 0 ? -1 : 0;
}
