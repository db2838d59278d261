#include "daemon/store/generation.h"

#include "daemon/store/internal.h"

static void generation_read(sqlite3_stmt *stmt, struct generation_row *row)
{
    row->number = sqlite3_column_int64(stmt, 0);
    row->ranks = sqlite3_column_int64(stmt, 1);
    row->started_ms = sqlite3_column_int64(stmt, 2);
    row->ended_ms = sqlite3_column_int64(stmt, 3);
    store_text(stmt, 4, row->end, sizeof row->end);
    store_text(stmt, 5, row->reason, sizeof row->reason);
    store_text(stmt, 6, row->resumed, sizeof row->resumed);
    row->resumed_step = sqlite3_column_int64(stmt, 7);
    row->samples_lost = sqlite3_column_int64(stmt, 8);
    row->members_again = sqlite3_column_int64(stmt, 9);
}

int store_generation_was_lost(struct store *store, int64_t training, int64_t number, struct error *err)
{
    return store_exec(store, err, "UPDATE generation SET end = 'lost' WHERE training = ?1 AND number = ?2", "ii",
                      training, number);
}

int store_generation_lost(struct store *store, int64_t training, int64_t number, int64_t samples, struct error *err)
{
    return store_exec(store, err, "UPDATE generation SET samples_lost = ?3 WHERE training = ?1 AND number = ?2", "iii",
                      training, number, samples);
}

static void read_restart(sqlite3_stmt *stmt, struct restart_row *row)
{
    row->generation = sqlite3_column_int64(stmt, 0);
    row->number = sqlite3_column_int64(stmt, 1);
    row->time_ms = sqlite3_column_int64(stmt, 2);
    row->rank = sqlite3_column_int64(stmt, 3);
    store_text(stmt, 4, row->host, sizeof row->host);
    store_text(stmt, 5, row->reason, sizeof row->reason);
    row->cost = sqlite3_column_int(stmt, 6) != 0;
}

int store_restart_add(struct store *store, int64_t training, const struct restart_row *row, struct error *err)
{
    return store_exec(store, err,
                      "INSERT OR IGNORE INTO restart (training, generation, number, time, rank, host, reason, cost) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                      "iiiiitti", training, row->generation, row->number, row->time_ms, row->rank,
                      row->host[0] ? row->host : NULL, row->reason[0] ? row->reason : NULL, (int64_t)row->cost);
}

int store_restart_each(struct store *store, int64_t training, int64_t generation, int limit,
                       int (*each)(void *arg, const struct restart_row *row), void *arg, struct error *err)
{
    struct restart_row row;

    return store_each_row(store,
                          store_query(store, err,
                                      "SELECT generation, number, time, rank, host, reason, cost FROM restart WHERE "
                                      "training = ?1 AND generation = ?2 ORDER BY number DESC LIMIT ?3",
                                      "iii", training, generation, (int64_t)limit),
                          read_restart, &row, each, arg, err);
}

int store_generation_again(struct store *store, const struct training_row *training, int64_t member, int64_t attempt,
                           int64_t job, struct error *err)
{
    return store_exec(
        store, err,
        "UPDATE generation SET members_again = members_again + 1 WHERE training = ?1 AND number = ?2 AND EXISTS "
        "(SELECT 1 FROM attempt WHERE ensemble = ?3 AND idx = ?4 AND number = ?5 - 1 AND job < ?6)",
        "iiiiii", training->id, training->keeps, training->ensemble, member, attempt, job);
}

int store_generation_each(struct store *store, int64_t training, int64_t before, int limit,
                          int (*each)(void *arg, const struct generation_row *row), void *arg, struct error *err)
{
    struct generation_row row;

    return store_each_row(
        store,
        store_query(
            store, err,
            "SELECT number, ranks, started, ended, end, reason, resumed, resumed_step, "
            "samples_lost, members_again FROM generation WHERE training = ?1 AND number < ?2 ORDER BY number DESC "
            "LIMIT ?3",
            "iii", training, before > 0 ? before : INT64_MAX, (int64_t)limit),
        generation_read, &row, each, arg, err);
}
