#include "daemon/store/cancellation.h"

int store_cancellation_put(struct store *store, int64_t ensemble, int64_t index, int64_t now_ms, struct error *err)
{
    return store_exec(store, err, "INSERT OR IGNORE INTO cancellation (ensemble, idx, time) VALUES (?1, ?2, ?3)", "iii",
                      ensemble, index, now_ms);
}

int store_cancellation_drop(struct store *store, int64_t ensemble, int64_t index, struct error *err)
{
    return store_exec(store, err, "DELETE FROM cancellation WHERE ensemble = ?1 AND idx = ?2", "ii", ensemble, index);
}

static int cancellation_is_there(struct store *store, sqlite3_stmt *stmt, struct error *err)
{
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc == 1)
        store_done(stmt);
    return rc;
}

int store_cancellation_has(struct store *store, int64_t ensemble, int64_t index, struct error *err)
{
    return cancellation_is_there(
        store,
        store_query(store, err, "SELECT 1 FROM cancellation WHERE ensemble = ?1 AND idx = ?2", "ii", ensemble, index),
        err);
}

int store_cancellation_any(struct store *store, int64_t ensemble, struct error *err)
{
    return cancellation_is_there(
        store, store_query(store, err, "SELECT 1 FROM cancellation WHERE ensemble = ?1 LIMIT 1", "i", ensemble), err);
}
