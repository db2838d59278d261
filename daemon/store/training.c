#include "daemon/store/training.h"

#include "daemon/spec/spec.h"
#include "daemon/store/internal.h"

#include <string.h>

static const char *const names[] = {"pending", "submitted", "running", "done", "failed", "cancelled"};
static const char *const rank_states[] = {"starting", "ready", "unfinished", "done"};

#define COLUMNS                                                                                                        \
    "SELECT id, ensemble, state, reason, ranks, generation, created, started, ended, adapter, missing, failures, "     \
    "not_before, resumed, resumed_step, resumed_batches, resumed_drawn, keeps, wanted, early, "                        \
    "restarts, wanted_by, losses FROM training "

const char *training_state_name(enum training_state state)
{
    return names[state];
}

int store_training_insert(struct store *store, struct training_row *row, struct error *err)
{
    if (store_exec(store, err,
                   "INSERT INTO training (ensemble, state, ranks, generation, keeps, created, adapter) VALUES (?1, "
                   "?2, ?3, ?4, ?4, ?5, ?6)",
                   "itiiit", row->ensemble, names[row->state], row->ranks, row->generation, row->created_ms,
                   row->adapter) < 0)
        return -1;
    row->id = store_last_id(store);
    row->keeps = row->generation;
    return 0;
}

int store_training_update(struct store *store, const struct training_row *row, struct error *err)
{
    return store_exec(
        store, err,
        "UPDATE training SET state = ?2, reason = ?3, ranks = ?4, generation = ?5, started = ?6, "
        "ended = ?7, missing = ?8, failures = ?9, not_before = ?10, resumed = ?11, resumed_step = ?12, "
        "resumed_batches = ?13, resumed_drawn = ?14, keeps = ?15, wanted = ?16, early = ?17, restarts = ?18, "
        "wanted_by = ?19, losses = ?20 WHERE id = ?1",
        "ittiimmtiitiiiiibiti", row->id, names[row->state], row->reason[0] ? row->reason : NULL, row->ranks,
        row->generation, row->started_ms, row->ended_ms, row->missing[0] ? row->missing : NULL, row->failures,
        row->not_before_ms, row->resumed.name[0] ? row->resumed.name : NULL, row->resumed.step, row->resumed.batches,
        row->resumed.drawn, row->keeps, row->wanted, (int)row->early, row->restarts,
        row->wanted > 0 ? row->wanted_by : NULL, row->losses);
}

static int read_training(struct store *store, sqlite3_stmt *stmt, struct training_row *row, struct error *err)
{
    int rc = stmt ? store_row(store, stmt, err) : -1;
    char state[16];

    if (rc != 1)
        return rc;
    row->id = sqlite3_column_int64(stmt, 0);
    row->ensemble = sqlite3_column_int64(stmt, 1);
    store_text(stmt, 2, state, sizeof state);
    for (row->state = TRAINING_PENDING; row->state < TRAINING_CANCELLED && strcmp(names[row->state], state);
         row->state++)
        ;
    store_text(stmt, 3, row->reason, sizeof row->reason);
    row->ranks = sqlite3_column_int64(stmt, 4);
    row->generation = sqlite3_column_int64(stmt, 5);
    row->created_ms = sqlite3_column_int64(stmt, 6);
    row->started_ms = sqlite3_column_int64(stmt, 7);
    row->ended_ms = sqlite3_column_int64(stmt, 8);
    store_text(stmt, 9, row->adapter, sizeof row->adapter);
    store_text(stmt, 10, row->missing, sizeof row->missing);
    row->failures = sqlite3_column_int64(stmt, 11);
    row->not_before_ms = sqlite3_column_int64(stmt, 12);
    store_text(stmt, 13, row->resumed.name, sizeof row->resumed.name);
    row->resumed.step = sqlite3_column_int64(stmt, 14);
    row->resumed.batches = sqlite3_column_int64(stmt, 15);
    row->resumed.drawn = sqlite3_column_int64(stmt, 16);
    row->keeps = sqlite3_column_int64(stmt, 17);
    row->wanted = sqlite3_column_int64(stmt, 18);
    row->early = sqlite3_column_int(stmt, 19) != 0;
    row->restarts = sqlite3_column_int64(stmt, 20);
    store_text(stmt, 21, row->wanted_by, sizeof row->wanted_by);
    row->losses = sqlite3_column_int64(stmt, 22);
    if (row->ranks < 1 || row->ranks > SPEC_RANKS_MAX || row->wanted < 0 || row->wanted > SPEC_RANKS_MAX) {
        store_done(stmt);
        return store_damaged(store, "a training's number of ranks is none", err);
    }
    return store_row_taken(store, stmt, err);
}

int store_training_get(struct store *store, int64_t id, struct training_row *row, struct error *err)
{
    return read_training(store, store_query(store, err, COLUMNS "WHERE id = ?1", "i", id), row, err);
}

