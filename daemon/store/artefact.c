#include "daemon/store/artefact.h"

static void artefact_read(sqlite3_stmt *stmt, struct artefact_row *row)
{
    row->ensemble = sqlite3_column_int64(stmt, 0);
    row->index = sqlite3_column_int64(stmt, 1);
    store_text(stmt, 2, row->path, sizeof row->path);
    row->size = sqlite3_column_int64(stmt, 3);
    store_text(stmt, 4, row->sha256, sizeof row->sha256);
    row->attempt = sqlite3_column_int64(stmt, 5);
}

int store_artefact_put(struct store *store, const struct artefact_row *row, struct error *err)
{
    return store_exec(store, err,
                      "INSERT OR REPLACE INTO artefact (ensemble, idx, path, size, sha256, attempt) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                      "iititi", row->ensemble, row->index, row->path, row->size, row->sha256, row->attempt);
}

int store_artefact_clear(struct store *store, int64_t ensemble, int64_t index, struct error *err)
{
    return store_exec(store, err, "DELETE FROM artefact WHERE ensemble = ?1 AND idx = ?2", "ii", ensemble, index);
}

int store_artefact_each(struct store *store, int64_t ensemble, int64_t index,
                        int (*each)(void *arg, const struct artefact_row *row), void *arg, struct error *err)
{
    struct artefact_row row;
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT ensemble, idx, path, size, sha256, attempt FROM artefact "
                                     "WHERE ensemble = ?1 AND idx = ?2 ORDER BY path",
                                     "ii", ensemble, index);

    return store_each_row(store, stmt, artefact_read, &row, each, arg, err);
}
