#include "daemon/store/internal.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int number_get(struct store *store, const char *sql, int *number, struct error *err)
{
    sqlite3_stmt *stmt;
    int rc;

    if (sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return store_error(store, sql, err);
    rc = sqlite3_step(stmt) == SQLITE_ROW ? 0 : store_error(store, sql, err);
    *number = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return rc;
}

static int version_get(struct store *store, int *version, struct error *err)
{
    return number_get(store, "PRAGMA user_version", version, err);
}

int store_check_origin(struct store *store, struct error *err)
{
    int version = 0, tables = 0, ours = 0;

    if (version_get(store, &version, err) < 0 ||
        number_get(store,
                   "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
                   &tables, err) < 0 ||
        number_get(store,
                   "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('meta', 'ensemble', 'member', "
                   "'tally', 'attempt', 'job')",
                   &ours, err) < 0)
        return -1;
    if (version == 0 ? tables == 0 : ours == 6)
        return 0;
    return error_set(err, "store_foreign", "%s is no database of strettod's, and is left as it is", store->path);
}

/* Makes a consistent copy beside the database, so that a migration gone wrong can be undone by hand. */
static int copy_before(struct store *store, int version, struct error *err)
{
    char *sql = sqlite3_mprintf("VACUUM INTO '%q.v%d'", store->path, version);
    char *path = xasprintf("%s.v%d", store->path, version);
    int rc = 0;

    remove(path); /* an earlier try may have left it */
    if (sql == NULL)
        rc =
            error_set(err, "store_io", "cannot copy the database before migrating it: out of memory (%s)", store->path);
    else if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        rc = store_error(store, "cannot copy the database before migrating it", err);
    else
        log_info("the database is kept as %s before it is migrated", path);
    chmod(path, 0600);
    free(path);
    sqlite3_free(sql);
    return rc;
}

static int apply_migration(struct store *store, const struct embedded *migration, int version, struct error *err)
{
    char *script = xasprintf("BEGIN IMMEDIATE;\n%s;\nPRAGMA user_version = %d;\nCOMMIT;", migration->data, version);
    int rc = 0;

    if (sqlite3_exec(store->db, script, NULL, NULL, NULL) != SQLITE_OK) {
        rc = store_error(store, migration->name, err);
        if (!sqlite3_get_autocommit(store->db))
            sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    free(script);
    return rc;
}

int store_migrate(struct store *store, const struct embedded *migrations, struct error *err)
{
    int version = 0, newest = 0;

    while (migrations[newest].name != NULL)
        newest++;
    if (version_get(store, &version, err) < 0)
        return -1;
    if (version < 0)
        return error_set(err, "store_damaged",
                         "%s has schema version %d, which no strettod writes: it is damaged, and left as it is. Put a "
                         "backup in its place",
                         store->path, version);
    if (version > newest)
        return error_set(err, "store_newer",
                         "%s has schema version %d, and this strettod knows only up to %d: it was written by a later "
                         "release, which must be used",
                         store->path, version, newest);
    if (version > 0 && version < newest && copy_before(store, version, err) < 0)
        return -1;
    for (; version < newest; version++)
        if (apply_migration(store, &migrations[version], version + 1, err) < 0)
            return -1;
    return 0;
}
