/* Detects a damaged database after an unclean end, and says how to restore it. */
#include "daemon/store/internal.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/store/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK_SECONDS 30
#define CHECK_STEPS 100000 /* steps of SQLite's virtual machine between two looks at the clock */

char *store_backup_note(const char *database)
{
    return xasprintf("%.*s/last-backup", (int)(strrchr(database, '/') - database), database);
}

static bool backup_is_gone(const char *file)
{
    return access(file, F_OK) < 0;
}

int store_damaged(const struct store *store, const char *what, struct error *err)
{
    char *note = store_backup_note(store->path), backup[320];

    /* the note also names backups of which the command was killed, or had no room */
    file_last_line(note, backup_is_gone, backup, sizeof backup);
    if (backup[0] == '\0') /* perhaps it is on another host */
        file_last_line(note, NULL, backup, sizeof backup);
    free(note);
    return error_set(err, "store_damaged",
                     "the database %.200s is damaged (%.60s). To restore it: stop the daemon; move this file, and "
                     "those with -wal and -shm after its name, away; copy the newest backup, %s, there as stretto.db; "
                     "start the daemon (strettod(8), BACKUPS)",
                     store->path, what, backup[0] != '\0' ? backup : "of which this daemon knows none,");
}

bool store_is_unclean(const struct store *store)
{
    char *log = xasprintf("%s-wal", store->path), *journal = xasprintf("%s-journal", store->path);
    bool left = !gather_is_over(log) || access(journal, F_OK) == 0;

    free(log);
    free(journal);
    return left;
}

static int64_t monotonic_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static int is_late(void *until)
{
    return monotonic_seconds() >= *(int64_t *)until;
}

static int damage_check(struct store *store, const char *pragma, struct error *err)
{
    char what[200] = "";
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(store->db, pragma, -1, &stmt, NULL);

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            store_text(stmt, 0, what, sizeof what);
        sqlite3_finalize(stmt);
    }
    if (rc == SQLITE_INTERRUPT) {
        log_warn("%s was not checked whole after an unclean end: that takes longer than %d s", store->path,
                 CHECK_SECONDS);
        return 0;
    }
    if (rc != SQLITE_ROW)
        return store_error(store, "cannot check the database", err);
    return strcmp(what, "ok") == 0 ? 0 : store_damaged(store, what, err);
}

int store_check_whole(struct store *store, struct error *err)
{
    int64_t until = monotonic_seconds() + CHECK_SECONDS;
    int rc;

    sqlite3_progress_handler(store->db, CHECK_STEPS, is_late, &until);
    rc = damage_check(store, "PRAGMA quick_check(1)", err);
    sqlite3_progress_handler(store->db, 0, NULL, NULL);
    return rc;
}

int store_check_older(struct store *store, struct error *err)
{
    return store->log_suspect ? store_damaged(store, "the end of its log is missing", err)
                              : store_check_whole(store, err);
}

int store_check_emptied(struct store *store, struct error *err)
{
    return store->was_empty ? store_damaged(store, "it was emptied", err) : 0;
}

int store_check_small(struct store *store, struct error *err)
{
    static const char *const tables[] = {"meta",           "ensemble", "tally",         "training",
                                         "parameter_rows", "handover", "bulk_operation"};
    char pragma[64];
    int rc = 0;

    for (size_t i = 0; i < sizeof tables / sizeof *tables && rc == 0; i++) {
        snprintf(pragma, sizeof pragma, "PRAGMA quick_check(%s)", tables[i]);
        rc = damage_check(store, pragma, err);
    }
    return rc;
}
