#include "daemon/store/archived.h"

#include "common/member_state.h"

#define UNARCHIVED "archived = 0 AND ended IS NOT NULL AND kind = 'members'"

int store_archive_due(struct store *store, int64_t before_ms, int64_t keep, int64_t *ensemble, bool *crowded,
                      struct error *err)
{
    int64_t ended;
    sqlite3_stmt *stmt = store_query(
        store, err,
        "SELECT ensemble, ended FROM job INDEXED BY job_unarchived WHERE " UNARCHIVED " ORDER BY ended LIMIT 1", "");
    int rc = stmt ? store_row(store, stmt, err) : -1;

    *crowded = false;
    if (rc <= 0)
        return rc;
    *ensemble = sqlite3_column_int64(stmt, 0);
    ended = sqlite3_column_int64(stmt, 1);
    store_done(stmt);
    if (ended <= before_ms)
        return 1;
    stmt = store_query(
        store, err, "SELECT 1 FROM job INDEXED BY job_unarchived WHERE " UNARCHIVED " ORDER BY ended LIMIT 1 OFFSET ?1",
        "i", keep);
    rc = stmt ? store_row(store, stmt, err) : -1;
    if (rc == 1)
        store_done(stmt);
    *crowded = rc == 1;
    return rc;
}

static void unarchived_read(sqlite3_stmt *stmt, struct unarchived *row)
{
    row->job = sqlite3_column_int64(stmt, 0);
    store_text(stmt, 1, row->job_name, sizeof row->job_name);
    row->index = sqlite3_column_type(stmt, 2) == SQLITE_NULL ? -1 : sqlite3_column_int64(stmt, 2);
    row->number = sqlite3_column_int64(stmt, 3);
    row->kind = sqlite3_column_int64(stmt, 4);
    row->archive = sqlite3_column_int64(stmt, 5);
    row->at = sqlite3_column_int64(stmt, 6);
}

int store_archive_each(struct store *store, int64_t ensemble, int64_t before_ms, int limit,
                       int (*each)(void *arg, const struct unarchived *row), void *arg, struct error *err)
{
    struct unarchived row;

    return store_each_row(
        store,
        store_query(
            store, err,
            "SELECT j.id, j.name, a.idx, a.number, EXISTS (SELECT 1 FROM member m WHERE m.ensemble = a.ensemble AND "
            "m.idx = a.idx AND m.state = 'succeeded'), a.archive, a.archive_at FROM (SELECT id, name FROM job INDEXED "
            "BY job_unarchived WHERE " UNARCHIVED " AND ended <= ?2 AND ensemble = ?1 ORDER "
            "BY ended LIMIT ?3) j LEFT JOIN attempt a INDEXED BY attempt_by_job ON a.job = j.id AND a.outcome "
            "IS NOT NULL AND a.released IS NULL ORDER BY j.id, a.idx",
            "iii", ensemble, before_ms, (int64_t)limit),
        unarchived_read, &row, each, arg, err);
}

int store_archive_each_of(struct store *store, int64_t job, int (*each)(void *arg, const struct unarchived *row),
                          void *arg, struct error *err)
{
    struct unarchived row;

    return store_each_row(
        store,
        store_query(store, err,
                    "SELECT j.id, j.name, a.idx, a.number, a.archive_kind, a.archive, a.archive_at FROM job j JOIN "
                    "attempt a INDEXED BY attempt_by_job ON a.job = j.id WHERE j.id = ?1 ORDER BY a.idx",
                    "i", job),
        unarchived_read, &row, each, arg, err);
}

int store_archive_put(struct store *store, int64_t ensemble, const struct unarchived *row, struct error *err)
{
    return store_exec(
        store, err,
        "UPDATE attempt SET archive = nullif(?4, 0), archive_kind = ?5, archive_at = ?6 WHERE ensemble = ?1 AND idx = "
        "?2 AND number = ?3",
        "iiiiii", ensemble, row->index, row->number, row->archive, row->kind, row->at);
}

int store_archive_job(struct store *store, int64_t job, struct error *err)
{
    return store_exec(store, err, "UPDATE job SET archived = 1 WHERE id = ?1", "i", job);
}

int store_archive_is_last(struct store *store, int64_t ensemble, int64_t index, int64_t number, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err,
        "SELECT 1 FROM member WHERE ensemble = ?1 AND idx = ?2 AND attempts = ?3 AND successor IS NULL AND state "
        "IN (" MEMBER_STATES_FINAL ")",
        "iii", ensemble, index, number);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1)
        store_done(stmt);
    return rc;
}

int store_archive_file(struct store *store, int64_t ensemble, int kind, int64_t *number, int64_t *size,
                       struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT number, size FROM archive WHERE ensemble = ?1 AND kind = ?2",
                                     "ii", ensemble, (int64_t)kind);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    *number = *size = 0;
    if (rc == 1) {
        *number = sqlite3_column_int64(stmt, 0);
        *size = sqlite3_column_int64(stmt, 1);
        store_done(stmt);
    }
    return rc < 0 ? -1 : 0;
}

int store_archive_file_put(struct store *store, int64_t ensemble, int kind, int64_t number, int64_t size,
                           struct error *err)
{
    return store_exec(
        store, err,
        "INSERT INTO archive (ensemble, kind, number, size) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (ensemble, "
        "kind) DO UPDATE SET number = ?3, size = ?4",
        "iiii", ensemble, (int64_t)kind, number, size);
}

int store_archiving_get(struct store *store, int64_t *ensemble, char **jobs, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT ensemble, jobs FROM archiving", "");
    int rc = stmt ? store_row(store, stmt, err) : -1;

    *jobs = NULL;
    if (rc == 1) {
        *ensemble = sqlite3_column_int64(stmt, 0);
        *jobs = store_text_copy(stmt, 1);
        store_done(stmt);
    }
    return rc;
}

int store_archiving_put(struct store *store, int64_t ensemble, const char *jobs, struct error *err)
{
    if (store_archiving_drop(store, err) < 0)
        return -1;
    return store_exec(store, err, "INSERT INTO archiving (ensemble, jobs) VALUES (?1, ?2)", "it", ensemble, jobs);
}

int store_archiving_drop(struct store *store, struct error *err)
{
    return store_exec(store, err, "DELETE FROM archiving", "");
}
