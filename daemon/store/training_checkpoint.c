#include "daemon/store/training_checkpoint.h"

#include "tasks/proto/ends.h"

#define COLUMNS                                                                                                        \
    "training, number, name, generation, step, batches, drawn, ranks, size, digest, time, members, "                   \
    "last"
#define SELECT                                                                                                         \
    "SELECT " COLUMNS ", (SELECT ensemble FROM training WHERE id = training_checkpoint.training), damaged "            \
    "FROM training_checkpoint "

static void training_checkpoint_read(sqlite3_stmt *stmt, struct training_checkpoint_row *row)
{
    row->training = sqlite3_column_int64(stmt, 0);
    row->number = sqlite3_column_int64(stmt, 1);
    store_text(stmt, 2, row->name, sizeof row->name);
    row->generation = sqlite3_column_int64(stmt, 3);
    row->step = sqlite3_column_int64(stmt, 4);
    row->batches = sqlite3_column_int64(stmt, 5);
    row->drawn = sqlite3_column_int64(stmt, 6);
    row->ranks = sqlite3_column_int64(stmt, 7);
    row->size = sqlite3_column_int64(stmt, 8);
    store_text(stmt, 9, row->digest, sizeof row->digest);
    row->time_ms = sqlite3_column_int64(stmt, 10);
    row->members = sqlite3_column_int64(stmt, 11);
    row->last = sqlite3_column_int(stmt, 12);
    row->ensemble = sqlite3_column_int64(stmt, 13);
    row->damaged = sqlite3_column_int(stmt, 14);
}

int store_training_checkpoint_newest(struct store *store, int64_t training, struct training_checkpoint_row *row,
                                     struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     SELECT "WHERE training = ?1 AND NOT damaged "
                                            "ORDER BY number DESC LIMIT 1",
                                     "i", training);
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc != 1)
        return rc;
    training_checkpoint_read(stmt, row);
    return store_row_taken(store, stmt, err);
}

int store_training_checkpoint_add(struct store *store, struct training_checkpoint_row *row, const unsigned char *ends,
                                  size_t size, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err, "SELECT coalesce(max(number), 0) + 1 FROM training_checkpoint WHERE training = ?1", "i",
                    row->training);

    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    row->number = sqlite3_column_int64(stmt, 0);
    if (store_row_taken(store, stmt, err) < 0)
        return -1;
    return store_exec(store, err,
                      "INSERT INTO training_checkpoint (" COLUMNS ", ends) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
                      "?9, ?10, ?11, ?12, ?13, ?14)",
                      "iitiiiiiitiibx", row->training, row->number, row->name, row->generation, row->step, row->batches,
                      row->drawn, row->ranks, row->size, row->digest, row->time_ms, row->members, (int)row->last, ends,
                      size);
}

int store_training_checkpoint_drop(struct store *store, int64_t training, int64_t number, struct error *err)
{
    return store_exec(store, err, "DELETE FROM training_checkpoint WHERE training = ?1 AND number = ?2", "ii", training,
                      number);
}

int store_training_checkpoint_damaged(struct store *store, int64_t training, int64_t number, struct error *err)
{
    return store_exec(store, err, "UPDATE training_checkpoint SET damaged = 1 WHERE training = ?1 AND number = ?2",
                      "ii", training, number);
}

int store_training_checkpoint_drop_after(struct store *store, int64_t training, int64_t number, struct error *err)
{
    return store_exec(store, err, "DELETE FROM training_checkpoint WHERE training = ?1 AND number > ?2", "ii", training,
                      number);
}

int store_training_checkpoint_each(struct store *store, int64_t training, int64_t from_training, int64_t from_number,
                                   int limit, int (*each)(void *arg, const struct training_checkpoint_row *row),
                                   void *arg, struct error *err)
{
    struct training_checkpoint_row row;
    sqlite3_stmt *stmt;

    if (training == 0)
        stmt = store_query(store, err,
                           SELECT "WHERE (training, number) >= (?1, ?2) "
                                  "ORDER BY training, number LIMIT ?3",
                           "iii", from_training, from_number, (int64_t)limit);
    else
        stmt = store_query(store, err,
                           SELECT "WHERE training = ?1 AND number >= ?2 "
                                  "ORDER BY number LIMIT ?3",
                           "iii", training, from_number, (int64_t)limit);
    return store_each_row(store, stmt, training_checkpoint_read, &row, each, arg, err);
}

int store_training_checkpoint_ended(struct store *store, int64_t ensemble, int64_t number, int64_t from,
                                    uint32_t *ended, size_t n, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT ends FROM training_checkpoint WHERE number = ?2 AND "
                                     "training = (SELECT id FROM training WHERE ensemble = ?1)",
                                     "ii", ensemble, number);
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;
    const void *ends;

    if (rc != 1)
        return rc;
    ends = sqlite3_column_blob(stmt, 0);
    ends_unpack(ends, (size_t)sqlite3_column_bytes(stmt, 0), (size_t)from, ended, n);
    return store_row_taken(store, stmt, err);
}
