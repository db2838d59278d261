#include "daemon/store/retain.h"

/* Returns the value of the column `swept` for ensembles whose output has been removed as far as this setting goes. */
static int64_t retain_level(enum retain retain)
{
    return retain == RETAIN_NONE ? 2 : retain == RETAIN_FAILED ? 1 : 0;
}

int store_sweep_find(struct store *store, enum retain retain, int64_t before_ms, int64_t *ensemble, int64_t *from,
                     struct error *err)
{
    for (int64_t swept = 0; swept < retain_level(retain); swept++) {
        sqlite3_stmt *stmt = store_query(
            store, err,
            "SELECT id, sweep_next FROM ensemble INDEXED BY ensemble_over WHERE swept = ?1 AND ended IS NOT NULL AND "
            "ended < ?2 AND NOT EXISTS (SELECT 1 FROM attempt INDEXED BY attempt_open WHERE attempt.ensemble = "
            "ensemble.id AND outcome IS NULL) ORDER BY ended LIMIT 1",
            "ii", swept, before_ms);
        int rc = stmt ? store_row(store, stmt, err) : -1;

        if (rc == 1) {
            *ensemble = sqlite3_column_int64(stmt, 0);
            *from = sqlite3_column_int64(stmt, 1);
            store_done(stmt);
        }
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Finds the member after the next `limit` members that have a row; -1 if there is none. */
static int find_end(struct store *store, int64_t ensemble, int64_t from, int limit, int64_t *next, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err, "SELECT idx FROM member WHERE ensemble = ?1 AND idx >= ?2 ORDER BY idx LIMIT 1 OFFSET ?3", "iii",
        ensemble, from, (int64_t)limit);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    *next = rc == 1 ? sqlite3_column_int64(stmt, 0) : -1;
    if (rc == 1)
        store_done(stmt);
    return rc < 0 ? -1 : 0;
}

static void released_read(sqlite3_stmt *stmt, struct released *row)
{
    row->index = sqlite3_column_int64(stmt, 0);
    row->number = sqlite3_column_int64(stmt, 1);
    store_text(stmt, 2, row->job_name, sizeof row->job_name);
    row->goes_on = sqlite3_column_int(stmt, 3);
}

int store_sweep_mark(struct store *store, enum retain retain, int64_t ensemble, int64_t from, int limit, int64_t now_ms,
                     int (*each)(void *arg, const struct released *attempt), void *arg, int64_t *next,
                     struct error *err)
{
    int64_t end, all = retain == RETAIN_NONE;
    struct released row;

    if (find_end(store, ensemble, from, limit, next, err) < 0)
        return -1;
    end = *next < 0 ? INT64_MAX : *next;
    if (store_exec(store, err,
                   "UPDATE attempt SET released = ?5 WHERE ensemble = ?1 AND idx >= ?2 AND idx < ?3 AND outcome IS NOT "
                   "NULL AND released IS NULL AND (?4 OR archive_kind = 1 OR EXISTS (SELECT 1 FROM member m WHERE "
                   "m.ensemble = ?1 AND m.idx = attempt.idx AND m.state = 'succeeded'))",
                   "iiiii", ensemble, from, end, all, now_ms) < 0)
        return -1;
    return store_each_row(
        store,
        store_query(
            store, err,
            "SELECT a.idx, a.number, CASE WHEN EXISTS (SELECT 1 FROM attempt o WHERE o.job = a.job AND "
            "o.released IS NULL) THEN '' ELSE (SELECT name FROM job WHERE id = a.job) END, (SELECT successor IS NOT "
            "NULL FROM member m WHERE m.ensemble = a.ensemble AND m.idx = a.idx) FROM attempt a WHERE "
            "a.ensemble = ?1 AND a.idx >= ?2 AND a.idx < ?3 AND a.released IS NOT NULL ORDER BY a.idx, "
            "a.number",
            "iii", ensemble, from, end),
        released_read, &row, each, arg, err);
}

int store_sweep_advance(struct store *store, enum retain retain, int64_t ensemble, int64_t next, struct error *err)
{
    /* not if a resubmission has made the ensemble go on meanwhile: it will end again */
    if (next >= 0)
        return store_exec(store, err, "UPDATE ensemble SET sweep_next = ?2 WHERE id = ?1 AND ended IS NOT NULL", "ii",
                          ensemble, next);
    return store_exec(store, err, "UPDATE ensemble SET sweep_next = 0, swept = ?2 WHERE id = ?1 AND ended IS NOT NULL",
                      "ii", ensemble, retain_level(retain));
}

int store_sweep_restart(struct store *store, struct error *err)
{
    return store_exec(store, err, "UPDATE ensemble SET sweep_next = 0 WHERE ended IS NOT NULL AND sweep_next > 0", "");
}
