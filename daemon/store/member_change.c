/* Writes the states of members. Consequences in other tables are written here as well, for one member by
 * store_member_change() and for many by store_member_reset() and store_member_cancel(). */
#include "daemon/store/internal.h"

#include "common/stretto_assert.h"
#include "daemon/store/rung.h"
#include "daemon/store/suggestion.h"

struct member_change {
    int64_t ensemble, index;
    enum member_state from, to;
    bool open; /* the ensemble is, or once was, open for suggestions */
};

/* Each change of a member's state passes here, except changes to `submitted` and `running`, from which nothing
 * follows. */
static int follow_change(struct store *store, const struct member_change *change, struct error *err)
{
    enum member_state from = change->from, to = change->to;

    if (from == to)
        return 0;
    if (change->open && member_state_is_final(to) && store_result_add(store, change->ensemble, change->index, err) < 0)
        return -1;
    /* a member that succeeded was not stopped at a rung */
    if (to == MEMBER_PENDING && member_state_is_final(from) && from != MEMBER_SUCCEEDED)
        return store_arrival_leave(store, change->ensemble, change->index, ARRIVAL_BY_HAND, err);
    if (to == MEMBER_CANCELLED && from == MEMBER_STOPPED)
        return store_arrival_leave(store, change->ensemble, change->index, ARRIVAL_CANCELLED, err);
    return 0;
}

/* Reads what a change of one member needs to know. A member without a row is pending. */
static int read_before_change(struct store *store, struct member_change *change, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err,
                    "SELECT coalesce((SELECT state FROM member WHERE ensemble = ?1 AND idx = ?2), 'pending'), EXISTS "
                    "(SELECT 1 FROM ensemble INDEXED BY ensemble_open WHERE id = ?1 AND intake IS NOT NULL)",
                    "ii", change->ensemble, change->index);

    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    change->from = store_member_state(stmt, 0);
    change->open = sqlite3_column_int(stmt, 1);
    return store_row_taken(store, stmt, err) == 1 ? 0 : -1;
}

static int member_insert(struct store *store, const struct member_row *row, struct error *err)
{
    return store_exec(store, err,
                      "INSERT INTO member (ensemble, idx, state, attempts, failures, losses, not_before, reason, "
                      "stalls, since, since_in, rung) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
                      "ON CONFLICT (ensemble, idx) DO UPDATE SET state = ?3, attempts = ?4, failures = ?5, "
                      "losses = ?6, not_before = ?7, reason = ?8, stalls = ?9, since = ?10, since_in = ?11, rung = ?12",
                      "iitiiiitiiii", row->ensemble, row->index, member_state_name(row->state), row->attempts,
                      row->failures, row->losses, row->not_before_ms, row->reason[0] ? row->reason : NULL, row->stalls,
                      row->since, row->since_in, row->rung);
}

static int member_update(struct store *store, const struct member_row *row, struct error *err)
{
    return store_exec(
        store, err,
        "UPDATE member SET state = ?3, attempts = ?4, failures = ?5, losses = ?6, not_before = ?7, reason = ?8, stalls "
        "= ?9, since = ?10, since_in = ?11, rung = ?12 WHERE ensemble = ?1 AND idx = ?2",
        "iitiiiitiiii", row->ensemble, row->index, member_state_name(row->state), row->attempts, row->failures,
        row->losses, row->not_before_ms, row->reason[0] ? row->reason : NULL, row->stalls, row->since, row->since_in,
        row->rung);
}

static int change_one(struct store *store, const struct member_row *row,
                      int (*write)(struct store *store, const struct member_row *row, struct error *err),
                      struct error *err)
{
    struct member_change change = {.ensemble = row->ensemble, .index = row->index, .to = row->state};

    if (row->state == MEMBER_SUBMITTED || row->state == MEMBER_RUNNING)
        return write(store, row, err);
    stretto_assert(row->state < MEMBER_STATE_COUNT);
    if (store_begin(store, err) < 0 || read_before_change(store, &change, err) < 0 || write(store, row, err) < 0)
        return -1;
    return follow_change(store, &change, err);
}

int store_member_put(struct store *store, const struct member_row *row, struct error *err)
{
    return change_one(store, row, member_insert, err);
}

