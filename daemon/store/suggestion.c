#include "daemon/store/suggestion.h"

#include "daemon/store/internal.h"

#include <stdlib.h>

/* Stores a member, which waits, and its suggestion. */
static int add_suggestion(struct store *store, int64_t ensemble, const struct suggestion *s, struct error *err)
{
    if (store_exec(store, err, "INSERT INTO member (ensemble, idx, state, priority) VALUES (?1, ?2, 'pending', ?3)",
                   "iii", ensemble, s->index, s->priority) < 0)
        return -1;
    return store_exec(store, err, "INSERT INTO suggestion (ensemble, idx, name, parameters) VALUES (?1, ?2, ?3, ?4)",
                      "iitt", ensemble, s->index, s->name, s->parameters);
}

int store_suggestion_line_up(struct store *store, int64_t ensemble, int64_t now_ms, struct error *err)
{
    return store_exec(
        store, err,
        "UPDATE member INDEXED BY member_due SET not_before = 0 WHERE ensemble = ?1 AND state = 'pending' AND "
        "not_before BETWEEN 1 AND ?2",
        "ii", ensemble, now_ms);
}

int store_suggestion_add(struct store *store, struct ensemble_row *row, const struct suggestion *list, size_t n,
                         struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (add_suggestion(store, row->id, &list[i], err) < 0)
            return -1;
    row->count += (int64_t)n;
    row->next_index = row->count; /* each of them has a row */
    store_tally_add(store, row->id, MEMBER_PENDING, (int64_t)n);
    return store_exec(store, err, "UPDATE ensemble SET count = ?2, next_index = ?2 WHERE id = ?1", "ii", row->id,
                      row->count);
}

/* Reads index and parameters from the row that a query finds, if it does. Returns 1, 0 or -1. */
static int suggestion_read_one(struct store *store, sqlite3_stmt *stmt, int64_t *index, char **parameters,
                               struct error *err)
{
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc != 1)
        return rc;
    *index = sqlite3_column_int64(stmt, 0);
    *parameters = store_text_copy(stmt, 1);
    if (store_row_taken(store, stmt, err) == 1)
        return 1;
    free(*parameters);
    return -1;
}

int store_suggestion_find(struct store *store, int64_t ensemble, const char *name, int64_t *index, char **parameters,
                          struct error *err)
{
    return suggestion_read_one(store,
                               store_query(store, err,
                                           "SELECT idx, parameters FROM suggestion INDEXED BY suggestion_by_name WHERE "
                                           "ensemble = ?1 AND name = ?2",
                                           "it", ensemble, name),
                               index, parameters, err);
}

int store_suggestion_parameters(struct store *store, int64_t ensemble, int64_t index, char **parameters,
                                struct error *err)
{
    return suggestion_read_one(store,
                               store_query(store, err,
                                           "SELECT idx, parameters FROM suggestion WHERE ensemble = ?1 AND idx = ?2",
                                           "ii", ensemble, index),
                               &index, parameters, err);
}

int store_suggestion_name(struct store *store, int64_t ensemble, int64_t index, char name[SUGGESTION_NAME],
                          struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err, "SELECT name FROM suggestion WHERE ensemble = ?1 AND idx = ?2", "ii", ensemble, index);
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    name[0] = '\0';
    if (rc != 1)
        return rc;
    store_text(stmt, 0, name, SUGGESTION_NAME);
    return store_row_taken(store, stmt, err) == 1 ? 0 : -1;
}

int store_result_add(struct store *store, int64_t ensemble, int64_t index, struct error *err)
{
    return store_exec(
        store, err,
        "INSERT INTO result (root, number, ensemble, idx) SELECT coalesce(e.root, e.id), 1 + "
        "coalesce((SELECT max(number) FROM result WHERE root = coalesce(e.root, e.id)), 0), e.id, ?2 FROM "
        "ensemble e WHERE e.id = ?1 ON CONFLICT (root, idx) DO UPDATE SET number = excluded.number, "
        "ensemble = excluded.ensemble",
        "ii", ensemble, index);
}

struct suggestion_reading {
    struct store *store;
    int (*each)(void *arg, const struct result_row *row);
    void *arg;
    bool failed;
    struct error *err;
};

static void read_result(sqlite3_stmt *stmt, struct result_row *row)
{
    row->number = sqlite3_column_int64(stmt, 0);
    row->member.ensemble = sqlite3_column_int64(stmt, 1);
    row->member.index = sqlite3_column_int64(stmt, 2);
}

static int take_result(void *arg, const struct result_row *found)
{
    struct suggestion_reading *reading = arg;
    struct result_row row = {.number = found->number};
    int rc = store_member_get(reading->store, found->member.ensemble, found->member.index, &row.member, reading->err);

    reading->failed = rc < 0;
    if (rc != 1)
        return rc < 0;
    return reading->each(reading->arg, &row);
}

int store_result_each(struct store *store, int64_t root, int64_t after, int limit,
                      int (*each)(void *arg, const struct result_row *row), void *arg, struct error *err)
{
    struct suggestion_reading reading = {store, each, arg, false, err};
    struct result_row row = {.number = 0};
    sqlite3_stmt *stmt =
        store_query(store, err,
                    "SELECT r.number, r.ensemble, r.idx FROM result r CROSS JOIN member m ON m.ensemble = r.ensemble "
                    "AND m.idx = r.idx WHERE r.root = ?1 AND r.number > ?2 AND m.state IN (" MEMBER_STATES_FINAL
                    ") ORDER BY r.number LIMIT ?3",
                    "iii", root, after, (int64_t)limit);

    return store_each_row(store, stmt, read_result, &row, take_result, &reading, err) < 0 || reading.failed ? -1 : 0;
}
