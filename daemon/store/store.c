#include "daemon/store/internal.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/store/event.h"
#include "daemon/store/gather.h"
#include "daemon/store/log_check.h"
#include "daemon/store/place.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int store_error(struct store *store, const char *doing, struct error *err)
{
    int rc = sqlite3_errcode(store->db) & 0xff;

    store->failures++;
    snprintf(store->last_failure, sizeof store->last_failure, "%s", sqlite3_errmsg(store->db));
    /* SQLite reports a removed database in this way */
    if (rc == SQLITE_READONLY && store_check_present(store, err) < 0)
        return -1;
    if (rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB)
        return store_damaged(store, store->last_failure, err);
    return error_set(err, rc == SQLITE_FULL ? "store_full" : "store_io", "%s: %s (%s)", doing,
                     sqlite3_errmsg(store->db), store->path);
}

/* Makes sure that a state directory has one daemon. The lock is on a file of its own, since SQLite takes and drops its
 * locks. It is fcntl's, not flock's, so that it belongs to this process alone: a child that was just forked when the
 * daemon died must not keep it. */
static int take_lock(struct store *store, const char *state_dir, struct error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = xasprintf("%s/lock", state_dir);
    int rc = 0;

    store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (store->lock_fd < 0)
        rc = error_errno(err, "store_io", "cannot open %s", path);
    else if (fcntl(store->lock_fd, F_SETLK, &lock) < 0)
        rc = errno == EACCES || errno == EAGAIN
                 ? error_set(err, "store_locked", "another strettod is running on the state directory %s", state_dir)
                 : error_errno(err, "store_io", "cannot lock %s", path);
    free(path);
    return rc;
}

static int run_pragma(struct store *store, const char *sql, struct error *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_error(store, sql, err);
}

