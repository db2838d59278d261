#include "daemon/store/generation.h"

#include "daemon/store/internal.h"

static void read_row(sqlite3_stmt *stmt, struct generation_row *row)
{
    row->number = sqlite3_column_int64(stmt, 0);
    row->ranks = sqlite3_column_int64(stmt, 1);
    row->started_ms = sqlite3_column_int64(stmt, 2);
    row->ended_ms = sqlite3_column_int64(stmt, 3);
    store_text(stmt, 4, row->end, sizeof row->end);
    store_text(stmt, 5, row->reason, sizeof row->reason);
    store_text(stmt, 6, row->resumed, sizeof row->resumed);
    row->resumed_step = sqlite3_column_int64(stmt, 7);
}

int store_generation_each(struct store *store, int64_t training, int64_t before, int limit,
                          int (*each)(void *arg, const struct generation_row *row), void *arg, struct error *err)
{
    struct generation_row row;

    return store_each_row(store,
                          store_query(store, err,
                                      "SELECT number, ranks, started, ended, end, reason, resumed, resumed_step "
                                      "FROM generation WHERE training = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3",
                                      "iii", training, before > 0 ? before : INT64_MAX, (int64_t)limit),
                          read_row, &row, each, arg, err);
}
