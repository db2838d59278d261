#include "daemon/store/generation.h"

#include "daemon/store/internal.h"

static void read_row(sqlite3_stmt *stmt, struct generation_row *row)
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

int store_generation_lost(struct store *store, int64_t training, int64_t number, int64_t samples, struct error *err)
{
    return store_exec(store, err, "UPDATE generation SET samples_lost = ?3 WHERE training = ?1 AND number = ?2", "iii",
                      training, number, samples);
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
        read_row, &row, each, arg, err);
}
