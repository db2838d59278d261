#include "daemon/store/member.h"

#include "daemon/store/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS                                                                                                        \
    "ensemble, idx, state, attempts, failures, losses, not_before, reason, stalls, since, since_in, predecessor, "     \
    "successor, progress, rung"

int64_t member_counts_open(const int64_t n[MEMBER_STATE_COUNT])
{
    int64_t open = 0;

    for (enum member_state state = 0; state < MEMBER_STATE_COUNT; state++)
        open += member_state_is_final(state) ? 0 : n[state];
    return open;
}

enum member_state store_member_state(sqlite3_stmt *stmt, int column)
{
    const unsigned char *name = sqlite3_column_text(stmt, column);
    enum member_state state;

    if (name == NULL || member_state_parse((const char *)name, &state) < 0)
        return MEMBER_FAILED; /* the column can have no other names */
    return state;
}

static void member_row_read(sqlite3_stmt *stmt, struct member_row *row)
{
    row->ensemble = sqlite3_column_int64(stmt, 0);
    row->index = sqlite3_column_int64(stmt, 1);
    row->state = store_member_state(stmt, 2);
    row->attempts = sqlite3_column_int64(stmt, 3);
    row->failures = sqlite3_column_int64(stmt, 4);
    row->losses = sqlite3_column_int64(stmt, 5);
    row->not_before_ms = sqlite3_column_int64(stmt, 6);
    store_text(stmt, 7, row->reason, sizeof row->reason);
    row->stalls = sqlite3_column_int64(stmt, 8);
    row->since = sqlite3_column_int64(stmt, 9);
    row->since_in = sqlite3_column_int64(stmt, 10);
    row->predecessor = sqlite3_column_int64(stmt, 11);
    row->successor = sqlite3_column_int64(stmt, 12);
    row->rung = sqlite3_column_int64(stmt, 14);
    row->progress = sqlite3_column_type(stmt, 13) != SQLITE_NULL ? sqlite3_column_double(stmt, 13) : NAN;
}

int store_member_progress(struct store *store, int64_t ensemble, int64_t index, double progress, struct error *err)
{
    return store_exec(store, err, "UPDATE member SET progress = ?3 WHERE ensemble = ?1 AND idx = ?2", "iid", ensemble,
                      index, progress);
}

int store_member_get(struct store *store, int64_t ensemble, int64_t index, struct member_row *row, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT " COLUMNS " FROM member WHERE ensemble = ?1 AND idx = ?2",
                                     "ii", ensemble, index);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        member_row_read(stmt, row);
        rc = store_row_taken(store, stmt, err);
    }
    return rc;
}

static int members_each(struct store *store, sqlite3_stmt *stmt, int (*each)(void *, const struct member_row *),
                        void *arg, struct error *err)
{
    struct member_row row;

    return store_each_row(store, stmt, member_row_read, &row, each, arg, err);
}

int store_member_each(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int limit,
                      int (*each)(void *arg, const struct member_row *row), void *arg, struct error *err)
{
    sqlite3_stmt *stmt;

    if (state == MEMBER_STATE_COUNT)
        stmt = store_query(store, err,
                           "SELECT " COLUMNS " FROM member WHERE ensemble = ?1 AND idx >= ?2 ORDER BY idx LIMIT ?3",
                           "iii", ensemble, from, (int64_t)limit);
    else
        stmt = store_query(store, err,
                           "SELECT " COLUMNS " FROM member WHERE ensemble = ?1 AND state = ?2 AND idx >= ?3 "
                           "ORDER BY idx LIMIT ?4",
                           "itii", ensemble, member_state_name(state), from, (int64_t)limit);
    return members_each(store, stmt, each, arg, err);
}

int store_member_each_between(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int64_t to,
                              int (*each)(void *arg, const struct member_row *row), void *arg, struct error *err)
{
    return members_each(
        store,
        store_query(store, err,
                    "SELECT " COLUMNS
                    " FROM member INDEXED BY member_by_state WHERE ensemble = ?1 AND state = ?2 AND idx "
                    "BETWEEN ?3 AND ?4 ORDER BY idx",
                    "itii", ensemble, member_state_name(state), from, to),
        each, arg, err);
}

int store_member_each_state(struct store *store, int64_t ensemble, int64_t from, int64_t end,
                            int (*each)(void *arg, int64_t index, enum member_state state), void *arg,
                            struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT idx, state FROM member WHERE ensemble = ?1 AND idx >= ?2 AND idx < ?3 ORDER BY idx", "iii",
        ensemble, from, end);
    int rc = stmt != NULL ? 1 : -1;

    while (rc == 1 && (rc = store_row(store, stmt, err)) == 1) {
        enum member_state state = store_member_state(stmt, 1);

        if (store_read_whole(store, stmt, err) < 0)
            rc = -1;
        else if (each(arg, sqlite3_column_int64(stmt, 0), state))
            rc = 0;
        if (rc != 1)
            store_done(stmt);
    }
    return rc;
}

int store_member_slice(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int limit,
                       int64_t *n, int64_t *last, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err,
        "SELECT count(*), max(idx) FROM (SELECT idx FROM member INDEXED BY member_by_state WHERE ensemble = ?1 AND "
        "state = ?2 AND idx >= ?3 AND successor IS NULL ORDER BY idx LIMIT ?4)",
        "itii", ensemble, member_state_name(state), from, (int64_t)limit);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        *n = sqlite3_column_int64(stmt, 0);
        *last = sqlite3_column_int64(stmt, 1);
        store_done(stmt);
    }
    return rc == 1 ? 0 : -1;
}

int store_member_next_due(struct store *store, int64_t ensemble, int64_t *when_ms, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err,
                    "SELECT not_before FROM member INDEXED BY member_due WHERE ensemble = ?1 AND state = 'pending' "
                    "ORDER BY not_before LIMIT 1",
                    "i", ensemble);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc < 0)
        return -1;
    *when_ms = rc == 1 ? sqlite3_column_int64(stmt, 0) : INT64_MAX;
    if (rc == 1)
        store_done(stmt);
    return 0;
}

int store_member_wait_at_most(struct store *store, int64_t ensemble, int64_t now_ms, int64_t when_ms, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err,
                    "SELECT 1 FROM member INDEXED BY member_due WHERE ensemble = ?1 AND state = 'pending' AND "
                    "not_before > ?2 LIMIT 1",
                    "ii", ensemble, when_ms);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc <= 0)
        return rc;
    store_done(stmt);
    return store_exec(
        store, err,
        "UPDATE member INDEXED BY member_due SET not_before = ?2 WHERE ensemble = ?1 AND state = 'pending' AND "
        "not_before > ?2 AND ?3 < (SELECT max(a.ended) FROM attempt a WHERE a.ensemble = ?1 AND a.idx = member.idx)",
        "iii", ensemble, when_ms, now_ms);
}

int store_member_each_due(struct store *store, int64_t ensemble, int64_t now_ms, int limit,
                          int (*each)(void *arg, const struct member_row *row), void *arg, struct error *err)
{
    return members_each(
        store,
        store_query(
            store, err,
            "SELECT " COLUMNS " FROM member INDEXED BY member_due WHERE ensemble = ?1 AND "
            "state = 'pending' AND not_before <= ?2 ORDER BY not_before, rung DESC, priority DESC, idx LIMIT ?3",
            "iii", ensemble, now_ms, (int64_t)limit),
        each, arg, err);
}
