#include "daemon/store/ensemble.h"

#include "daemon/store/internal.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MAX INT64_C(1000000000000000) /* far more members than an ensemble can have */

static const char *const names[] = {"running", "paused", "complete", "cancelled", "failed"};
static const char *const intakes[] = {[INTAKE_OPEN] = "open", [INTAKE_CLOSED] = "closed"};

#define COLUMNS STORE_ENSEMBLE_COLUMNS

const char *ensemble_state_name(enum ensemble_state state)
{
    return names[state];
}

void store_ensemble_read(sqlite3_stmt *stmt, struct ensemble_row *row)
{
    char state[16];

    row->id = sqlite3_column_int64(stmt, 0);
    store_text(stmt, 1, row->name, sizeof row->name);
    store_text(stmt, 2, state, sizeof state);
    for (row->state = ENSEMBLE_RUNNING; row->state < ENSEMBLE_FAILED && strcmp(names[row->state], state); row->state++)
        ;
    store_text(stmt, 3, row->reason, sizeof row->reason);
    store_text(stmt, 4, row->adapter, sizeof row->adapter);
    store_text(stmt, 5, row->stream_key, sizeof row->stream_key);
    row->count = sqlite3_column_int64(stmt, 6);
    row->width = sqlite3_column_int64(stmt, 7);
    row->next_index = sqlite3_column_int64(stmt, 8);
    row->created_ms = sqlite3_column_int64(stmt, 9);
    row->ended_ms = sqlite3_column_int64(stmt, 10);
    row->root = sqlite3_column_int64(stmt, 11);
    row->parent = sqlite3_column_int64(stmt, 12);
    store_text(stmt, 13, row->paused_by, sizeof row->paused_by);
    row->paused_ms = sqlite3_column_int64(stmt, 14);
    store_text(stmt, 15, state, sizeof state);
    row->intake = state[0] == '\0'                           ? INTAKE_NONE
                  : strcmp(state, intakes[INTAKE_OPEN]) == 0 ? INTAKE_OPEN
                                                             : INTAKE_CLOSED;
    row->after = sqlite3_column_int64(stmt, 16);
}

int store_ensemble_insert(struct store *store, struct ensemble_row *row, const char *spec, struct error *err)
{
    if (store_exec(
            store, err,
            "INSERT INTO ensemble (name, state, adapter, spec, stream_key, count, width, next_index, created, root, "
            "parent, intake, after) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            "tttttiiiimmtm", row->name, names[row->state], row->adapter, spec, row->stream_key, row->count, row->width,
            row->next_index, row->created_ms, row->root, row->parent, intakes[row->intake], row->after) < 0)
        return -1;
    row->id = store_last_id(store);
    return 0;
}

int store_ensemble_update(struct store *store, const struct ensemble_row *row, struct error *err)
{
    return store_exec(store, err,
                      "UPDATE ensemble SET state = ?2, reason = ?3, width = ?4, next_index = ?5, ended = ?6, "
                      "paused_by = ?7, paused = ?8, intake = ?9, after = ?10 WHERE id = ?1",
                      "ittiimtmtm", row->id, names[row->state], row->reason[0] ? row->reason : NULL, row->width,
                      row->next_index, row->ended_ms, row->paused_by[0] ? row->paused_by : NULL, row->paused_ms,
                      intakes[row->intake], row->after);
}

int store_ensemble_advance(struct store *store, int64_t id, int64_t next_index, struct error *err)
{
    return store_exec(store, err, "UPDATE ensemble SET next_index = ?2 WHERE id = ?1", "ii", id, next_index);
}

int store_ensemble_get(struct store *store, int64_t id, struct ensemble_row *row, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT " COLUMNS " FROM ensemble WHERE id = ?1", "i", id);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        store_ensemble_read(stmt, row);
        rc = store_row_taken(store, stmt, err);
    }
    return rc;
}

char *store_ensemble_spec(struct store *store, int64_t id, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT spec FROM ensemble WHERE id = ?1", "i", id);
    char *spec = NULL;

    if (stmt == NULL)
        return NULL;
    switch (store_row(store, stmt, err)) {
    case 1:
        spec = store_text_copy(stmt, 0);
        if (store_row_taken(store, stmt, err) < 0) {
            free(spec);
            spec = NULL;
        }
        break;
    case 0: error_set(err, "ensemble_not_found", "there is no ensemble %lld", (long long)id); break;
    }
    return spec;
}

