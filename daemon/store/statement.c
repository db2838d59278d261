/* SQL statements: prepared once, run, and read. */
#include "daemon/store/internal.h"

#include "common/stretto_assert.h"
#include "common/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t store_last_id(const struct store *store)
{
    return sqlite3_last_insert_rowid(store->db);
}

int64_t store_changes(const struct store *store)
{
    return sqlite3_changes(store->db);
}

sqlite3_stmt *store_prepared(struct store *store, const char *sql, struct error *err)
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
    abort(); /* there are more statements than slots, a mistake that the first test shows */
}

/* `texts` is SQLITE_STATIC if the bound texts stay until the statement has run, else SQLITE_TRANSIENT. */
static int bind_values(struct store *store, sqlite3_stmt *stmt, const char *types, va_list ap,
                       sqlite3_destructor_type texts, struct error *err)
{
    int rc = SQLITE_OK;

    for (int i = 1; *types && rc == SQLITE_OK; types++, i++) {
        const char *text;
        int64_t n;

        switch (*types) {
        case 'i': rc = sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t)); break;
        case 'b': rc = sqlite3_bind_int(stmt, i, va_arg(ap, int)); break;
        case 'd':
            rc = sqlite3_bind_double(stmt, i, va_arg(ap, double)); /* NaN becomes null */
            break;
        case 'm':
            n = va_arg(ap, int64_t);
            rc = n ? sqlite3_bind_int64(stmt, i, n) : sqlite3_bind_null(stmt, i);
            break;
        case 'x':
            text = va_arg(ap, const char *);
            rc = sqlite3_bind_blob64(stmt, i, text, va_arg(ap, size_t), texts);
            break;
        case 't':
            text = va_arg(ap, const char *);
            rc = text ? sqlite3_bind_text(stmt, i, text, -1, texts) : sqlite3_bind_null(stmt, i);
            break;
        default: abort();
        }
    }
    return rc == SQLITE_OK ? 0 : store_error(store, sqlite3_sql(stmt), err);
}

int store_run(struct store *store, const char *sql, struct error *err)
{
    sqlite3_stmt *stmt = store_prepared(store, sql, err);
    int rc;

    if (stmt == NULL)
        return -1;
    rc = sqlite3_step(stmt) == SQLITE_DONE ? 0 : store_error(store, sql, err);
    sqlite3_reset(stmt);
    return rc;
}

int store_exec(struct store *store, struct error *err, const char *sql, const char *types, ...)
{
    sqlite3_stmt *stmt;
    va_list ap;
    int rc;

    if (store_begin(store, err) < 0)
        return -1;
    stmt = store_prepared(store, sql, err);
    if (stmt == NULL)
        return store_doom(store, err);
    va_start(ap, types);
    stretto_assert(!sqlite3_stmt_busy(stmt)); /* nobody reads its rows while it is run anew */
    rc = bind_values(store, stmt, types, ap, SQLITE_STATIC, err);
    va_end(ap);
    if (rc == 0 && sqlite3_step(stmt) != SQLITE_DONE)
        rc = store_error(store, sql, err);
    store_done(stmt);
    return rc == 0 ? 0 : store_doom(store, err);
}

/* Dooms the open transaction after a failed read: its changes may depend on the answer, and must not be kept without
 * those that would have followed. */
static int not_read(struct store *store, const struct error *err)
{
    return store->in_transaction ? store_doom(store, err) : -1;
}

sqlite3_stmt *store_query(struct store *store, struct error *err, const char *sql, const char *types, ...)
{
    bool ready = store_write_all(store, err) == 0 && store_roll_back(store, err) == 0;
    sqlite3_stmt *stmt = ready ? store_prepared(store, sql, err) : NULL;
    va_list ap;
    int rc;

    if (stmt == NULL) {
        not_read(store, err);
        return NULL;
    }
    va_start(ap, types);
    stretto_assert(!sqlite3_stmt_busy(stmt));
    rc = bind_values(store, stmt, types, ap, SQLITE_TRANSIENT, err);
    va_end(ap);
    if (rc < 0) {
        store_done(stmt);
        not_read(store, err);
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
    return rc == SQLITE_DONE ? 0 : not_read(store, err);
}

void store_done(sqlite3_stmt *stmt)
{
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
}

/* Fails if a text of this row could not be read for lack of memory. SQLite then returns null for it, and only the
 * connection's error code shows that. */
int store_read_whole(struct store *store, sqlite3_stmt *stmt, struct error *err)
{
    if (sqlite3_errcode(store->db) != SQLITE_NOMEM)
        return 0;
    store_error(store, sqlite3_sql(stmt), err);
    return not_read(store, err);
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
