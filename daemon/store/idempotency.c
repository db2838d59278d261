#include "daemon/store/idempotency.h"

#include <stdlib.h>

#define DAY_MS (INT64_C(86400) * 1000)
#define PUT_STEP 10

int store_idempotency_get(struct store *store, const char *key, char digest[65], int *status, char **body,
                          struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err, "SELECT digest, status, body FROM idempotency WHERE key = ?1", "t", key);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        store_text(stmt, 0, digest, 65);
        *status = sqlite3_column_int(stmt, 1);
        *body = store_text_copy(stmt, 2);
        rc = store_row_taken(store, stmt, err);
        if (rc < 0)
            free(*body);
    }
    return rc;
}

int store_idempotency_put(struct store *store, const char *key, const char *digest, int status, const char *body,
                          int64_t now_ms, struct error *err)
{
    if (store_idempotency_prune(store, now_ms, PUT_STEP, err) < 0)
        return -1;
    return store_exec(store, err,
                      "INSERT INTO idempotency (key, digest, status, body, created) VALUES (?1, ?2, ?3, ?4, ?5)",
                      "ttiti", key, digest, (int64_t)status, body, now_ms);
}

int store_idempotency_prune(struct store *store, int64_t now_ms, int64_t step, struct error *err)
{
    return store_exec(store, err,
                      "DELETE FROM idempotency WHERE key IN (SELECT key FROM idempotency WHERE created < ?1 ORDER BY "
                      "created LIMIT ?2)",
                      "ii", now_ms - DAY_MS, step);
}
