#include "daemon/store/internal.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/store/event.h"
#include "daemon/store/gather.h"
#include "daemon/store/place.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Statements are known by their address. */
static const char begin_sql[] = "BEGIN IMMEDIATE", commit_sql[] = "COMMIT", rollback_sql[] = "ROLLBACK";
static const char hold_sql[] = "BEGIN", look_sql[] = "SELECT 1 FROM meta LIMIT 1";

static sqlite3_stmt *prepared(struct store *store, const char *sql, struct error *err);

int store_error(struct store *store, const char *doing, struct error *err)
{
    int rc = sqlite3_errcode(store->db);

    store->failures++;
    snprintf(store->last_failure, sizeof store->last_failure, "%s", sqlite3_errmsg(store->db));
    return error_set(err, rc == SQLITE_FULL ? "store_full" : "store_io", "%s: %s (%s)", doing,
                     sqlite3_errmsg(store->db), store->path);
}

/* One daemon per state directory. The lock is on a file of its own: SQLite's locks come and go. It belongs to this process
 * alone (fcntl, not flock): a child that was just forked when the daemon died must not keep it. */
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

static int pragma(struct store *store, const char *sql, struct error *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_error(store, sql, err);
}

/* Ask for a journal mode, and see that it is granted: SQLite answers with what it has instead of failing. */
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
    else
        rc = 0;
    sqlite3_finalize(stmt);
    return rc;
}

/* The exclusive lock comes first: then even a database with a write-ahead log is read without shared memory, once, to
 * change it. Nothing is changed of a database that is not ours. */
static int set_journal(struct store *store, enum store_journal journal, struct error *err)
{
    if (journal == STORE_JOURNAL_ROLLBACK && pragma(store, "PRAGMA locking_mode = EXCLUSIVE", err) < 0)
        return -1;
    if (store_check_origin(store, err) < 0)
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

/* A value of the meta table into `value`; where there is none, store as hex digits what is drawn now. */
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

    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* nobody asks, and it takes a lock each time; only the first can */
    store->lock_fd = -1;
    store->path = xasprintf("%s/stretto.db", state_dir);
    if (judge_place(state_dir, options, &journal, err) < 0 || take_lock(store, state_dir, err) < 0)
        goto fail;
    if (sqlite3_open_v2(store->path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        gather_vfs()) != SQLITE_OK) {
        store_error(store, "cannot open the database", err);
        goto fail;
    }
    sqlite3_extended_result_codes(store->db, 0);
    sqlite3_busy_timeout(store->db, 1000); /* somebody may look with the sqlite3 shell; the loop waits meanwhile */
    if (set_journal(store, journal, err) < 0 || pragma(store, "PRAGMA synchronous = FULL", err) < 0 ||
        pragma(store, "PRAGMA foreign_keys = ON", err) < 0 || store_migrate(store, err) < 0 ||
        load_or_draw(store, "instance", store->instance, sizeof store->instance, err) < 0 ||
        load_or_draw(store, "control_secret", store->control_secret, sizeof store->control_secret, err) < 0 ||
        prepared(store, rollback_sql, err) == NULL)
        goto fail;
    if (store_event_bounds(store, &(int64_t){0}, &store->newest_event, err) < 0)
        goto fail;
    store->exclusive = journal == STORE_JOURNAL_ROLLBACK;
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
    sqlite3_busy_timeout(reader->db, 1000);
    if (pragma(reader, "PRAGMA query_only = ON", err) < 0 || prepared(reader, rollback_sql, err) == NULL)
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
    free(store->path);
    sodium_memzero(store->control_secret, sizeof store->control_secret);
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

const char *store_control_secret(const struct store *store)
{
    return store->control_secret;
}

bool store_dirty(const struct store *store)
{
    return store->in_transaction;
}

int64_t store_last_id(const struct store *store)
{
    return sqlite3_last_insert_rowid(store->db);
}

int64_t store_changes(const struct store *store)
{
    return sqlite3_changes(store->db);
}

/* The prepared statement of a literal, found by its address. */
static sqlite3_stmt *prepared(struct store *store, const char *sql, struct error *err)
{
    size_t i = ((uintptr_t)sql * UINT64_C(0x9e3779b97f4a7c15)) >> 56;

    for (size_t n = 0; n < STORE_STATEMENTS; n++, i = (i + 1) % STORE_STATEMENTS) {
        if (store->statements[i].sql == sql)
            return store->statements[i].stmt;
        if (store->statements[i].sql == NULL) {
            if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &store->statements[i].stmt, NULL) !=
                SQLITE_OK) {
                store_error(store, sql, err);
                return NULL;
            }
            store->statements[i].sql = sql;
            return store->statements[i].stmt;
        }
    }
    abort(); /* more statements than slots: a bug that the first test shows */
}

