#include "daemon/store/family.h"

#include "daemon/store/internal.h"

#include <stdio.h>

/* Reads one number by a query. Returns 1 with *n, 0 if there is no row, -1 on error. */
static int family_read_number(struct store *store, sqlite3_stmt *stmt, int64_t *n, struct error *err)
{
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        *n = sqlite3_column_int64(stmt, 0);
        store_done(stmt);
    }
    return rc;
}

int store_family_newest(struct store *store, int64_t root, struct ensemble_row *row, struct error *err)
{
    int64_t id = root;

    if (family_read_number(
            store,
            store_query(store, err, "SELECT id FROM ensemble WHERE root = ?1 ORDER BY id DESC LIMIT 1", "i", root), &id,
            err) < 0)
        return -1;
    return store_ensemble_get(store, id, row, err);
}

int store_family_open(struct store *store, int64_t root, int64_t *id, struct error *err)
{
    return family_read_number(
        store,
        store_query(store, err,
                    "SELECT e.id FROM ensemble e WHERE (e.id = ?1 OR e.root = ?1) AND (e.ended IS NULL OR EXISTS "
                    "(SELECT 1 FROM tally t WHERE t.ensemble = e.id AND t.state NOT IN (" MEMBER_STATES_FINAL
                    ") AND t.n > 0)) ORDER BY e.id DESC LIMIT 1",
                    "i", root),
        id, err);
}

int store_family_follow_ups(struct store *store, int64_t root, int64_t *n, struct error *err)
{
    return family_read_number(
               store, store_query(store, err, "SELECT count(*) FROM ensemble WHERE root = ?1", "i", root), n, err) < 0
               ? -1
               : 0;
}

int store_family_tally(struct store *store, int64_t root, int64_t n[MEMBER_STATE_COUNT], struct error *err)
{
    int64_t awaited = 0; /* members that follow-ups have not taken over yet, which count as pending there */

    if (family_read_number(store,
                           store_query(store, err,
                                       "SELECT coalesce(sum(count - next_index), 0) FROM ensemble WHERE root = ?1", "i",
                                       root),
                           &awaited, err) < 0 ||
        store_read_tally(
            store,
            store_query(store, err,
                        "SELECT t.state, sum(t.n - t.handed) FROM ensemble e JOIN tally t ON t.ensemble = e.id WHERE "
                        "e.id = ?1 OR e.root = ?1 GROUP BY t.state",
                        "i", root),
            n, err) < 0)
        return -1;
    n[MEMBER_PENDING] -= awaited;
    return 0;
}

static void read_root(sqlite3_stmt *stmt, int64_t *root)
{
    *root = sqlite3_column_int64(stmt, 0);
}

int store_family_each_unfinished(struct store *store, int64_t after, int limit,
                                 int (*each)(void *arg, const int64_t *root), void *arg, struct error *err)
{
    int64_t root;

    return store_each_row(
        store,
        store_query(store, err,
                    "SELECT DISTINCT coalesce(e.root, e.id) AS family FROM tally t INDEXED BY tally_unfinished JOIN "
                    "ensemble e ON e.id = t.ensemble WHERE t.state = 'unfinished' AND t.n > t.handed AND family > ?1 "
                    "ORDER BY family LIMIT ?2",
                    "ii", after, (int64_t)limit),
        read_root, &root, each, arg, err);
}

int store_family_unfinished(struct store *store, int64_t *n, struct error *err)
{
    return family_read_number(
               store,
               store_query(store, err,
                           "SELECT count(DISTINCT coalesce(e.root, e.id)) FROM tally t INDEXED BY tally_unfinished "
                           "CROSS JOIN ensemble e ON e.id = t.ensemble WHERE t.state = 'unfinished' AND t.n > "
                           "t.handed",
                           ""),
               n, err) < 0
               ? -1
               : 0;
}

int store_follow_up_of(struct store *store, int64_t ensemble, int64_t *id, struct error *err)
{
    return family_read_number(
        store, store_query(store, err, "SELECT id FROM ensemble WHERE parent = ?1", "i", ensemble), id, err);
}

int store_handed_get(struct store *store, int64_t ensemble, int64_t n[MEMBER_STATE_COUNT], struct error *err)
{
    return store_read_tally(
        store, store_query(store, err, "SELECT state, handed FROM tally WHERE ensemble = ?1", "i", ensemble), n, err);
}

int store_handover_add(struct store *store, const struct ensemble_row *row, enum member_state state, struct error *err)
{
    if (store_tallies_write(store, err) < 0)
        return -1;
    return store_exec(
        store, err,
        "INSERT INTO handover (ensemble, source, state) SELECT ?1, e.id, t.state FROM ensemble e JOIN tally t ON "
        "t.ensemble = e.id WHERE (e.id = ?2 OR e.root = ?2) AND e.id <> ?1 AND t.state = ?3 AND t.n > t.handed",
        "iit", row->id, row->root, member_state_name(state));
}

