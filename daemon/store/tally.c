/* The triggers of the member table report each move of a member from state to state, whichever statement makes it, to
 * the SQL functions here, which do what follows from it (migrations/0001-initial.sql).
 *
 * Tallies, which say how many members of an ensemble are in which state, are summed up. The sums are written by one
 * statement each before anything reads the tallies, and at the latest before the commit: members and their tallies are
 * committed together, and rolled back together. Results of open ensembles and arrivals at rungs are written at once. */
#include "daemon/store/internal.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct sums {
    int64_t ensemble;
    enum { OPEN_UNKNOWN, OPEN_NO, OPEN_YES } open; /* whether its members' ends are results */
    int64_t n[MEMBER_STATE_COUNT], handed[MEMBER_STATE_COUNT];
};

struct store_tallies {
    struct sums *list;
    size_t n, cap, last; /* `last` is the index of the ensemble that was looked up last */
};

static struct sums *sums_of(struct store_tallies *t, int64_t ensemble)
{
    if (t->last < t->n && t->list[t->last].ensemble == ensemble)
        return &t->list[t->last];
    for (t->last = 0; t->last < t->n; t->last++)
        if (t->list[t->last].ensemble == ensemble)
            return &t->list[t->last];
    if (t->n == t->cap) {
        t->cap = t->cap > 0 ? 2 * t->cap : 8;
        t->list = xrealloc(t->list, t->cap, sizeof *t->list);
    }
    t->list[t->n] = (struct sums){.ensemble = ensemble};
    return &t->list[t->n++];
}

static bool read_state(sqlite3_context *context, sqlite3_value *value, enum member_state *state)
{
    const char *name = (const char *)sqlite3_value_text(value);

    if (name == NULL) /* SQLite had no memory, since a state is never null */
        sqlite3_result_error_nomem(context);
    else if (member_state_parse(name, state) == 0)
        return true;
    else
        sqlite3_result_error(context, "no state of members", -1);
    return false;
}

static bool is_final(enum member_state state)
{
    return state != MEMBER_PENDING && state != MEMBER_SUBMITTED && state != MEMBER_RUNNING;
}

/* Returns 1 if the ensemble is, or once was, open for suggestions, 0 if not, -1 on failure. */
static int is_open(struct store *store, struct sums *sums, struct error *err)
{
    static const char sql[] = "SELECT 1 FROM ensemble WHERE id = ?1 AND intake IS NOT NULL";
    sqlite3_stmt *stmt;
    int rc;

    if (sums->open == OPEN_UNKNOWN) {
        if ((stmt = store_prepared(store, sql, err)) == NULL)
            return -1;
        sqlite3_bind_int64(stmt, 1, sums->ensemble);
        rc = sqlite3_step(stmt);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            store_error(store, sql, err);
        store_done(stmt);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            return -1;
        sums->open = rc == SQLITE_ROW ? OPEN_YES : OPEN_NO;
    }
    return sums->open == OPEN_YES;
}

/* A member of an open ensemble that ends, for the first time or again, becomes the family's newest result. */
static int add_result(struct store *store, int64_t ensemble, int64_t index, struct error *err)
{
    return store_exec(
        store, err,
        "INSERT INTO result (root, number, ensemble, idx) SELECT coalesce(e.root, e.id), 1 + "
        "coalesce((SELECT max(number) FROM result WHERE root = coalesce(e.root, e.id)), 0), e.id, ?2 FROM "
        "ensemble e WHERE e.id = ?1 ON CONFLICT (root, idx) DO UPDATE SET number = excluded.number, "
        "ensemble = excluded.ensemble",
        "ii", ensemble, index);
}

/* A member that has ended and goes on without a promotion was resubmitted: it is not stopped where it was before. A
 * stopped member that is cancelled is never promoted. */
static int leave_rung(struct store *store, int64_t ensemble, int64_t index, enum member_state to, struct error *err)
{
    return store_exec(
        store, err,
        "UPDATE arrival SET promoted = ?3 WHERE ensemble = ?1 AND (promoted = 0 OR promoted = -2) AND "
        "number = (SELECT number FROM arrival WHERE ensemble = ?1 AND idx = ?2 ORDER BY rung DESC LIMIT 1)",
        "iib", ensemble, index, to == MEMBER_PENDING ? -1 : -2);
}

