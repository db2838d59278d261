#include "daemon/store/parameter_rows.h"

#include <stdlib.h>

int store_parameter_rows_insert(struct store *store, int64_t ensemble, const char *name, int64_t count,
                                const char *columns, struct error *err)
{
    return store_exec(store, err, "INSERT INTO parameter_rows (ensemble, name, count, columns) VALUES (?1, ?2, ?3, ?4)",
                      "itit", ensemble, name, count, columns);
}

int store_parameter_rows_get(struct store *store, int64_t ensemble, struct parameter_rows_row *row, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT name, count, columns FROM parameter_rows WHERE ensemble = (SELECT "
                                     "coalesce(root, id) FROM ensemble WHERE id = ?1)",
                                     "i", ensemble);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        store_text(stmt, 0, row->name, sizeof row->name);
        row->count = sqlite3_column_int64(stmt, 1);
        row->columns = store_text_copy(stmt, 2);
        rc = store_row_taken(store, stmt, err);
        if (rc < 0)
            free(row->columns);
    }
    return rc;
}

int store_parameter_rows_known(struct store *store, const char *name, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT 1 FROM parameter_rows WHERE name = ?1", "t", name);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1)
        store_done(stmt);
    return rc;
}