/* Sets a journal mode and checks the answer, since SQLite keeps the old mode instead of failing. */
static int set_journal_mode(struct store *store, const char *mode, struct error *err)
{
    char sql[64];
    sqlite3_stmt *stmt;
    int rc;

    snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s", mode);
    if (sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return store_error(store, sql, err);
    if (sqlite3_step(stmt) != SQLITE_ROW)
        rc = store_error(store, sql, err);
    else if (sqlite3_stricmp((const char *)sqlite3_column_text(stmt, 0), mode) != 0)
        rc = error_set(err, "store_io", "%s cannot be given the journal mode %s, only %s", store->path, mode,
                       (const char *)sqlite3_column_text(stmt, 0));
    else /* this writes the new mode */
        rc = sqlite3_step(stmt) == SQLITE_DONE ? 0 : store_error(store, sql, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* Sets the journal mode. The exclusive lock comes first: with it even a database with a write-ahead log is read without
 * shared memory, once, to change it. A database that is not ours is left unchanged. */
static int set_journal(struct store *store, enum store_journal journal, struct error *err)
{
    if (journal == STORE_JOURNAL_ROLLBACK && run_pragma(store, "PRAGMA locking_mode = EXCLUSIVE", err) < 0)
        return -1;
    if (store_check_origin(store, err) < 0)
        return -1;
    /* for a new database: the cost of a commit is whole pages, of which it changes little */
    if (run_pragma(store, "PRAGMA page_size = 2048", err) < 0)
        return -1;
    if (sqlite3_db_readonly(store->db, "main") == 1)
        return error_set(err, "store_io", "%s cannot be written to by this user", store->path);
    return set_journal_mode(store, journal == STORE_JOURNAL_WAL ? "wal" : "delete", err);
}

static int judge_place(const char *state_dir, const struct store_options *options, enum store_journal *journal,
                       struct error *err)
{
    struct statfs fs;

    if ((options->statfs != NULL ? options->statfs : statfs)(state_dir, &fs) < 0)
        return error_errno(err, "store_io", "%s", state_dir);
    return store_place_judge(state_dir, (unsigned long)fs.f_type, options->allow_network, journal, err);
}

/* Prepares the index of the log before SQLite opens it, or removes it if there is no log. */
static void place_index(struct store *store, enum store_journal journal)
{
    char *path = xasprintf("%s-shm", store->path);

    if (journal == STORE_JOURNAL_WAL)
        gather_keep_index(path);
    else
        unlink(path);
    free(path);
}

/* Checks the files that the last process left, before SQLite changes them. */
static int check_files(struct store *store, struct error *err)
{
    char *log = xasprintf("%s-wal", store->path);
    enum log_state state = log_check(log);
    struct stat st;
    bool has_log = stat(log, &st) == 0 && st.st_size > 0;
    int rc = 0;

    store->was_empty = stat(store->path, &st) == 0 && st.st_size == 0;
    store->log_suspect = state != LOG_SOUND;
    if (state == LOG_DAMAGED)
        rc = store_damaged(store, "changes in its log cannot be read", err);
    else if (store->was_empty && has_log) /* the log is made after the first page */
        rc = store_damaged(store, "it is empty, and was not", err);
    free(log);
    return rc;
}

/* Reads a value of the meta table. If there is none, random hex digits are stored as the value. */
static int load_or_draw(struct store *store, const char *key, char *value, size_t size, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT value FROM meta WHERE key = ?1", "t", key);
    unsigned char random[32];
    int rc;

    if (stmt == NULL)
        return -1;
    rc = store_row(store, stmt, err);
    if (rc == 1) {
        store_text(stmt, 0, value, size);
        rc = store_row_taken(store, stmt, err);
    }
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    randombytes_buf(random, size / 2);
    sodium_bin2hex(value, size, random, size / 2);
    sodium_memzero(random, sizeof random);
    if (store_exec(store, err, "INSERT INTO meta (key, value) VALUES (?1, ?2)", "tt", key, value) < 0)
        return -1;
    return store_commit(store, err);
}

int store_open(struct store **out, const char *state_dir, struct error *err)
{
    static const struct store_options usual;

    return store_open_with(out, state_dir, &usual, err);
}

int store_open_with(struct store **out, const char *state_dir, const struct store_options *options, struct error *err)
{
    struct store *store = xcalloc(1, sizeof *store);
    enum store_journal journal;
    bool unclean;

    /* statistics that nobody reads take a lock; works before the first open */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    /* journals of statements stay in memory, which there is when a disk is full */
    sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, -1);
    store->lock_fd = -1;
    store->path = xasprintf("%s/stretto.db", state_dir);
    if (judge_place(state_dir, options, &journal, err) < 0 || take_lock(store, state_dir, err) < 0)
        goto fail;
    unclean = store_is_unclean(store);
    if (check_files(store, err) < 0)
        goto fail;
    place_index(store, journal);
    if (sqlite3_open_v2(store->path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        gather_vfs()) != SQLITE_OK) {
        store_error(store, "cannot open the database", err);
        goto fail;
    }
    sqlite3_extended_result_codes(store->db, 0);
    sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
    if (set_journal(store, journal, err) < 0 || (unclean && store_check_whole(store, err) < 0) ||
        run_pragma(store, "PRAGMA synchronous = FULL", err) < 0 ||
        run_pragma(store, "PRAGMA foreign_keys = ON", err) < 0 || store_tallies_init(store, err) < 0 ||
        store_causes_init(store, err) < 0 ||
        store_migrate(store, options->migrations ? options->migrations : store_migrations, err) < 0 ||
        (!unclean && store_check_small(store, err) < 0) ||
        load_or_draw(store, "instance", store->instance, sizeof store->instance, err) < 0 ||
        store_prepare_rollback(store, err) < 0)
        goto fail;
    if (store_event_bounds(store, &(int64_t){0}, &store->newest_event, err) < 0)
        goto fail;
    store->exclusive = journal == STORE_JOURNAL_ROLLBACK;
    if (!store->exclusive)
        store_keep_room(store);
    store_note_files(store);
    *out = store;
    return 0;
fail:
    store_close(store);
    return -1;
}

int store_open_reader(struct store **out, struct store *store, struct error *err)
{
    struct store *reader;

    *out = NULL;
    if (store->exclusive)
        return 0;
    reader = xcalloc(1, sizeof *reader);
    reader->lock_fd = -1;
    reader->path = xstrdup(store->path);
    reader->writer = store;
    store->reader = reader;
    if (sqlite3_open_v2(reader->path, &reader->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        store_error(reader, "cannot open the database for reading", err);
        goto fail;
    }
    sqlite3_extended_result_codes(reader->db, 0);
    sqlite3_busy_timeout(reader->db, STORE_BUSY_MS);
    if (run_pragma(reader, "PRAGMA query_only = ON", err) < 0 || store_causes_init(reader, err) < 0 ||
        store_prepare_rollback(reader, err) < 0)
        goto fail;
    *out = reader;
    return 0;
fail:
    store_close(reader);
    return -1;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    if (store->writer != NULL)
        store->writer->reader = NULL;
    for (size_t i = 0; i < STORE_STATEMENTS; i++)
        sqlite3_finalize(store->statements[i].stmt);
    if (store->db != NULL && sqlite3_close(store->db) != SQLITE_OK)
        log_error("store: %s", sqlite3_errmsg(store->db));
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    store_events_free(store);
    store_tallies_free(store);
    free(store->path);
    free(store);
}

int64_t store_failures(const struct store *store)
{
    return store->failures;
}

const char *store_last_failure(const struct store *store)
{
    return store->last_failure;
}

const char *store_instance(const struct store *store)
{
    return store->instance;
}
