#include "daemon/store/moment.h"

#include "daemon/store/internal.h"

#define COLUMNS                                                                                                        \
    "time, generation, ranks, received, uniq, drawn, repeats, batches, population, unseen, capacity, room_wait, "      \
    "sample_wait "

int store_moment_put(struct store *store, int64_t training, const struct moment_row *row, struct error *err)
{
    return store_exec(store, err,
                      "INSERT OR REPLACE INTO moment (training, " COLUMNS ") "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                      "iiiiiiiiiiiidd", training, row->time_ms, row->generation, row->ranks, row->received, row->unique,
                      row->drawn, row->repeats, row->batches, row->population, row->unseen, row->capacity,
                      row->room_wait, row->sample_wait);
}

static void moment_read(sqlite3_stmt *stmt, struct moment_row *row)
{
    *row = (struct moment_row){
        .time_ms = sqlite3_column_int64(stmt, 0),
        .generation = sqlite3_column_int64(stmt, 1),
        .ranks = sqlite3_column_int64(stmt, 2),
        .received = sqlite3_column_int64(stmt, 3),
        .unique = sqlite3_column_int64(stmt, 4),
        .drawn = sqlite3_column_int64(stmt, 5),
        .repeats = sqlite3_column_int64(stmt, 6),
        .batches = sqlite3_column_int64(stmt, 7),
        .population = sqlite3_column_int64(stmt, 8),
        .unseen = sqlite3_column_int64(stmt, 9),
        .capacity = sqlite3_column_int64(stmt, 10),
        .room_wait = sqlite3_column_double(stmt, 11),
        .sample_wait = sqlite3_column_double(stmt, 12),
    };
}

int store_moment_last(struct store *store, int64_t training, struct moment_row *row, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT " COLUMNS "FROM moment WHERE training = ?1 ORDER BY time DESC LIMIT 1", "i", training);
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc != 1)
        return rc;
    moment_read(stmt, row);
    return store_row_taken(store, stmt, err);
}

int store_moment_each(struct store *store, int64_t training, int (*each)(void *arg, const struct moment_row *row),
                      void *arg, struct error *err)
{
    struct moment_row row;

    return store_each_row(
        store,
        store_query(store, err, "SELECT " COLUMNS "FROM moment WHERE training = ?1 ORDER BY time", "i", training),
        moment_read, &row, each, arg, err);
}
