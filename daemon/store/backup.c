#include "daemon/store/backup.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "daemon/store/parameter_rows.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY "backup-tmp."
#define PIECE ((size_t)1 << 20) /* bytes of a file that one row holds */
#define STEPS 10000
#define NOTED 3000 /* bytes of the names of former backups that are kept in the note */

static const char *const suffixes[] = {".jsonl", ".index"}; /* the files that a copy of a parameter file consists of */

int backup_source_init(struct backup_source *source, const struct store *store, const char *rows_dir, struct error *err)
{
    if (store->exclusive)
        return error_set(err, "backup_unavailable",
                         "the state directory is on a network file system, where only the daemon itself can read the "
                         "database: stop it and copy %s and %s",
                         store->path, rows_dir);
    *source = (struct backup_source){.database = xstrdup(store->path), .rows_dir = xstrdup(rows_dir)};
    return 0;
}

void backup_source_fini(struct backup_source *source)
{
    free(source->database);
    free(source->rows_dir);
}

static int backup_failed(sqlite3 *db, const char *doing, struct error *err)
{
    if (sqlite3_errcode(db) == SQLITE_INTERRUPT)
        return error_set(err, "not_ready", "the daemon ends: the backup is abandoned");
    return error_set(err, (sqlite3_errcode(db) & 0xff) == SQLITE_FULL ? "store_full" : "store_io",
                     "the backup cannot be made: %s: %s", doing, sqlite3_errmsg(db));
}

static int backup_run(sqlite3 *db, const char *sql, struct error *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : backup_failed(db, sql, err);
}

/* SQLite calls this after each STEPS steps of its virtual machine; non-zero interrupts the statement. */
static int is_abandoned(void *arg)
{
    const struct backup_source *source = arg;

    return source->abandoned != NULL && atomic_load(source->abandoned);
}

static void backup_ask_source(sqlite3 *db, const struct backup_source *source)
{
    sqlite3_progress_handler(db, STEPS, is_abandoned, (void *)source);
}

/* Copies the database as it is at one moment, while others go on writing. */
static int copy_database(const struct backup_source *source, const char *path, struct error *err)
{
    const char *from = source->database;
    sqlite3 *db = NULL;
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", path);
    int rc;

    if (sql == NULL)
        return error_set(err, "store_io", "the backup cannot be made: out of memory");
    if (sqlite3_open_v2(from, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        rc = backup_failed(db, from, err);
    } else {
        sqlite3_busy_timeout(db, 10000);
        backup_ask_source(db, source);
        rc = backup_run(db, sql, err);
    }
    sqlite3_free(sql);
    sqlite3_close(db);
    return rc;
}

static int add_piece(sqlite3 *db, sqlite3_stmt *insert, const char *name, int64_t piece, const char *data, size_t size,
                     struct error *err)
{
    int rc;

    sqlite3_bind_text(insert, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, piece);
    sqlite3_bind_blob(insert, 3, data, (int)size, SQLITE_STATIC);
    rc = sqlite3_step(insert) == SQLITE_DONE ? 0 : backup_failed(db, name, err);
    sqlite3_reset(insert);
    return rc;
}

static int backup_add_file(sqlite3 *db, sqlite3_stmt *insert, const struct backup_source *source, const char *name,
                           struct error *err)
{
    char *path = xasprintf("%s/%s", source->rows_dir, name), *data = xcalloc(1, PIECE);
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    ssize_t n = 1;

    if (fd < 0)
        rc = error_errno(err, "store_io", "the backup cannot be made: %s", path);
    for (int64_t piece = 0; rc == 0 && n > 0; piece++) {
        n = read(fd, data, PIECE);
        if (is_abandoned((void *)source))
            rc = error_set(err, "not_ready", "the daemon ends: the backup is abandoned");
        else if (n < 0)
            rc = error_errno(err, "store_io", "the backup cannot be made: %s", path);
        else if (n > 0 || piece == 0)
            rc = add_piece(db, insert, name, piece, data, (size_t)n, err);
    }
    if (fd >= 0)
        close(fd);
    free(data);
    free(path);
    return rc;
}

static int backup_add_files(sqlite3 *db, const struct backup_source *source, struct error *err)
{
    sqlite3_stmt *names = NULL, *insert = NULL;
    int rc = 0, step = SQLITE_DONE;

    if (sqlite3_prepare_v2(db, "SELECT name FROM parameter_rows", -1, &names, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "INSERT INTO backup_file (name, piece, data) VALUES (?1, ?2, ?3)", -1, &insert, NULL) !=
            SQLITE_OK)
        rc = backup_failed(db, "its parameter files", err);
    while (rc == 0 && (step = sqlite3_step(names)) == SQLITE_ROW) {
        for (size_t i = 0; rc == 0 && i < sizeof suffixes / sizeof *suffixes; i++) {
            char *name = xasprintf("%s%s", (const char *)sqlite3_column_text(names, 0) ?: "", suffixes[i]);

            rc = backup_add_file(db, insert, source, name, err);
            free(name);
        }
    }
    if (rc == 0 && step != SQLITE_DONE)
        rc = backup_failed(db, "its parameter files", err);
    sqlite3_finalize(names);
    sqlite3_finalize(insert);
    return rc;
}

static int backup_check(sqlite3 *db, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc;

    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        rc = backup_failed(db, "its check", err);
    else if (sqlite3_column_text(stmt, 0) == NULL || strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
        rc = error_set(err, "store_io", "the database is damaged: %.300s",
                       (const char *)sqlite3_column_text(stmt, 0) ?: "?");
    else
        rc = 0;
    sqlite3_finalize(stmt);
    return rc;
}

int backup_write(const struct backup_source *source, const char *path, struct error *err)
{
    sqlite3 *db = NULL;
    int rc;

    if (copy_database(source, path, err) < 0)
        return -1;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        rc = backup_failed(db, path, err);
    else /* the caller flushes the whole file at the end, so that a journal would only cost time */
        rc = backup_run(db,
                        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN; "
                        "CREATE TABLE backup_file (name TEXT NOT NULL, piece INTEGER NOT NULL, data BLOB NOT NULL, "
                        "PRIMARY KEY (name, piece)) STRICT; "
                        "INSERT OR REPLACE INTO meta (key, value) VALUES ('copied', strftime('%Y-%m-%dT%H:%M:%SZ'))",
                        err);
    backup_ask_source(db, source);
    if (rc == 0)
        rc = backup_add_files(db, source, err);
    if (rc == 0)
        rc = backup_run(db, "COMMIT", err);
    if (rc == 0)
        rc = backup_check(db, err);
    sqlite3_close(db);
    return rc;
}

void backup_remove(const char *path)
{
    char *journal = xasprintf("%s-journal", path);

    unlink(path);
    unlink(journal);
    free(journal);
}

int backup_note(const struct backup_source *source, const char *file, struct error *err)
{
    char *path = store_backup_note(source->database), *before = NULL, *lines;
    const char *kept = "";
    size_t size;
    int rc;

    if (file_read(path, FILE_JSON_MAX, &before, &size, err) == 0)
        for (kept = before; size > NOTED && strchr(kept, '\n') != NULL; size = strlen(kept))
            kept = strchr(kept, '\n') + 1;
    lines = xasprintf("%s%s\n", kept, file);
    rc = file_write_whole(path, lines, strlen(lines), 0600, err);
    free(path);
    free(before);
    free(lines);
    return rc;
}

char *backup_temporary(const char *state_dir)
{
    return xasprintf("%s/" TEMPORARY "XXXXXX", state_dir);
}

void backup_sweep(const char *state_dir)
{
    DIR *dir = opendir(state_dir);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, TEMPORARY, sizeof TEMPORARY - 1) == 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        closedir(dir);
}

int backup_is_copy(struct store *store, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT 1 FROM meta WHERE key = 'copied'", "");
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1)
        store_done(stmt);
    return rc;
}