int store_ensemble_change_spec(struct store *store, int64_t id, const char *spec, struct error *err)
{
    return store_exec(store, err, "UPDATE ensemble SET spec = ?2 WHERE id = ?1", "it", id, spec);
}

static int ensembles_each(struct store *store, sqlite3_stmt *stmt, int (*each)(void *, const struct ensemble_row *),
                          void *arg, struct error *err)
{
    struct ensemble_row row;

    return store_each_row(store, stmt, store_ensemble_read, &row, each, arg, err);
}

const char *store_ensemble_asked(const struct ensemble_filter *filter, enum ensemble_state state)
{
    return filter->states == 0 || filter->states >> state & 1 ? names[state] : NULL;
}

void store_ensemble_pattern(const struct ensemble_filter *filter, char pattern[STORE_PATTERN])
{
    size_t n = 0;

    pattern[n++] = '%';
    for (const char *at = filter->name != NULL ? filter->name : ""; *at != '\0' && n < STORE_PATTERN - 3; at++) {
        if (strchr("%_\\", *at) != NULL)
            pattern[n++] = '\\';
        pattern[n++] = *at;
    }
    pattern[n++] = '%';
    pattern[n] = '\0';
}

#define NAMED " AND name LIKE ?8 ESCAPE '\\'"

/* The index has the ensembles of each state in the order of their ids; SQLite merges them and stops at the limit. */
static sqlite3_stmt *query_states(struct store *store, const struct ensemble_filter *filter, const char *pattern,
                                  int64_t before, int64_t limit, struct error *err)
{
#define OF_STATE(parameter)                                                                                            \
    "SELECT " COLUMNS " FROM ensemble INDEXED BY ensemble_by_state WHERE state = " parameter " AND id < ?1" NAMED
    return store_query(store, err,
                       OF_STATE("?3") " UNION ALL " OF_STATE("?4") " UNION ALL " OF_STATE("?5") " UNION ALL " OF_STATE(
                           "?6") " UNION ALL " OF_STATE("?7") " ORDER BY id DESC LIMIT ?2",
                       "iitttttt", before, limit, store_ensemble_asked(filter, ENSEMBLE_RUNNING),
                       store_ensemble_asked(filter, ENSEMBLE_PAUSED), store_ensemble_asked(filter, ENSEMBLE_COMPLETE),
                       store_ensemble_asked(filter, ENSEMBLE_CANCELLED), store_ensemble_asked(filter, ENSEMBLE_FAILED),
                       pattern);
}

static sqlite3_stmt *query_family(struct store *store, const struct ensemble_filter *filter, const char *pattern,
                                  int64_t before, int64_t limit, struct error *err)
{
    return store_query(store, err,
                       "SELECT " COLUMNS " FROM ensemble WHERE (id = ?9 OR root = ?9) AND id < ?1 AND "
                       "state IN (?3, ?4, ?5, ?6, ?7)" NAMED " ORDER BY id DESC LIMIT ?2",
                       "iitttttti", before, limit, store_ensemble_asked(filter, ENSEMBLE_RUNNING),
                       store_ensemble_asked(filter, ENSEMBLE_PAUSED), store_ensemble_asked(filter, ENSEMBLE_COMPLETE),
                       store_ensemble_asked(filter, ENSEMBLE_CANCELLED), store_ensemble_asked(filter, ENSEMBLE_FAILED),
                       pattern, filter->root);
}

int store_ensemble_each(struct store *store, int64_t before, const struct ensemble_filter *filter, int limit,
                        int (*each)(void *arg, const struct ensemble_row *row), void *arg, struct error *err)
{
    char pattern[STORE_PATTERN];

    store_ensemble_pattern(filter, pattern);
    if (before == 0)
        before = INT64_MAX;
    if (filter->root != 0)
        return ensembles_each(store, query_family(store, filter, pattern, before, limit, err), each, arg, err);
    if (filter->states != 0)
        return ensembles_each(store, query_states(store, filter, pattern, before, limit, err), each, arg, err);
    return ensembles_each(store,
                          store_query(store, err,
                                      "SELECT " COLUMNS " FROM ensemble WHERE id < ?1 AND name LIKE ?3 ESCAPE '\\' "
                                      "ORDER BY id DESC LIMIT ?2",
                                      "iit", before, (int64_t)limit, pattern),
                          each, arg, err);
}

