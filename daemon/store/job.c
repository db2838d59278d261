#include "daemon/store/job.h"

#include <stdio.h>
#include <string.h>

static const char *const state_names[] = {"intent", "submitted", "running", "ended"};
static const char *const kind_names[] = {"members", "training"};

const char *job_state_name(enum job_state state)
{
    return state_names[state];
}

static void read_row(sqlite3_stmt *stmt, struct job_row *row)
{
    char word[16];

    row->id = sqlite3_column_int64(stmt, 0);
    row->ensemble = sqlite3_column_int64(stmt, 1);
    store_text(stmt, 2, word, sizeof word);
    row->kind = strcmp(word, "training") == 0 ? JOB_TRAINING : JOB_MEMBERS;
    store_text(stmt, 3, row->adapter, sizeof row->adapter);
    store_text(stmt, 4, row->name, sizeof row->name);
    store_text(stmt, 5, word, sizeof word);
    for (row->state = JOB_INTENT; row->state < JOB_ENDED && strcmp(state_names[row->state], word); row->state++)
        ;
    store_text(stmt, 6, row->scheduler_id, sizeof row->scheduler_id);
    row->size = sqlite3_column_int64(stmt, 7);
    row->submissions = sqlite3_column_int64(stmt, 8);
    row->cancel = sqlite3_column_int(stmt, 9);
    store_text(stmt, 10, row->reason, sizeof row->reason);
    row->created_ms = sqlite3_column_int64(stmt, 11);
    row->submitted_ms = sqlite3_column_int64(stmt, 12);
    row->started_ms = sqlite3_column_int64(stmt, 13);
    row->ended_ms = sqlite3_column_int64(stmt, 14);
}

int store_job_insert(struct store *store, struct job_row *row, struct error *err)
{
    /* The name holds the id, which the same statement gives: one more than was ever given. */
    if (store_exec(store, err,
                   "INSERT INTO job (id, ensemble, kind, adapter, name, state, size, created) "
                   "SELECT n, ?1, ?2, ?3, 'st-' || ?4 || '-' || n, 'intent', ?5, ?6 FROM (SELECT 1 + coalesce((SELECT seq "
                   "FROM sqlite_sequence WHERE name = 'job'), 0) AS n)",
                   "itttii", row->ensemble, kind_names[row->kind], row->adapter, store_instance(store), row->size,
                   row->created_ms) < 0)
        return -1;
    row->id = store_last_id(store);
    row->state = JOB_INTENT;
    snprintf(row->name, sizeof row->name, "st-%s-%lld", store_instance(store), (long long)row->id);
    return 0;
}

int store_job_update(struct store *store, const struct job_row *row, struct error *err)
{
    return store_exec(store, err,
                      "UPDATE job SET state = ?2, scheduler_id = ?3, submissions = ?4, cancel = ?5, reason = ?6, "
                      "submitted = ?7, started = ?8, ended = ?9 WHERE id = ?1",
                      "ittibtmmm", row->id, state_names[row->state], row->scheduler_id[0] ? row->scheduler_id : NULL,
                      row->submissions, (int)row->cancel, row->reason[0] ? row->reason : NULL, row->submitted_ms,
                      row->started_ms, row->ended_ms);
}

int store_job_each_live(struct store *store, int (*each)(void *arg, const struct job_row *row), void *arg,
                        struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT id, ensemble, kind, adapter, name, state, scheduler_id, size, "
                                     "submissions, cancel, reason, created, submitted, started, ended "
                                     "FROM job WHERE state <> 'ended' ORDER BY id",
                                     "");
    struct job_row row;

    return store_each_row(store, stmt, read_row, &row, each, arg, err);
}
