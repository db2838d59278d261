#include "daemon/store/member_checkpoint.h"

#define COLUMNS "home, idx, number, ensemble, attempt, path, coalesce(step, -1), size, digest, time"

static void member_checkpoint_read(sqlite3_stmt *stmt, struct member_checkpoint_row *row)
{
    row->home = sqlite3_column_int64(stmt, 0);
    row->index = sqlite3_column_int64(stmt, 1);
    row->number = sqlite3_column_int64(stmt, 2);
    row->ensemble = sqlite3_column_int64(stmt, 3);
    row->attempt = sqlite3_column_int64(stmt, 4);
    store_text(stmt, 5, row->path, sizeof row->path);
    row->step = sqlite3_column_int64(stmt, 6);
    row->size = sqlite3_column_int64(stmt, 7);
    store_text(stmt, 8, row->digest, sizeof row->digest);
    row->time_ms = sqlite3_column_int64(stmt, 9);
}

int store_member_checkpoint_put(struct store *store, const struct member_checkpoint_row *row, struct error *err)
{
    return store_exec(
        store, err,
        "INSERT OR REPLACE INTO member_checkpoint (home, idx, number, ensemble, attempt, path, step, size, digest, "
        "time) VALUES (?1, ?2, ?3, ?4, ?5, ?6, nullif(?7, -1), ?8, ?9, ?10)",
        "iiiiitiiti", row->home, row->index, row->number, row->ensemble, row->attempt, row->path, row->step, row->size,
        row->digest, row->time_ms);
}

int store_member_checkpoint_clear(struct store *store, int64_t home, int64_t index, struct error *err)
{
    return store_exec(store, err, "DELETE FROM member_checkpoint WHERE home = ?1 AND idx = ?2", "ii", home, index);
}

int store_member_checkpoint_newest(struct store *store, int64_t home, int64_t index, struct member_checkpoint_row *row,
                                   struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT " COLUMNS " FROM member_checkpoint WHERE home = ?1 AND idx = ?2 "
                                     "ORDER BY number DESC LIMIT 1",
                                     "ii", home, index);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        member_checkpoint_read(stmt, row);
        rc = store_row_taken(store, stmt, err);
    }
    return rc;
}

int store_member_checkpoint_each(struct store *store, const struct member_checkpoint_place *from, int64_t home,
                                 int64_t index, int limit,
                                 int (*each)(void *arg, const struct member_checkpoint_row *row), void *arg,
                                 struct error *err)
{
    struct member_checkpoint_row row;
    sqlite3_stmt *stmt;

    if (home == 0)
        stmt = store_query(store, err,
                           "SELECT " COLUMNS " FROM member_checkpoint WHERE (home, idx, number) >= (?1, ?2, ?3) "
                           "ORDER BY home, idx, number LIMIT ?4",
                           "iiii", from->home, from->index, from->number, (int64_t)limit);
    else if (index < 0)
        stmt = store_query(store, err,
                           "SELECT " COLUMNS " FROM member_checkpoint WHERE home = ?1 AND (idx, number) >= (?2, ?3) "
                           "ORDER BY idx, number LIMIT ?4",
                           "iiii", home, from->index, from->number, (int64_t)limit);
    else
        stmt = store_query(store, err,
                           "SELECT " COLUMNS " FROM member_checkpoint WHERE home = ?1 AND idx = ?2 AND number >= ?3 "
                           "ORDER BY number LIMIT ?4",
                           "iiii", home, index, from->number, (int64_t)limit);
    return store_each_row(store, stmt, member_checkpoint_read, &row, each, arg, err);
}