int store_ensemble_each_live(struct store *store, int (*each)(void *arg, const struct ensemble_row *row), void *arg,
                             struct error *err)
{
    return ensembles_each(
        store,
        store_query(store, err,
                    "SELECT " COLUMNS " FROM ensemble WHERE state IN ('running', 'paused') OR id IN "
                    "(SELECT ensemble FROM job WHERE ended IS NULL) OR id IN (SELECT ensemble FROM "
                    "bulk_operation) OR id IN (SELECT ensemble FROM training WHERE state IN ('submitted', "
                    "'running')) ORDER BY id",
                    ""),
        each, arg, err);
}

int store_ensemble_any_of(struct store *store, const char *adapter, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT 1 FROM ensemble WHERE adapter = ?1 UNION ALL "
                                     "SELECT 1 FROM training WHERE adapter = ?1 LIMIT 1",
                                     "t", adapter);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1)
        store_done(stmt);
    return rc;
}

/* Bounds a count that may be damaged. Damage is no reason to refuse everything else, but sums of counts must not
 * overflow. */
static int64_t bounded_number(int64_t n)
{
    return n < 0 ? 0 : n > COUNT_MAX ? COUNT_MAX : n;
}

/* Reads rows of a state's name and a number into an array that is indexed by state. */
static int read_counts(struct store *store, sqlite3_stmt *stmt, const char *const state_names[], int states,
                       int64_t n[], struct error *err)
{
    int rc;

    memset(n, 0, sizeof *n * (size_t)states);
    if (stmt == NULL)
        return -1;
    while ((rc = store_row(store, stmt, err)) == 1) {
        char name[16];

        store_text(stmt, 0, name, sizeof name);
        if (store_read_whole(store, stmt, err) < 0) {
            store_done(stmt);
            return -1;
        }
        for (int i = 0; i < states; i++)
            if (strcmp(state_names[i], name) == 0)
                n[i] = bounded_number(sqlite3_column_int64(stmt, 1));
    }
    return rc;
}

int store_read_tally(struct store *store, sqlite3_stmt *stmt, int64_t n[MEMBER_STATE_COUNT], struct error *err)
{
    const char *member_names[MEMBER_STATE_COUNT];

    for (int i = 0; i < MEMBER_STATE_COUNT; i++)
        member_names[i] = member_state_name((enum member_state)i);
    return read_counts(store, stmt, member_names, MEMBER_STATE_COUNT, n, err);
}

int store_tally_get(struct store *store, int64_t ensemble, int64_t n[MEMBER_STATE_COUNT], struct error *err)
{
    return store_read_tally(
        store, store_query(store, err, "SELECT state, n FROM tally WHERE ensemble = ?1", "i", ensemble), n, err);
}

int store_census_get(struct store *store, int64_t ensembles[ENSEMBLE_STATE_COUNT], int64_t members[MEMBER_STATE_COUNT],
                     struct error *err)
{
    if (read_counts(store, store_query(store, err, "SELECT state, n FROM census", ""), names, ENSEMBLE_STATE_COUNT,
                    ensembles, err) < 0)
        return -1;
    return store_read_tally(
        store,
        store_query(store, err,
                    "SELECT t.state, sum(t.n) FROM ensemble e INDEXED BY ensemble_by_state CROSS JOIN tally t ON "
                    "t.ensemble = e.id WHERE e.state IN ('running', 'paused') GROUP BY t.state",
                    ""),
        members, err);
}

int store_ensemble_cancel_untried(struct store *store, int64_t ensemble, struct error *err)
{
    int64_t n[MEMBER_STATE_COUNT];

    if (store_begin(store, err) < 0 || store_tally_get(store, ensemble, n, err) < 0)
        return -1;
    store_tally_add(store, ensemble, MEMBER_PENDING, -n[MEMBER_PENDING]);
    store_tally_add(store, ensemble, MEMBER_CANCELLED, n[MEMBER_PENDING]);
    return 0;
}

