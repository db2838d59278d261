#include "daemon/store/ran.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int store_ran_put(struct store *store, int64_t ensemble, int64_t index, int64_t number, const char *content,
                  struct error *err)
{
    char sha256[2 * crypto_hash_sha256_BYTES + 1];
    unsigned char sum[crypto_hash_sha256_BYTES];

    crypto_hash_sha256(sum, (const unsigned char *)content, strlen(content));
    sodium_bin2hex(sha256, sizeof sha256, sum, sizeof sum);
    if (store_exec(store, err, "INSERT OR IGNORE INTO ran (ensemble, sha256, content) VALUES (?1, ?2, ?3)", "itt",
                   ensemble, sha256, content) < 0)
        return -1;
    return store_exec(store, err,
                      "UPDATE attempt SET ran = (SELECT id FROM ran WHERE ensemble = ?1 AND sha256 = ?4) "
                      "WHERE ensemble = ?1 AND idx = ?2 AND number = ?3",
                      "iiit", ensemble, index, number, sha256);
}

static int ran_each(struct store *store, sqlite3_stmt *stmt, int (*each)(void *arg, const struct ran_row *row),
                    void *arg, struct error *err)
{
    int rc = stmt != NULL ? 1 : -1;

    while (rc == 1 && (rc = store_row(store, stmt, err)) == 1) {
        struct ran_row row = {.id = sqlite3_column_int64(stmt, 0), .content = store_text_copy(stmt, 1)};

        if (store_read_whole(store, stmt, err) < 0)
            rc = -1;
        else if (each(arg, &row) != 0)
            rc = 0;
        free(row.content);
        if (rc < 1)
            store_done(stmt);
    }
    return rc;
}

int store_ran_each(struct store *store, int64_t ensemble, int (*each)(void *arg, const struct ran_row *row), void *arg,
                   struct error *err)
{
    return ran_each(
        store, store_query(store, err, "SELECT id, content FROM ran WHERE ensemble = ?1 ORDER BY id", "i", ensemble),
        each, arg, err);
}

static void read_attempt(sqlite3_stmt *stmt, struct ran_attempt_row *row)
{
    row->index = sqlite3_column_int64(stmt, 0);
    row->number = sqlite3_column_int64(stmt, 1);
    row->ran = sqlite3_column_int64(stmt, 2);
    row->started = sqlite3_column_int(stmt, 3) != 0;
}

int store_ran_each_attempt(struct store *store, int64_t ensemble,
                           int (*each)(void *arg, const struct ran_attempt_row *row), void *arg, struct error *err)
{
    struct ran_attempt_row row;
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT idx, number, ran, started IS NOT NULL AND ended > started FROM attempt "
                                     "WHERE ensemble = ?1 AND ended IS NOT NULL ORDER BY idx, number",
                                     "i", ensemble);

    return store_each_row(store, stmt, read_attempt, &row, each, arg, err);
}
