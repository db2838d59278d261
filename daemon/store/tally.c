/* Counts members by state. The triggers of the member table report each move of a member from state to state, whichever
 * statement makes it, to the SQL functions here (migrations/0001-initial.sql). The moves are summed up, and the sums
 * are written by one statement each before anything reads the tallies, and at the latest before the commit. Members and
 * their tallies are committed together, and rolled back together. Other consequences are in member_change.c. */
#include "daemon/store/internal.h"

#include "common/stretto_assert.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct sums {
    int64_t ensemble;
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

/* The SQL function stretto_moved(ENSEMBLE, FROM, TO) */
static void sql_moved(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct store *store = sqlite3_user_data(context);
    enum member_state from, to;
    struct sums *sums;

    if (!read_state(context, values[1], &from) || !read_state(context, values[2], &to))
        return;
    sums = sums_of(store->tallies, sqlite3_value_int64(values[0]));
    stretto_assert(from != to);
    sums->n[from]--;
    sums->n[to]++;
}

/* The SQL function stretto_handed(ENSEMBLE, STATE) */
static void sql_handed(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct store *store = sqlite3_user_data(context);
    enum member_state state;

    if (read_state(context, values[1], &state))
        sums_of(store->tallies, sqlite3_value_int64(values[0]))->handed[state]++;
}

int store_tallies_init(struct store *store, struct error *err)
{
    store->tallies = xcalloc(1, sizeof *store->tallies);
    if (sqlite3_create_function(store->db, "stretto_moved", 3, SQLITE_UTF8, store, sql_moved, NULL, NULL) !=
            SQLITE_OK ||
        sqlite3_create_function(store->db, "stretto_handed", 2, SQLITE_UTF8, store, sql_handed, NULL, NULL) !=
            SQLITE_OK)
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
        final += member_state_is_final(state) ? sums->n[state] : 0;
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
