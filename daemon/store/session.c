#include "daemon/store/session.h"

int store_login_insert(struct store *store, const struct login_row *row, struct error *err)
{
    if (store_exec(store, err, "INSERT INTO login (hash, role, token, until, expires) VALUES (?1, ?2, ?3, ?4, ?5)",
                   "ttmii", row->hash, token_role_name(row->role), row->token, row->until_ms, row->expires_ms) < 0)
        return -1;
    return store_exec(store, err,
                      "DELETE FROM login WHERE rowid IN (SELECT rowid FROM login WHERE token IS ?1 ORDER BY rowid DESC "
                      "LIMIT -1 OFFSET ?2)",
                      "mb", row->token, SESSIONS_MAX);
}

static enum token_role read_role(sqlite3_stmt *stmt, int column)
{
    enum token_role role = TOKEN_READER;
    char name[16];

    store_text(stmt, column, name, sizeof name);
    token_role_parse(name, &role);
    return role;
}

int store_login_take(struct store *store, const char *hash, int64_t now_ms, struct login_row *row, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err, "SELECT hash, role, token, until, expires FROM login WHERE hash = ?1", "t", hash);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc != 1)
        return rc;
    store_text(stmt, 0, row->hash, sizeof row->hash);
    row->role = read_role(stmt, 1);
    row->token = sqlite3_column_int64(stmt, 2);
    row->until_ms = sqlite3_column_int64(stmt, 3);
    row->expires_ms = sqlite3_column_int64(stmt, 4);
    if (store_row_taken(store, stmt, err) < 0 ||
        store_exec(store, err, "DELETE FROM login WHERE hash = ?1", "t", hash) < 0)
        return -1;
    return row->expires_ms > now_ms;
}

int store_session_insert(struct store *store, struct session_row *row, struct error *err)
{
    if (store_exec(store, err,
                   "INSERT INTO session (hash, role, token, path, created, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                   "ttmtii", row->hash, token_role_name(row->role), row->token, row->path, row->created_ms,
                   row->expires_ms) < 0)
        return -1;
    row->id = store_last_id(store);
    return store_exec(store, err,
                      "DELETE FROM session WHERE id IN (SELECT id FROM session WHERE token IS ?1 ORDER BY id DESC "
                      "LIMIT -1 OFFSET ?2)",
                      "mb", row->token, SESSIONS_MAX);
}

#define COLUMNS "id, hash, role, token, path, created, expires, last_used"

static void session_read(sqlite3_stmt *stmt, struct session_row *row)
{
    row->id = sqlite3_column_int64(stmt, 0);
    store_text(stmt, 1, row->hash, sizeof row->hash);
    row->role = read_role(stmt, 2);
    row->token = sqlite3_column_int64(stmt, 3);
    store_text(stmt, 4, row->path, sizeof row->path);
    row->created_ms = sqlite3_column_int64(stmt, 5);
    row->expires_ms = sqlite3_column_int64(stmt, 6);
    row->last_used_ms = sqlite3_column_int64(stmt, 7);
}

static int get_row(struct store *store, sqlite3_stmt *stmt, struct session_row *row, struct error *err)
{
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        session_read(stmt, row);
        rc = store_row_taken(store, stmt, err);
    }
    return rc;
}

int store_session_find(struct store *store, const char *hash, int64_t now_ms, struct session_row *row,
                       struct error *err)
{
    return get_row(
        store,
        store_query(store, err, "SELECT " COLUMNS " FROM session WHERE hash = ?1 AND expires > ?2", "ti", hash, now_ms),
        row, err);
}

int store_session_get(struct store *store, int64_t id, struct session_row *row, struct error *err)
{
    return get_row(store, store_query(store, err, "SELECT " COLUMNS " FROM session WHERE id = ?1", "i", id), row, err);
}

int store_session_each(struct store *store, int64_t before, int limit, int64_t now_ms,
                       int (*each)(void *arg, const struct session_row *row), void *arg, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT " COLUMNS " FROM session WHERE id < ?1 AND expires > ?2 ORDER BY id DESC LIMIT ?3", "iib",
        before > 0 ? before : INT64_MAX, now_ms, limit);
    struct session_row row;

    return store_each_row(store, stmt, session_read, &row, each, arg, err);
}

int store_session_touch(struct store *store, int64_t id, int64_t now_ms, struct error *err)
{
    return store_exec(store, err, "UPDATE session SET last_used = ?2 WHERE id = ?1", "ii", id, now_ms);
}

int store_session_end(struct store *store, int64_t id, struct error *err)
{
    return store_exec(store, err, "DELETE FROM session WHERE id = ?1", "i", id);
}

int store_session_end_all(struct store *store, struct error *err)
{
    if (store_exec(store, err, "DELETE FROM login", "") < 0)
        return -1;
    return store_exec(store, err, "DELETE FROM session", "");
}

int store_session_end_of(struct store *store, int64_t token, struct error *err)
{
    if (store_exec(store, err, "DELETE FROM login WHERE token = ?1", "i", token) < 0)
        return -1;
    return store_exec(store, err, "DELETE FROM session WHERE token = ?1", "i", token);
}

int store_session_prune(struct store *store, int64_t now_ms, struct error *err)
{
    if (store_exec(store, err, "DELETE FROM login WHERE expires <= ?1", "i", now_ms) < 0)
        return -1;
    return store_exec(store, err, "DELETE FROM session WHERE expires <= ?1", "i", now_ms);
}
