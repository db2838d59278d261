#include "daemon/store/extent.h"

#include "daemon/store/internal.h"

int store_extent_get(struct store *store, struct store_extent *extent, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err,
                    "SELECT (SELECT n FROM commits), coalesce((SELECT seq FROM sqlite_sequence WHERE name = "
                    "'ensemble'), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'job'), 0)",
                    "");

    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    extent->commits = sqlite3_column_int64(stmt, 0);
    extent->ensemble = sqlite3_column_int64(stmt, 1);
    extent->job = sqlite3_column_int64(stmt, 2);
    store_done(stmt);
    return 0;
}

int store_extent_skip(struct store *store, const struct store_extent *extent, struct error *err)
{
    if (store_ensemble_skip(store, extent->ensemble, err) < 0 ||
        store_exec(store, err, "UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'job'", "i", extent->job) <
            0 ||
        store_exec(store, err,
                   "INSERT INTO sqlite_sequence (name, seq) SELECT 'job', ?1 WHERE NOT EXISTS (SELECT 1 FROM "
                   "sqlite_sequence WHERE name = 'job')",
                   "i", extent->job) < 0)
        return -1;
    store->last_job = 0; /* to be read again */
    return 0;
}

int store_run_dir_get(struct store *store, char **run_dir, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT value FROM meta WHERE key = 'run_dir'", "");
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    *run_dir = NULL;
    if (rc == 1) {
        *run_dir = store_text_copy(stmt, 0);
        rc = store_row_taken(store, stmt, err);
    }
    return rc < 0 ? -1 : 0;
}

int store_run_dir_put(struct store *store, const char *run_dir, struct error *err)
{
    return store_exec(store, err, "INSERT OR REPLACE INTO meta (key, value) VALUES ('run_dir', ?1)", "t", run_dir);
}

int store_job_known(struct store *store, int64_t ensemble, const char *name, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err, "SELECT 1 FROM job WHERE ensemble = ?1 AND name = ?2", "it", ensemble, name);
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc == 1)
        store_done(stmt);
    return rc;
}