static int append_piece(const char *rows_dir, const char *name, bool first, const void *data, size_t size,
                        struct error *err)
{
    char *path = xasprintf("%s/%s", rows_dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (first ? O_TRUNC : O_APPEND), 0600), rc = 0;

    if (fd < 0 || (size > 0 && write(fd, data, size) != (ssize_t)size) || fsync(fd) < 0)
        rc = error_errno(err, "store_io", "%s cannot be restored", path);
    if (fd >= 0)
        close(fd);
    if (first && rc == 0)
        file_flush_name(path);
    free(path);
    return rc;
}

/* Checks a name that comes from the database, which may be anybody's file. */
static bool is_ours(const char *name)
{
    size_t size = strspn(name, "0123456789abcdef");

    return size == PARAMETER_ROWS_NAME - 1 &&
           (strcmp(name + size, suffixes[0]) == 0 || strcmp(name + size, suffixes[1]) == 0);
}

int backup_restore_rows(struct store *store, const char *rows_dir, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    char name[PARAMETER_ROWS_NAME + 8];
    int rc = 0, step;

    if (sqlite3_prepare_v2(store->db, "SELECT name, piece, data FROM backup_file ORDER BY name, piece", -1, &stmt,
                           NULL) != SQLITE_OK)
        return store_error(store, "backup_file", err);
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW && rc == 0) {
        store_text(stmt, 0, name, sizeof name);
        if (is_ours(name))
            rc = append_piece(rows_dir, name, sqlite3_column_int64(stmt, 1) == 0, sqlite3_column_blob(stmt, 2),
                              (size_t)sqlite3_column_bytes(stmt, 2), err);
    }
    if (rc == 0 && step != SQLITE_DONE)
        rc = store_error(store, "backup_file", err);
    sqlite3_finalize(stmt);
    return rc;
}

int backup_adopt(struct store *store, struct error *err)
{
    snprintf(store->instance, sizeof store->instance, "%08x", randombytes_random());
    if (store_exec(store, err, "UPDATE meta SET value = ?1 WHERE key = 'instance'", "t", store->instance) < 0 ||
        store_exec(store, err, "DELETE FROM meta WHERE key = 'copied' OR key = 'run_dir'", "") < 0)
        return -1;
    return store_exec(store, err, "DROP TABLE IF EXISTS backup_file", "");
}