static int follow_move(struct store *store, struct sums *sums, int64_t index, enum member_state from,
                       enum member_state to, struct error *err)
{
    int64_t ensemble = sums->ensemble;
    int open = is_final(to) ? is_open(store, sums, err) : 0;

    if (open < 0 || (open && add_result(store, ensemble, index, err) < 0))
        return -1;
    if ((to == MEMBER_PENDING && is_final(from) && from != MEMBER_SUCCEEDED) ||
        (to == MEMBER_CANCELLED && from == MEMBER_STOPPED))
        return leave_rung(store, ensemble, index, to, err);
    return 0;
}

/* The SQL function stretto_moved(ENSEMBLE, INDEX, FROM, TO) */
static void moved(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct store *store = sqlite3_user_data(context);
    enum member_state from, to;
    struct sums *sums;
    struct error err;

    if (!read_state(context, values[2], &from) || !read_state(context, values[3], &to))
        return;
    sums = sums_of(store->tallies, sqlite3_value_int64(values[0]));
    sums->n[from]--;
    sums->n[to]++;
    if (follow_move(store, sums, sqlite3_value_int64(values[1]), from, to, &err) < 0) {
        int code = sqlite3_errcode(store->db);

        sqlite3_result_error(context, err.text, -1);
        sqlite3_result_error_code(context, code);
    }
}

/* The SQL function stretto_handed(ENSEMBLE, STATE) */
static void handed(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct store *store = sqlite3_user_data(context);
    enum member_state state;

    if (read_state(context, values[1], &state))
        sums_of(store->tallies, sqlite3_value_int64(values[0]))->handed[state]++;
}

int store_tallies_init(struct store *store, struct error *err)
{
    store->tallies = xcalloc(1, sizeof *store->tallies);
    if (sqlite3_create_function(store->db, "stretto_moved", 4, SQLITE_UTF8, store, moved, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(store->db, "stretto_handed", 2, SQLITE_UTF8, store, handed, NULL, NULL) != SQLITE_OK)
        return store_error(store, "cannot count members", err);
    return 0;
}

void store_tallies_free(struct store *store)
{
    if (store->tallies != NULL)
        free(store->tallies->list);
    free(store->tallies);
    store->tallies = NULL;
}

void store_tallies_drop(struct store *store)
{
    if (store->tallies != NULL)
        store->tallies->n = 0;
}

static int write_sum(struct store *store, const struct sums *sums, enum member_state state, struct error *err)
{
    if (sums->n[state] == 0 && sums->handed[state] == 0)
        return 0;
    if (store_exec(store, err, "UPDATE tally SET n = n + ?3, handed = handed + ?4 WHERE ensemble = ?1 AND state = ?2",
                   "itii", sums->ensemble, member_state_name(state), sums->n[state], sums->handed[state]) < 0)
        return -1;
    if (store_changes(store) == 1)
        return 0;
    error_set(err, "store_io", "there is no tally of the members of ensemble %lld that are %s (%s)",
              (long long)sums->ensemble, member_state_name(state), store->path);
    return store_doom(store, err);
}

static int write_progress(struct store *store, const struct sums *sums, struct error *err)
{
    int64_t final = 0;

    for (enum member_state state = 0; state < MEMBER_STATE_COUNT; state++)
        final += is_final(state) ? sums->n[state] : 0;
    return final == 0 ? 0
                      : store_exec(store, err, "UPDATE progress SET final = final + ?2 WHERE ensemble = ?1", "ii",
                                   sums->ensemble, final);
}

int store_tallies_write(struct store *store, struct error *err)
{
    size_t n = store->tallies != NULL ? store->tallies->n : 0;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct sums *sums = &store->tallies->list[i];

        for (enum member_state state = 0; state < MEMBER_STATE_COUNT && rc == 0; state++)
            rc = write_sum(store, sums, state, err);
        if (rc == 0)
            rc = write_progress(store, sums, err);
    }
    store_tallies_drop(store); /* after a failure, too, since everything is rolled back */
    return rc;
}

void store_tally_add(struct store *store, int64_t ensemble, enum member_state state, int64_t n)
{
    sums_of(store->tallies, ensemble)->n[state] += n;
}