int store_member_change(struct store *store, const struct member_row *row, struct error *err)
{
    return change_one(store, row, member_update, err);
}

/* Reads whether anything can follow from changes of the ensemble's members: whether it is open, or has rungs. Returns
 * 1, 0 or -1. */
static int look_at_all(struct store *store, struct member_change *change, struct error *err)
{
    sqlite3_stmt *stmt;
    bool rungs;

    if (store_begin(store, err) < 0)
        return -1;
    stmt = store_query(store, err,
                       "SELECT EXISTS (SELECT 1 FROM ensemble INDEXED BY ensemble_open WHERE id = ?1 AND intake IS NOT "
                       "NULL), EXISTS (SELECT 1 FROM rung WHERE ensemble = ?1)",
                       "i", change->ensemble);
    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    change->open = sqlite3_column_int(stmt, 0);
    rungs = sqlite3_column_int(stmt, 1);
    store_done(stmt);
    return change->open || rungs;
}

/* Does what follows for each row of a query, NULL if it could not be started: the index of a member, and whether it
 * becomes cancelled rather than pending. */
static int follow_each(struct store *store, sqlite3_stmt *stmt, struct member_change *change, struct error *err)
{
    int rc = stmt != NULL ? 0 : -1;

    while (rc == 0 && (rc = store_row(store, stmt, err)) == 1) {
        change->index = sqlite3_column_int64(stmt, 0);
        change->to = sqlite3_column_int(stmt, 1) ? MEMBER_CANCELLED : MEMBER_PENDING;
        rc = follow_change(store, change, err);
        if (rc < 0)
            store_done(stmt);
    }
    return rc;
}

#define IS_CANCELLED "EXISTS (SELECT 1 FROM cancellation c WHERE c.ensemble = member.ensemble AND c.idx = member.idx)"
#define TO_RESET                                                                                                       \
    "ensemble = ?1 AND state = ?2 AND idx BETWEEN ?3 AND ?4 AND successor IS NULL AND NOT (?2 = 'cancelled' "          \
    "AND " IS_CANCELLED ")"

int store_member_reset(struct store *store, int64_t ensemble, enum member_state state, int64_t from, int64_t last,
                       bool afresh, struct error *err)
{
    struct member_change change = {.ensemble = ensemble, .from = state};
    const char *name = member_state_name(state);
    int rc = look_at_all(store, &change, err);

    if (rc == 1)
        rc = follow_each(store,
                         store_query(store, err,
                                     "SELECT idx, " IS_CANCELLED
                                     " FROM member INDEXED BY member_by_state WHERE " TO_RESET " ORDER BY idx",
                                     "itii", ensemble, name, from, last),
                         &change, err);
    if (rc < 0)
        return -1;
    return store_exec(
        store, err,
        "UPDATE member INDEXED BY member_by_state SET state = iif(" IS_CANCELLED
        ", 'cancelled', 'pending'), failures = 0, losses = 0, not_before = ?6, rung = 0, reason = NULL, stalls = "
        "0, since = iif(?5, attempts + 1, since), since_in = iif(?5, 0, since_in) WHERE " TO_RESET,
        "itiibi", ensemble, name, from, last, (int)afresh, MEMBER_AT_ONCE);
}

#define TO_CANCEL "ensemble = ?1 AND state = 'pending' AND idx BETWEEN ?2 AND ?3"

int store_member_cancel(struct store *store, int64_t ensemble, int64_t from, int64_t last, struct error *err)
{
    struct member_change change = {.ensemble = ensemble, .from = MEMBER_PENDING};
    int rc = look_at_all(store, &change, err);

    if (rc == 1)
        rc = follow_each(store,
                         store_query(store, err,
                                     "SELECT idx, 1 FROM member INDEXED BY member_by_state WHERE " TO_CANCEL
                                     " ORDER BY idx",
                                     "iii", ensemble, from, last),
                         &change, err);
    if (rc < 0)
        return -1;
    return store_exec(store, err, "UPDATE member INDEXED BY member_by_state SET state = 'cancelled' WHERE " TO_CANCEL,
                      "iii", ensemble, from, last);
}
