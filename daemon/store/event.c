#include "daemon/store/event.h"

#include "daemon/store/internal.h"

#include <stdlib.h>

int store_event_put(struct store *store, int64_t time_ms, const char *kind, int64_t ensemble, int64_t index,
                    const char *detail, struct error *err)
{
    if (store_exec(store, err,
                   "INSERT INTO event (time, kind, ensemble, idx, detail) VALUES (?1, ?2, ?3, nullif(?4, -1), ?5)",
                   "itiit", time_ms, kind, ensemble, index, detail) < 0)
        return -1;
    store->event_made = store_last_id(store);
    return 0;
}

int64_t store_event_newest(const struct store *store)
{
    return store->newest_event;
}

int store_event_add(struct store *store, int64_t time_ms, const char *kind, int64_t ensemble, int64_t index,
                    json_t *detail, struct error *err)
{
    char *text = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
    int rc = store_event_put(store, time_ms, kind, ensemble, index, text, err);

    free(text);
    json_decref(detail);
    return rc;
}

static void read_row(sqlite3_stmt *stmt, struct event_row *row)
{
    row->id = sqlite3_column_int64(stmt, 0);
    row->time_ms = sqlite3_column_int64(stmt, 1);
    store_text(stmt, 2, row->kind, sizeof row->kind);
    row->ensemble = sqlite3_column_int64(stmt, 3);
    row->index = sqlite3_column_type(stmt, 4) == SQLITE_NULL ? -1 : sqlite3_column_int64(stmt, 4);
    row->detail = (const char *)sqlite3_column_text(stmt, 5);
}

int store_event_each(struct store *store, int64_t after, int64_t upto, const struct event_filter *filter, int limit,
                     int (*each)(void *arg, const struct event_row *row), void *arg, struct error *err)
{
    struct event_row row;
    sqlite3_stmt *stmt;

    if (filter->ensemble != 0)
        stmt = store_query(store, err,
                           "SELECT id, time, kind, ensemble, idx, detail FROM event WHERE ensemble = ?5 AND id > ?1 AND "
                           "id <= ?2 AND (?3 IS NULL OR kind = ?3) ORDER BY id LIMIT ?4",
                           "iitii", after, upto, filter->kind, (int64_t)limit, filter->ensemble);
    else
        stmt = store_query(store, err,
                           "SELECT id, time, kind, ensemble, idx, detail FROM event WHERE id > ?1 AND id <= ?2 AND "
                           "(?3 IS NULL OR kind = ?3) ORDER BY id LIMIT ?4",
                           "iiti", after, upto, filter->kind, (int64_t)limit);
    return store_each_row(store, stmt, read_row, &row, each, arg, err);
}

int store_event_bounds(struct store *store, int64_t *oldest, int64_t *newest, struct error *err)
{
    /* the sequence, not max(id): what is forgotten must not come again under another meaning */
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT (SELECT min(id) FROM event), "
                                     "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0)",
                                     "");
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc != 1)
        return -1;
    *newest = sqlite3_column_int64(stmt, 1);
    *oldest = sqlite3_column_type(stmt, 0) == SQLITE_NULL ? *newest + 1 : sqlite3_column_int64(stmt, 0);
    store_done(stmt);
    return 0;
}

int store_event_prune(struct store *store, int64_t before_ms, int64_t step, int64_t *n, struct error *err)
{
    *n = 0;
    /* always a run from the beginning, also where the clock was set back: ids leave no gap */
    if (store_exec(store, err,
                   "DELETE FROM event WHERE id <= (SELECT max(id) FROM (SELECT id, time FROM event ORDER BY id LIMIT "
                   "?2) WHERE time < ?1)",
                   "ii", before_ms, step) < 0)
        return -1;
    *n = store_changes(store);
    return 0;
}