/* `texts`: SQLITE_STATIC where they stay until the statement has run, else SQLITE_TRANSIENT. */
static int bind(struct store *store, sqlite3_stmt *stmt, const char *types, va_list ap, sqlite3_destructor_type texts,
                struct error *err)
{
    int rc = SQLITE_OK;

    for (int i = 1; *types && rc == SQLITE_OK; types++, i++) {
        const char *text;
        int64_t n;

        switch (*types) {
        case 'i':
            rc = sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t));
            break;
        case 'b':
            rc = sqlite3_bind_int(stmt, i, va_arg(ap, int));
            break;
        case 'd':
            rc = sqlite3_bind_double(stmt, i, va_arg(ap, double)); /* NaN becomes null */
            break;
        case 'm':
            n = va_arg(ap, int64_t);
            rc = n ? sqlite3_bind_int64(stmt, i, n) : sqlite3_bind_null(stmt, i);
            break;
        case 't':
            text = va_arg(ap, const char *);
            rc = text ? sqlite3_bind_text(stmt, i, text, -1, texts) : sqlite3_bind_null(stmt, i);
            break;
        default:
            abort();
        }
    }
    return rc == SQLITE_OK ? 0 : store_error(store, sqlite3_sql(stmt), err);
}

int store_doom(struct store *store, const struct error *err)
{
    store->in_transaction = true; /* also where none was begun: the turn must learn of it at its commit */
    if (!store->doomed) {
        store->doomed = true;
        store->why = *err;
    }
    return -1;
}

static int run(struct store *store, const char *sql, struct error *err)
{
    sqlite3_stmt *stmt = prepared(store, sql, err);
    int rc;

    if (stmt == NULL)
        return -1;
    rc = sqlite3_step(stmt) == SQLITE_DONE ? 0 : store_error(store, sql, err);
    sqlite3_reset(stmt);
    return rc;
}

/* A rollback can fail, too (no memory); until it has been made up for, reads would show what was never committed. And where a
 * fault of a read has made SQLite let go of what a reader holds, they would show what is not flushed. */
static int roll_back(struct store *store, struct error *err)
{
    if (store->held && sqlite3_get_autocommit(store->db))
        return error_set(err, "store_io", "it is not known yet what of %s is on the disk", store->path);
    if (store->held)
        return 0;
    if (store->in_transaction || sqlite3_get_autocommit(store->db)) /* a full disk may have rolled it back already */
        return 0;
    return run(store, rollback_sql, err);
}

static int begin(struct store *store, struct error *err)
{
    if (store->in_transaction)
        return 0;
    if (roll_back(store, err) < 0 || run(store, begin_sql, err) < 0)
        return store_doom(store, err);
    store->in_transaction = true;
    return 0;
}

int store_exec(struct store *store, struct error *err, const char *sql, const char *types, ...)
{
    sqlite3_stmt *stmt;
    va_list ap;
    int rc;

    if (begin(store, err) < 0)
        return -1;
    if (!store->doomed && sqlite3_get_autocommit(store->db)) {
        /* SQLite itself rolled back after a fault, perhaps of a read: what follows would be committed without what was before */
        error_set(err, "store_io", "the changes of this turn were rolled back: %s", sqlite3_errmsg(store->db));
        return store_doom(store, err);
    }
    if (store->doomed) {
        *err = store->why;
        return -1;
    }
    stmt = prepared(store, sql, err);
    if (stmt == NULL)
        return store_doom(store, err);
    va_start(ap, types);
    rc = bind(store, stmt, types, ap, SQLITE_STATIC, err);
    va_end(ap);
    if (rc == 0 && sqlite3_step(stmt) != SQLITE_DONE)
        rc = store_error(store, sql, err);
    store_done(stmt);
    return rc == 0 ? 0 : store_doom(store, err);
}