int store_training_of(struct store *store, int64_t ensemble, struct training_row *row, struct error *err)
{
    return read_training(store, store_query(store, err, COLUMNS "WHERE ensemble = ?1", "i", ensemble), row, err);
}

int store_training_job(struct store *store, const struct training_row *row, int64_t *id, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT id FROM job WHERE ensemble = ?1 AND kind = 'training' ORDER BY id LIMIT 1 "
                                     "OFFSET ?2",
                                     "ii", row->ensemble, row->keeps - 1); /* each generation has one job */
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    *id = INT64_MAX;
    if (rc == 1) {
        *id = sqlite3_column_int64(stmt, 0);
        store_done(stmt);
    }
    return rc < 0 ? -1 : 0;
}

int store_training_jobs(struct store *store, const struct training_row *row, int64_t *n, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT count(*) FROM job WHERE ensemble = ?1 AND kind = 'training'",
                                     "i", row->ensemble);
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc != 1)
        return -1;
    *n = sqlite3_column_int64(stmt, 0);
    store_done(stmt);
    return 0;
}

int store_rank_put(struct store *store, const struct rank_row *row, struct error *err)
{
    return store_exec(store, err,
                      "INSERT INTO rank (training, generation, rank, state, received, uniq, duplicates, drawn, "
                      "batches, samples_per_second, metrics_offset, repeats, skipped) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) "
                      "ON CONFLICT (training, generation, rank) DO UPDATE SET state = ?4, received = ?5, uniq = ?6, "
                      "duplicates = ?7, drawn = ?8, batches = ?9, samples_per_second = ?10, metrics_offset = ?11, "
                      "repeats = ?12, skipped = ?13",
                      "iiitiiiiidiii", row->training, row->generation, row->rank, rank_states[row->state],
                      row->received, row->unique, row->duplicates, row->drawn, row->batches, row->samples_per_second,
                      row->metrics_offset, row->repeats, row->skipped);
}

int store_rank_get(struct store *store, int64_t training, int64_t generation, int64_t rank, struct rank_row *row,
                   struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT state, received, uniq, duplicates, drawn, batches, "
                                     "samples_per_second, metrics_offset, repeats, skipped FROM rank "
                                     "WHERE training = ?1 AND generation = ?2 AND rank = ?3",
                                     "iii", training, generation, rank);
    int rc = stmt ? store_row(store, stmt, err) : -1;
    char state[16];

    if (rc != 1)
        return rc;
    *row = (struct rank_row){
        .training = training,
        .generation = generation,
        .rank = rank,
        .received = sqlite3_column_int64(stmt, 1),
        .unique = sqlite3_column_int64(stmt, 2),
        .duplicates = sqlite3_column_int64(stmt, 3),
        .drawn = sqlite3_column_int64(stmt, 4),
        .batches = sqlite3_column_int64(stmt, 5),
        .samples_per_second = sqlite3_column_double(stmt, 6),
        .metrics_offset = sqlite3_column_int64(stmt, 7),
        .repeats = sqlite3_column_int64(stmt, 8),
        .skipped = sqlite3_column_int64(stmt, 9),
    };
    store_text(stmt, 0, state, sizeof state);
    while (row->state < RANK_DONE && strcmp(rank_states[row->state], state) != 0)
        row->state++;
    return store_row_taken(store, stmt, err);
}

int store_rank_sum(struct store *store, const struct training_row *training, struct rank_row *sum, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err,
                    "SELECT count(*), min(CASE state WHEN 'starting' THEN 0 WHEN 'ready' THEN 1 WHEN 'unfinished' "
                    "THEN 2 ELSE 3 END), sum(received), sum(uniq), sum(duplicates), "
                    "sum(drawn), sum(batches), total(samples_per_second), sum(repeats), sum(skipped) "
                    "FROM rank WHERE training = ?1 AND generation = ?2",
                    "ii", training->id, training->generation);
    int rc = stmt ? store_row(store, stmt, err) : -1;
    int64_t known;

    if (rc != 1)
        return -1;
    known = sqlite3_column_int64(stmt, 0);
    *sum = (struct rank_row){
        .training = training->id,
        .generation = training->generation,
        .state = known == training->ranks ? (enum rank_state)sqlite3_column_int(stmt, 1) : RANK_STARTING,
        .received = sqlite3_column_int64(stmt, 2),
        .unique = sqlite3_column_int64(stmt, 3),
        .duplicates = sqlite3_column_int64(stmt, 4),
        .drawn = sqlite3_column_int64(stmt, 5),
        .batches = sqlite3_column_int64(stmt, 6),
        .samples_per_second = sqlite3_column_double(stmt, 7),
        .repeats = sqlite3_column_int64(stmt, 8),
        .skipped = sqlite3_column_int64(stmt, 9),
    };
    store_done(stmt);
    return 0;
}
