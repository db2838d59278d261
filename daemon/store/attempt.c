#include "daemon/store/attempt.h"

#include <string.h>

#define COLUMNS                                                                                                        \
    "a.ensemble, a.idx, a.number, a.job, j.name, a.outcome, a.exit_code, a.signal, a.reason, a.host, a.submitted, "    \
    "a.started, a.ended, a.released, a.resumed, a.cpu_ms, a.memory_peak, a.archive, a.archive_kind, "                  \
    "a.archive_at, a.notice, a.rung, a.points_read FROM attempt a JOIN job j ON j.id = a.job"

static void attempt_read(sqlite3_stmt *stmt, struct attempt_row *row)
{
    char outcome[16];

    row->ensemble = sqlite3_column_int64(stmt, 0);
    row->index = sqlite3_column_int64(stmt, 1);
    row->number = sqlite3_column_int64(stmt, 2);
    row->job = sqlite3_column_int64(stmt, 3);
    store_text(stmt, 4, row->job_name, sizeof row->job_name);
    store_text(stmt, 5, outcome, sizeof outcome);
    row->end.outcome = attempt_outcome_named(outcome);
    row->end.exit_code = sqlite3_column_type(stmt, 6) == SQLITE_NULL ? -1 : sqlite3_column_int(stmt, 6);
    row->end.signal = sqlite3_column_int(stmt, 7);
    store_text(stmt, 8, row->end.reason, sizeof row->end.reason);
    store_text(stmt, 9, row->end.host, sizeof row->end.host);
    row->submitted_ms = sqlite3_column_int64(stmt, 10);
    row->end.started_ms = sqlite3_column_int64(stmt, 11);
    row->end.ended_ms = sqlite3_column_int64(stmt, 12);
    row->released_ms = sqlite3_column_int64(stmt, 13);
    store_text(stmt, 14, row->resumed, sizeof row->resumed);
    row->end.measured = sqlite3_column_type(stmt, 15) != SQLITE_NULL;
    row->end.cpu_ms = sqlite3_column_int64(stmt, 15);
    row->end.memory_peak = sqlite3_column_int64(stmt, 16);
    row->archive = sqlite3_column_int64(stmt, 17);
    row->archive_kind = sqlite3_column_int64(stmt, 18);
    row->archive_at = sqlite3_column_int64(stmt, 19);
    store_text(stmt, 20, row->end.notice, sizeof row->end.notice);
    row->rung = sqlite3_column_int64(stmt, 21);
    row->points_read = sqlite3_column_int64(stmt, 22);
}

int store_attempt_insert(struct store *store, const struct attempt_row *row, struct error *err)
{
    return store_exec(
        store, err, "INSERT INTO attempt (ensemble, idx, number, job, submitted, rung) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        "iiiiim", row->ensemble, row->index, row->number, row->job, row->submitted_ms, row->rung);
}

int store_attempt_start(struct store *store, const struct attempt_row *row, struct error *err)
{
    return store_exec(
        store, err, "UPDATE attempt SET host = ?4, started = ?5 WHERE ensemble = ?1 AND idx = ?2 AND number = ?3",
        "iiitm", row->ensemble, row->index, row->number, row->end.host[0] ? row->end.host : NULL, row->end.started_ms);
}

int store_attempt_update(struct store *store, const struct attempt_row *row, struct error *err)
{
    return store_exec(store, err,
                      "UPDATE attempt SET outcome = ?4, exit_code = nullif(?5, -1), signal = nullif(?6, 0), "
                      "reason = ?7, host = ?8, started = ?9, ended = ?10, resumed = ?11, cpu_ms = nullif(?12, -1), "
                      "memory_peak = nullif(?13, -1), notice = ?14, points_read = ?15 "
                      "WHERE ensemble = ?1 AND idx = ?2 AND number = ?3",
                      "iiitiittmmtiiti", row->ensemble, row->index, row->number, attempt_outcome_name(row->end.outcome),
                      (int64_t)row->end.exit_code, (int64_t)row->end.signal,
                      row->end.reason[0] ? row->end.reason : NULL, row->end.host[0] ? row->end.host : NULL,
                      row->end.started_ms, row->end.ended_ms, row->resumed[0] ? row->resumed : NULL,
                      row->end.measured ? row->end.cpu_ms : -1, row->end.measured ? row->end.memory_peak : -1,
                      row->end.notice[0] ? row->end.notice : NULL, row->points_read);
}

int store_attempt_rung(struct store *store, int64_t ensemble, int64_t index, int64_t number, int64_t rung,
                       struct error *err)
{
    return store_exec(store, err, "UPDATE attempt SET rung = ?4 WHERE ensemble = ?1 AND idx = ?2 AND number = ?3",
                      "iiim", ensemble, index, number, rung);
}

int store_attempt_notice(struct store *store, int64_t ensemble, int64_t index, int64_t number, const char *notice,
                         struct error *err)
{
    return store_exec(store, err, "UPDATE attempt SET notice = ?4 WHERE ensemble = ?1 AND idx = ?2 AND number = ?3",
                      "iiit", ensemble, index, number, notice[0] ? notice : NULL);
}

static int attempts_each(struct store *store, sqlite3_stmt *stmt, int (*each)(void *, const struct attempt_row *),
                         void *arg, struct error *err)
{
    struct attempt_row row;

    return store_each_row(store, stmt, attempt_read, &row, each, arg, err);
}

int store_attempt_get(struct store *store, int64_t ensemble, int64_t index, int64_t number, struct attempt_row *row,
                      struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err, "SELECT " COLUMNS " WHERE a.ensemble = ?1 AND a.idx = ?2 AND a.number = ?3", "iii",
                    ensemble, index, number);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        attempt_read(stmt, row);
        rc = store_row_taken(store, stmt, err);
    }
    return rc;
}

