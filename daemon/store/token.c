#include "daemon/store/token.h"

#include <string.h>

static const char *const role_names[TOKEN_ROLE_COUNT] = {"reader", "operator", "admin"};

const char *token_role_name(enum token_role role)
{
    return role_names[role];
}

int token_role_parse(const char *name, enum token_role *role)
{
    for (int i = 0; i < TOKEN_ROLE_COUNT; i++) {
        if (strcmp(name, role_names[i]) == 0) {
            *role = (enum token_role)i;
            return 0;
        }
    }
    return -1;
}

#define COLUMNS "id, hash, role, label, created, expires, revoked, last_used"

static void token_row_read(sqlite3_stmt *stmt, struct token_row *row)
{
    char role[16];

    row->id = sqlite3_column_int64(stmt, 0);
    store_text(stmt, 1, row->hash, sizeof row->hash);
    store_text(stmt, 2, role, sizeof role);
    row->role = TOKEN_READER;
    token_role_parse(role, &row->role);
    store_text(stmt, 3, row->label, sizeof row->label);
    row->created_ms = sqlite3_column_int64(stmt, 4);
    row->expires_ms = sqlite3_column_int64(stmt, 5);
    row->revoked_ms = sqlite3_column_int64(stmt, 6);
    row->last_used_ms = sqlite3_column_int64(stmt, 7);
}

int store_token_insert(struct store *store, struct token_row *row, struct error *err)
{
    if (store_exec(store, err, "INSERT INTO token (hash, role, label, created, expires) VALUES (?1, ?2, ?3, ?4, ?5)",
                   "tttim", row->hash, role_names[row->role], row->label[0] ? row->label : NULL, row->created_ms,
                   row->expires_ms) < 0)
        return -1;
    row->id = store_last_id(store);
    return 0;
}

int store_token_get(struct store *store, int64_t id, struct token_row *row, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT " COLUMNS " FROM token WHERE id = ?1", "i", id);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        token_row_read(stmt, row);
        rc = store_row_taken(store, stmt, err);
    }
    return rc;
}

int store_token_each(struct store *store, int64_t before, int limit,
                     int (*each)(void *arg, const struct token_row *row), void *arg, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err, "SELECT " COLUMNS " FROM token WHERE id < ?1 ORDER BY id DESC LIMIT ?2", "ib",
                    before > 0 ? before : INT64_MAX, limit);
    struct token_row row;

    return store_each_row(store, stmt, token_row_read, &row, each, arg, err);
}

int store_token_revoke(struct store *store, int64_t id, int64_t now_ms, struct error *err)
{
    return store_exec(store, err, "UPDATE token SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL", "ii", id, now_ms);
}

int store_token_touch(struct store *store, int64_t id, int64_t now_ms, struct error *err)
{
    return store_exec(store, err, "UPDATE token SET last_used = ?2 WHERE id = ?1", "ii", id, now_ms);
}