sqlite3_stmt *store_query(struct store *store, struct error *err, const char *sql, const char *types, ...)
{
    sqlite3_stmt *stmt = roll_back(store, err) == 0 ? prepared(store, sql, err) : NULL;
    va_list ap;
    int rc;

    if (stmt == NULL)
        return NULL;
    va_start(ap, types);
    rc = bind(store, stmt, types, ap, SQLITE_TRANSIENT, err);
    va_end(ap);
    if (rc < 0) {
        store_done(stmt);
        return NULL;
    }
    return stmt;
}

int store_row(struct store *store, sqlite3_stmt *stmt, struct error *err)
{
    int rc = sqlite3_step(stmt);

    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE)
        store_error(store, sqlite3_sql(stmt), err);
    store_done(stmt);
    return rc == SQLITE_DONE ? 0 : -1;
}

void store_done(sqlite3_stmt *stmt)
{
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
}

/* A column whose text could not be had for lack of memory reads as null, and only the connection tells. */
int store_read_whole(struct store *store, sqlite3_stmt *stmt, struct error *err)
{
    return sqlite3_errcode(store->db) == SQLITE_NOMEM ? store_error(store, sqlite3_sql(stmt), err) : 0;
}

int store_row_taken(struct store *store, sqlite3_stmt *stmt, struct error *err)
{
    int rc = store_read_whole(store, stmt, err);

    store_done(stmt);
    return rc < 0 ? -1 : 1;
}

char *store_text_copy(sqlite3_stmt *stmt, int column)
{
    const unsigned char *text = sqlite3_column_text(stmt, column);

    return xstrdup(text ? (const char *)text : "");
}

void store_text(sqlite3_stmt *stmt, int column, char *out, size_t size)
{
    const unsigned char *text = sqlite3_column_text(stmt, column);

    snprintf(out, size, "%s", text ? (const char *)text : "");
}

void store_defer_flush(struct store *store, bool defer)
{
    store->defer = defer;
}

bool store_owes_flush(const struct store *store)
{
    return store->log != NULL && gather_owes(store->log);
}

int store_flush(struct store *store, struct error *err)
{
    int rc = gather_flush(store->log);

    return rc == SQLITE_OK ? 0 : error_set(err, "store_io", "cannot flush the log of %s: %s", store->path, sqlite3_errstr(rc));
}

/* Keep what is committed now in the reader's sight, whatever is committed next: false where that is not possible. */
static bool hold(struct store *reader)
{
    struct error err;
    sqlite3_stmt *look;

    if (roll_back(reader, &err) < 0 || run(reader, hold_sql, &err) < 0)
        return false;
    look = prepared(reader, look_sql, &err);
    reader->held = look != NULL && sqlite3_step(look) == SQLITE_ROW; /* it is the first look that says what is seen */
    sqlite3_reset(look);
    if (!reader->held)
        roll_back(reader, &err); /* or before its next query */
    return reader->held;
}

static void let_go(struct store *reader)
{
    struct error err;

    if (reader == NULL || !reader->held)
        return;
    reader->held = false;
    roll_back(reader, &err); /* likewise */
}

void store_flushed(struct store *store)
{
    gather_settle(store->log);
    let_go(store->reader);
    if (store->event_owed != 0)
        store->newest_event = store->event_owed;
    store->event_owed = 0;
}

int store_flush_owed(struct store *store, struct error *err)
{
    if (!store_owes_flush(store))
        return 0;
    if (store_flush(store, err) < 0)
        return -1;
    store_flushed(store);
    return 0;
}

static int commit(struct store *store, struct error *err)
{
    int rc;

    if (store->defer && store->log == NULL)
        store->log = gather_log(store->db);
    if (!store->defer || store->log == NULL || (store->reader != NULL && !hold(store->reader)))
        return run(store, commit_sql, err);
    gather_defer(store->log, true);
    rc = run(store, commit_sql, err);
    gather_defer(store->log, false);
    if (rc < 0 || !store_owes_flush(store))
        let_go(store->reader);
    return rc;
}

int store_commit(struct store *store, struct error *err)
{
    struct error rest;

    if (!store->in_transaction)
        return 0;
    if (!store->doomed && commit(store, &store->why) == 0) {
        store->in_transaction = false;
        if (store->event_made != 0)
            *(store_owes_flush(store) ? &store->event_owed : &store->newest_event) = store->event_made;
        store->event_made = 0;
        return 0;
    }
    store->in_transaction = false;
    store->doomed = false;
    store->event_made = 0;
    *err = store->why;
    if (roll_back(store, &rest) < 0)
        log_error("%s", rest.text);
    return -1;
}