int store_attempt_each(struct store *store, int64_t ensemble, int64_t index,
                       int (*each)(void *arg, const struct attempt_row *row), void *arg, struct error *err)
{
    return attempts_each(store,
                         store_query(store, err,
                                     "SELECT " COLUMNS " WHERE a.ensemble = ?1 AND a.idx = ?2 ORDER BY a.number", "ii",
                                     ensemble, index),
                         each, arg, err);
}

int store_attempt_each_in(struct store *store, int64_t ensemble, int64_t from, int64_t end,
                          int (*each)(void *arg, const struct attempt_row *row), void *arg, struct error *err)
{
    return attempts_each(store,
                         store_query(store, err,
                                     "SELECT " COLUMNS " WHERE a.ensemble = ?1 AND a.idx >= ?2 AND a.idx < ?3 "
                                     "ORDER BY a.idx, a.number",
                                     "iii", ensemble, from, end),
                         each, arg, err);
}

int store_attempt_each_open(struct store *store, int64_t job, int (*each)(void *arg, const struct attempt_row *row),
                            void *arg, struct error *err)
{
    return attempts_each(
        store,
        store_query(store, err, "SELECT " COLUMNS " WHERE a.job = ?1 AND a.outcome IS NULL ORDER BY a.idx", "i", job),
        each, arg, err);
}

int store_attempt_each_of_job(struct store *store, int64_t job, int64_t from, int limit,
                              int (*each)(void *arg, const struct attempt_row *row), void *arg, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err, "SELECT " COLUMNS " WHERE a.job = ?1 AND a.idx >= ?2 ORDER BY a.idx LIMIT ?3", "iii",
                    job, from, (int64_t)limit);
    struct attempt_row row;

    return store_each_row(store, stmt, attempt_read, &row, each, arg, err);
}

static void read_index(sqlite3_stmt *stmt, int64_t *index)
{
    *index = sqlite3_column_int64(stmt, 0);
}

int store_attempt_each_on_host(struct store *store, int64_t ensemble, int64_t from, int64_t end, const char *host,
                               int (*each)(void *arg, const int64_t *index), void *arg, struct error *err)
{
    int64_t index;

    return store_each_row(
        store,
        store_query(
            store, err,
            "SELECT m.idx FROM member m CROSS JOIN attempt a ON a.ensemble = m.ensemble AND a.idx = m.idx AND a.number "
            "= m.attempts WHERE m.ensemble = ?1 AND m.idx >= ?2 AND m.idx < ?3 AND a.host = ?4 ORDER BY m.idx",
            "iiit", ensemble, from, end, host),
        read_index, &index, each, arg, err);
}

int store_attempt_each_by_cause(struct store *store, int64_t ensemble, int64_t from, int64_t end, const char *cause,
                                int (*each)(void *arg, const int64_t *index), void *arg, struct error *err)
{
    int64_t index;

    return store_each_row(
        store,
        store_query(store, err,
                    "SELECT DISTINCT idx FROM attempt WHERE ensemble = ?1 AND idx >= ?2 AND idx < ?3 AND (outcome = "
                    "'failed' OR outcome = 'timeout' OR outcome = 'diverged' OR outcome = 'lost') AND "
                    "stretto_cause(reason) = ?4 ORDER BY idx",
                    "iiit", ensemble, from, end, cause),
        read_index, &index, each, arg, err);
}