int store_ensemble_restore_untried(struct store *store, int64_t ensemble, struct error *err)
{
    struct ensemble_row row;

    if (store_begin(store, err) < 0 || store_ensemble_get(store, ensemble, &row, err) != 1)
        return -1;
    store_tally_add(store, ensemble, MEMBER_CANCELLED, row.next_index - row.count);
    store_tally_add(store, ensemble, MEMBER_PENDING, row.count - row.next_index);
    return 0;
}

int store_ensemble_skip(struct store *store, int64_t id, struct error *err)
{
    if (store_exec(store, err, "UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'ensemble'", "i", id) < 0)
        return -1;
    return store_exec(store, err,
                      "INSERT INTO sqlite_sequence (name, seq) SELECT 'ensemble', ?1 WHERE NOT EXISTS (SELECT 1 FROM "
                      "sqlite_sequence WHERE name = 'ensemble')",
                      "i", id);
}

int store_ensemble_success(struct store *store, int64_t ensemble, int64_t nth, int64_t *ended_ms, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT ended FROM attempt WHERE ensemble = ?1 AND outcome = 'succeeded' "
                                     "ORDER BY ended DESC LIMIT 1 OFFSET ?2",
                                     "ii", ensemble, nth - 1);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        *ended_ms = sqlite3_column_int64(stmt, 0);
        store_done(stmt);
    }
    return rc;
}

#define IDLE_LEAST_MS 1000  /* a shorter time without a member is the way from one to the next */
#define IDLE_LOOKED_AT 1000 /* successes */

/* Time that is covered by members: from `since` on, up to now. */
struct cover {
    int64_t since_ms, idle_ms;
    bool any;
};

static void cover_by(struct cover *cover, int64_t started_ms, int64_t ended_ms)
{
    int64_t gap = cover->since_ms - ended_ms;

    cover->idle_ms += gap >= IDLE_LEAST_MS ? gap : 0;
    cover->since_ms = started_ms < cover->since_ms ? started_ms : cover->since_ms;
    cover->any = true;
}

/* Returns since when members run that run now; now_ms if none does; -1 with err. */
static int64_t running_since(struct store *store, int64_t ensemble, int64_t now_ms, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT min(started) FROM attempt WHERE ensemble = ?1 AND outcome IS NULL", "i", ensemble);
    int64_t since = now_ms;
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        if (sqlite3_column_type(stmt, 0) != SQLITE_NULL)
            since = sqlite3_column_int64(stmt, 0);
        store_done(stmt);
    }
    return rc < 0 ? -1 : since;
}

int store_ensemble_idle(struct store *store, int64_t ensemble, int64_t since_ms, int64_t now_ms, int64_t *idle_ms,
                        struct error *err)
{
    struct cover cover = {.since_ms = running_since(store, ensemble, now_ms, err)};
    sqlite3_stmt *stmt;
    int rc;

    if (cover.since_ms < 0)
        return -1;
    stmt =
        store_query(store, err,
                    "SELECT started, ended FROM attempt WHERE ensemble = ?1 AND outcome = 'succeeded' AND ended >= ?2 "
                    "ORDER BY ended DESC LIMIT ?3",
                    "iii", ensemble, since_ms, (int64_t)IDLE_LOOKED_AT);
    if (stmt == NULL)
        return -1;
    while ((rc = store_row(store, stmt, err)) == 1)
        cover_by(&cover, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1));
    if (cover.any)
        cover_by(&cover, since_ms, since_ms);
    *idle_ms = cover.any ? cover.idle_ms : 0;
    return rc;
}

int store_ensemble_pace(struct store *store, int64_t ensemble, int64_t *last_ms, int64_t *took_ms, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err,
                    "SELECT max(ended), max(ended - submitted) FROM (SELECT ended, submitted FROM attempt WHERE "
                    "ensemble = ?1 AND outcome = 'succeeded' ORDER BY ended DESC LIMIT 20)",
                    "i", ensemble);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    *last_ms = *took_ms = 0;
    if (rc == 1) {
        *last_ms = sqlite3_column_int64(stmt, 0);
        *took_ms = sqlite3_column_int64(stmt, 1);
        store_done(stmt);
    }
    return rc < 0 ? -1 : 0;
}
