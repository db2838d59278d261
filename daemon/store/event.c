#include "daemon/store/event.h"

#include "common/jsonx.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/store/internal.h"

#include <stdlib.h>
#include <string.h>

#define TOGETHER 8 /* rows that one statement inserts */
#define ROW(a, b, c, d, e) "(?" #a ", ?" #b ", ?" #c ", ?" #d ", ?" #e ")"

/* Events of the open transaction that are not written yet. Most changes make several, and one statement for all of them
 * costs a third of one statement each. Their texts lie one behind the other, each ended by NUL. */
struct store_events {
    int n;
    struct {
        int64_t time_ms, ensemble, index;
        size_t kind, detail; /* where these texts begin */
        bool detailed;
    } rows[TOGETHER];
    struct text texts;
};

static size_t events_keep_text(struct store_events *events, const char *text)
{
    size_t at = events->texts.size;

    text_put(&events->texts, text, strlen(text) + 1);
    return at;
}

static int bind_row(sqlite3_stmt *stmt, const struct store_events *events, int i)
{
    const char *texts = events->texts.data;
    int at = 5 * i;

    if (sqlite3_bind_int64(stmt, at + 1, events->rows[i].time_ms) != SQLITE_OK ||
        sqlite3_bind_text(stmt, at + 2, texts + events->rows[i].kind, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_int64(stmt, at + 3, events->rows[i].ensemble) != SQLITE_OK ||
        (events->rows[i].index != -1 && sqlite3_bind_int64(stmt, at + 4, events->rows[i].index) != SQLITE_OK) ||
        (events->rows[i].detailed &&
         sqlite3_bind_text(stmt, at + 5, texts + events->rows[i].detail, -1, SQLITE_STATIC) != SQLITE_OK))
        return -1;
    return 0;
}

/* Inserts the events with one statement. Its unused rows are bound to null, and WHERE leaves them out. */
static int write_rows(struct store *store, const struct store_events *events, struct error *err)
{
    static const char sql[] =
        /* clang-format off */
        "INSERT INTO event (time, kind, ensemble, idx, detail) SELECT * FROM (VALUES " ROW(1, 2, 3, 4, 5) ", "
        ROW(6, 7, 8, 9, 10) ", " ROW(11, 12, 13, 14, 15) ", " ROW(16, 17, 18, 19, 20) ", " ROW(21, 22, 23, 24, 25) ", "
        ROW(26, 27, 28, 29, 30) ", " ROW(31, 32, 33, 34, 35) ", " ROW(36, 37, 38, 39, 40) ") WHERE column1 IS NOT NULL";
    /* clang-format on */
    sqlite3_stmt *stmt = store_prepared(store, sql, err);
    int rc = 0;

    if (stmt == NULL)
        return -1;
    for (int i = 0; i < events->n && rc == 0; i++)
        rc = bind_row(stmt, events, i);
    if (rc < 0 || sqlite3_step(stmt) != SQLITE_DONE)
        rc = store_error(store, sql, err);
    store_done(stmt);
    return rc;
}

int store_events_write(struct store *store, struct error *err)
{
    struct store_events *events = store->events;

    if (events == NULL || events->n == 0)
        return 0;
    if (store_begin(store, err) < 0 || write_rows(store, events, err) < 0) {
        store_events_drop(store);
        return store_doom(store, err);
    }
    store_events_drop(store);
    store->event_made = store_last_id(store);
    return 0;
}

void store_events_drop(struct store *store)
{
    if (store->events == NULL)
        return;
    store->events->n = 0;
    store->events->texts.size = 0;
}

void store_events_free(struct store *store)
{
    if (store->events != NULL)
        free(store->events->texts.data);
    free(store->events);
    store->events = NULL;
}

int store_event_put(struct store *store, int64_t time_ms, const char *kind, int64_t ensemble, int64_t index,
                    const char *detail, struct error *err)
{
    struct store_events *events = store->events;
    int i;

    if (store_begin(store, err) < 0)
        return -1;
    if (events == NULL)
        events = store->events = xcalloc(1, sizeof *events);
    i = events->n++;
    events->rows[i].time_ms = time_ms;
    events->rows[i].ensemble = ensemble;
    events->rows[i].index = index;
    events->rows[i].kind = events_keep_text(events, kind);
    events->rows[i].detailed = detail != NULL;
    events->rows[i].detail = detail != NULL ? events_keep_text(events, detail) : 0;
    return events->n < TOGETHER ? 0 : store_events_write(store, err);
}

int64_t store_event_newest(const struct store *store)
{
    return store->newest_event;
}

int store_event_add(struct store *store, int64_t time_ms, const char *kind, int64_t ensemble, int64_t index,
                    json_t *detail, struct error *err)
{
    char *text = detail ? jsonx_dumps(detail, JSON_COMPACT) : NULL;
    int rc = store_event_put(store, time_ms, kind, ensemble, index, text, err);

    free(text);
    json_decref(detail);
    return rc;
}

static void event_row_read(sqlite3_stmt *stmt, struct event_row *row)
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
        stmt =
            store_query(store, err,
                        "SELECT id, time, kind, ensemble, idx, detail FROM event WHERE ensemble = ?5 AND id > ?1 AND "
                        "id <= ?2 AND (?3 IS NULL OR kind = ?3) ORDER BY id LIMIT ?4",
                        "iitii", after, upto, filter->kind, (int64_t)limit, filter->ensemble);
    else
        stmt = store_query(store, err,
                           "SELECT id, time, kind, ensemble, idx, detail FROM event WHERE id > ?1 AND id <= ?2 AND "
                           "(?3 IS NULL OR kind = ?3) ORDER BY id LIMIT ?4",
                           "iiti", after, upto, filter->kind, (int64_t)limit);
    return store_each_row(store, stmt, event_row_read, &row, each, arg, err);
}

int store_event_bounds(struct store *store, int64_t *oldest, int64_t *newest, struct error *err)
{
    /* the sequence, not max(id): the id of an event that was pruned must not be used again for another one */
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

int store_event_newest_of(struct store *store, int64_t ensemble, int64_t *id, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT max(id) FROM event WHERE ensemble = ?1", "i", ensemble);

    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    *id = sqlite3_column_int64(stmt, 0);
    store_done(stmt);
    return 0;
}

int store_event_prune(struct store *store, int64_t before_ms, int64_t step, int64_t *n, struct error *err)
{
    *n = 0;
    if (store_events_write(store, err) < 0)
        return -1;
    /* Always removes a run of the oldest ids, even if the clock was set back, so that ids leave no gap. */
    if (store_exec(store, err,
                   "DELETE FROM event WHERE id <= (SELECT max(id) FROM (SELECT id, time FROM event ORDER BY id LIMIT "
                   "?2) WHERE time < ?1)",
                   "ii", before_ms, step) < 0)
        return -1;
    *n = store_changes(store);
    return 0;
}
