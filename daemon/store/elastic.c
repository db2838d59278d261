#include "daemon/store/elastic.h"

#include "daemon/store/internal.h"

#define COLUMNS                                                                                                        \
    "width_by_hand, ranks_by_hand, width_way, ranks_way, ranks_last, settling, changed, until, reversals, reason "

int store_elastic_put(struct store *store, const struct elastic_row *row, struct error *err)
{
    return store_exec(store, err,
                      "INSERT OR REPLACE INTO elastic (ensemble, " COLUMNS ") "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                      "ibbiibbiiit", row->ensemble, (int)row->width_by_hand, (int)row->ranks_by_hand,
                      (int64_t)row->width_way, (int64_t)row->ranks_way, (int)row->ranks_last, (int)row->settling,
                      row->changed_ms, row->until_ms, row->reversals, row->reason[0] ? row->reason : NULL);
}

static enum elastic_way way_of_number(int64_t n)
{
    return n < 0 ? ELASTIC_DOWN : n > 0 ? ELASTIC_UP : ELASTIC_NEVER;
}

int store_elastic_get(struct store *store, int64_t ensemble, struct elastic_row *row, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT " COLUMNS "FROM elastic WHERE ensemble = ?1", "i", ensemble);
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    *row = (struct elastic_row){.ensemble = ensemble};
    if (rc != 1)
        return rc;
    row->width_by_hand = sqlite3_column_int(stmt, 0) != 0;
    row->ranks_by_hand = sqlite3_column_int(stmt, 1) != 0;
    row->width_way = way_of_number(sqlite3_column_int64(stmt, 2));
    row->ranks_way = way_of_number(sqlite3_column_int64(stmt, 3));
    row->ranks_last = sqlite3_column_int(stmt, 4) != 0;
    row->settling = sqlite3_column_int(stmt, 5) != 0;
    row->changed_ms = sqlite3_column_int64(stmt, 6);
    row->until_ms = sqlite3_column_int64(stmt, 7);
    row->reversals = sqlite3_column_int64(stmt, 8);
    store_text(stmt, 9, row->reason, sizeof row->reason);
    return store_row_taken(store, stmt, err);
}