struct slice {
    int64_t source, first, last, n;
    char state[16];
};

/* Finds the next members to hand on. Returns 1 with the slice, which has no members if its source and state have no
 * more to give; 0 if the handover is done; -1 on error. */
static int find_slice(struct store *store, int64_t ensemble, int limit, struct slice *slice, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT source, state, next FROM handover WHERE ensemble = ?1 ORDER BY source, state LIMIT 1", "i",
        ensemble);
    int rc = stmt ? store_row(store, stmt, err) : -1;
    enum member_state state;

    if (rc <= 0)
        return rc;
    slice->source = sqlite3_column_int64(stmt, 0);
    store_text(stmt, 1, slice->state, sizeof slice->state);
    slice->first = sqlite3_column_int64(stmt, 2);
    if (store_row_taken(store, stmt, err) < 0)
        return -1;
    if (member_state_parse(slice->state, &state) < 0)
        return error_set(err, "store_io", "a handover to ensemble %lld names no state of members", (long long)ensemble);
    return store_member_slice(store, slice->source, state, slice->first, limit, &slice->n, &slice->last, err) < 0 ? -1
                                                                                                                  : 1;
}

static int hand_on_slice(struct store *store, int64_t ensemble, const struct slice *slice, struct error *err)
{
    if (store_exec(
            store, err,
            "UPDATE member INDEXED BY member_by_state SET successor = ?5 WHERE ensemble = ?1 AND state = ?2 AND idx "
            "BETWEEN ?3 AND ?4 AND successor IS NULL",
            "itiii", slice->source, slice->state, slice->first, slice->last, ensemble) < 0 ||
        store_exec(
            store, err,
            "INSERT INTO member (ensemble, idx, state, not_before, stalls, predecessor, since, since_in, priority) "
            "SELECT ?5, idx, 'pending', ?6, iif(state = 'unfinished', stalls, 0), ensemble, since, "
            "iif(since > 0 AND since_in = 0, ensemble, since_in), priority "
            "FROM member INDEXED BY member_by_state WHERE ensemble = ?1 AND state = ?2 AND idx BETWEEN ?3 "
            "AND ?4 AND successor = ?5 ORDER BY idx",
            "itiiii", slice->source, slice->state, slice->first, slice->last, ensemble, MEMBER_AT_ONCE) < 0)
        return -1;
    return 0;
}

static void span_widen(struct member_span *span, const struct slice *slice)
{
    span->first = slice->first < span->first ? slice->first : span->first;
    span->last = slice->last > span->last ? slice->last : span->last;
}

int store_handover_take(struct store *store, int64_t ensemble, int limit, int64_t *n, struct member_span *span,
                        struct error *err)
{
    struct slice slice;
    int rc;

    *n = 0;
    if (span != NULL)
        *span = (struct member_span){INT64_MAX, -1};
    while ((rc = find_slice(store, ensemble, limit - (int)*n, &slice, err)) == 1) {
        if (slice.n > 0 && hand_on_slice(store, ensemble, &slice, err) < 0)
            return -1;
        if (slice.n > 0 && span != NULL)
            span_widen(span, &slice);
        *n += slice.n;
        if (*n == limit)
            return store_exec(store, err,
                              "UPDATE handover SET next = ?4 WHERE ensemble = ?1 AND source = ?2 AND state = ?3",
                              "iiti", ensemble, slice.source, slice.state, slice.last + 1) < 0
                       ? -1
                       : 1;
        if (store_exec(store, err, "DELETE FROM handover WHERE ensemble = ?1 AND source = ?2 AND state = ?3", "iit",
                       ensemble, slice.source, slice.state) < 0)
            return -1;
    }
    return rc;
}

int store_handover_end(struct store *store, struct ensemble_row *row, struct error *err)
{
    int64_t missing = row->count - row->next_index;

    row->count = row->next_index;
    if (store_exec(store, err, "DELETE FROM handover WHERE ensemble = ?1", "i", row->id) < 0)
        return -1;
    store_tally_add(store, row->id, MEMBER_PENDING, -missing);
    return store_exec(store, err, "UPDATE ensemble SET count = ?2, next_index = ?2 WHERE id = ?1", "ii", row->id,
                      row->count);
}

int store_handover_in(struct store *store, int64_t root, int64_t *id, struct error *err)
{
    return family_read_number(
        store,
        store_query(store, err,
                    "SELECT h.ensemble FROM handover h JOIN ensemble e ON e.id = h.ensemble WHERE e.root = ?1 LIMIT 1",
                    "i", root),
        id, err);
}
