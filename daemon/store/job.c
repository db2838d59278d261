#include "daemon/store/job.h"

#include "daemon/store/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS                                                                                                        \
    "id, ensemble, kind, adapter, name, state, scheduler_id, size, submissions, cancel, reason, created, submitted, "  \
    "started, ended, pilot, node, cpus"

static const char *const state_names[] = {"intent", "submitted", "running", "ended"};
static const char *const kind_names[] = {"members", "training", "pilot"};

const char *job_state_name(enum job_state state)
{
    return state_names[state];
}

static void job_row_read(sqlite3_stmt *stmt, struct job_row *row)
{
    char word[16];

    row->id = sqlite3_column_int64(stmt, 0);
    row->ensemble = sqlite3_column_int64(stmt, 1);
    store_text(stmt, 2, word, sizeof word);
    row->kind = strcmp(word, "training") == 0 ? JOB_TRAINING : strcmp(word, "pilot") == 0 ? JOB_PILOT : JOB_MEMBERS;
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
    row->pilot = sqlite3_column_int64(stmt, 15);
    row->node = sqlite3_column_int64(stmt, 16);
    row->cpus = sqlite3_column_int64(stmt, 17);
}

/* Returns one more than the highest id ever given, even to jobs that are no longer stored, since ids are part of names
 * outside. */
static int next_id(struct store *store, int64_t *id, struct error *err)
{
    sqlite3_stmt *stmt;

    if (store->last_job == 0) {
        stmt = store_query(store, err, "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'job'), 0)", "");
        if (stmt == NULL || store_row(store, stmt, err) < 0)
            return -1;
        store->last_job = sqlite3_column_int64(stmt, 0);
        store_done(stmt);
    }
    *id = ++store->last_job;
    return 0;
}

int store_job_insert(struct store *store, uint32_t nonce, struct job_row *row, struct error *err)
{
    if (next_id(store, &row->id, err) < 0)
        return store_doom(store, err);
    snprintf(row->name, sizeof row->name, "st-%08" PRIx32 "-%lld", nonce, (long long)row->id);
    row->state = JOB_INTENT;
    return store_exec(store, err,
                      "INSERT INTO job (id, ensemble, kind, adapter, name, state, size, created, pilot, node, cpus) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, 'intent', ?6, ?7, ?8, ?9, ?10)",
                      "iitttiimii", row->id, row->ensemble, kind_names[row->kind], row->adapter, row->name, row->size,
                      row->created_ms, row->pilot, row->node, row->cpus);
}

/* The end is written only if there is one: SQLite takes a row out of every index in whose columns or condition a
 * written column stands, and puts it back. */
int store_job_update(struct store *store, const struct job_row *row, struct error *err)
{
#define CHANGES                                                                                                        \
    "UPDATE job SET state = ?2, scheduler_id = ?3, submissions = ?4, cancel = ?5, reason = ?6, submitted = ?7, "       \
    "started = ?8"
    const char *sql =
        row->ended_ms == 0 ? CHANGES " WHERE id = ?1 AND ?9 IS NULL" : CHANGES ", ended = ?9 WHERE id = ?1";

    return store_exec(store, err, sql, "ittibtmmm", row->id, state_names[row->state],
                      row->scheduler_id[0] ? row->scheduler_id : NULL, row->submissions, (int)row->cancel,
                      row->reason[0] ? row->reason : NULL, row->submitted_ms, row->started_ms, row->ended_ms);
#undef CHANGES
}

int store_job_each_live(struct store *store, int (*each)(void *arg, const struct job_row *row), void *arg,
                        struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT " COLUMNS " FROM job WHERE ended IS NULL ORDER BY id", "");
    struct job_row row;

    return store_each_row(store, stmt, job_row_read, &row, each, arg, err);
}

const char *job_kind_name(enum job_kind kind)
{
    return kind_names[kind];
}

int job_state_parse(const char *name, enum job_state *state)
{
    for (int i = JOB_INTENT; i <= JOB_ENDED; i++) {
        if (strcmp(state_names[i], name) == 0) {
            *state = (enum job_state)i;
            return 0;
        }
    }
    return -1;
}

int store_job_get(struct store *store, int64_t id, struct job_row *row, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err, "SELECT " COLUMNS " FROM job WHERE id = ?1", "i", id);
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc == 1) {
        job_row_read(stmt, row);
        store_done(stmt);
    }
    return rc;
}

struct job_listing {
    int (*each)(void *arg, const struct job_row *row);
    void *arg;
    int64_t last;
    int n;
};

static int list_one(void *arg, const struct job_row *row)
{
    struct job_listing *listing = arg;

    listing->n++;
    listing->last = row->id;
    return listing->each(listing->arg, row);
}

/* Uses one of three indexes: that of live jobs, that of an ensemble's jobs, or ids, step by step. */
int store_job_each(struct store *store, int64_t before, const struct job_filter *filter, int limit,
                   int (*each)(void *arg, const struct job_row *row), void *arg, int64_t *next, struct error *err)
{
    const char *state = filter->has_state ? state_names[filter->state] : NULL;
    struct job_listing listing = {.each = each, .arg = arg};
    struct job_row row;
    sqlite3_stmt *stmt;
    int64_t from = 0;
    int rc;

    if (before == 0) {
        stmt = store_query(store, err, "SELECT max(id) FROM job", "");
        if (stmt == NULL || store_row(store, stmt, err) < 0)
            return -1;
        before = sqlite3_column_int64(stmt, 0);
        before += before < INT64_MAX;
        store_done(stmt);
    }
    if (filter->has_state && filter->state != JOB_ENDED) {
        stmt = store_query(store, err,
                           "SELECT " COLUMNS
                           " FROM job INDEXED BY job_live WHERE ended IS NULL AND id < ?1 AND state = ?2 AND (?3 = "
                           "0 OR ensemble = ?3) AND (?4 IS NULL OR adapter = ?4) ORDER BY id DESC LIMIT ?5",
                           "ititi", before, state, filter->ensemble, filter->adapter, (int64_t)limit);
    } else if (filter->ensemble != 0) {
        stmt = store_query(store, err,
                           "SELECT " COLUMNS
                           " FROM job WHERE ensemble = ?1 AND id < ?2 AND (?3 IS NULL OR state = ?3) AND (?4 IS NULL "
                           "OR adapter = ?4) ORDER BY id DESC LIMIT ?5",
                           "iitti", filter->ensemble, before, state, filter->adapter, (int64_t)limit);
    } else {
        from = before > STORE_JOB_STEP ? before - STORE_JOB_STEP : 0;
        stmt = store_query(store, err,
                           "SELECT " COLUMNS " FROM job WHERE id < ?1 AND id >= ?2 AND (?3 IS NULL OR state = ?3) AND "
                           "(?4 IS NULL OR adapter = ?4) ORDER BY id DESC LIMIT ?5",
                           "iitti", before, from, state, filter->adapter, (int64_t)limit);
    }
    rc = store_each_row(store, stmt, job_row_read, &row, list_one, &listing, err);
    *next = listing.n == limit ? listing.last : from;
    return rc;
}

int store_job_count_live(struct store *store, const char *adapter, int64_t n[JOB_ENDED], struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT state, count(*) FROM job INDEXED BY job_live WHERE ended IS NULL AND "
                                     "adapter = ?1 GROUP BY state",
                                     "t", adapter);
    int rc = stmt != NULL ? 1 : -1;

    memset(n, 0, JOB_ENDED * sizeof *n);
    while (rc == 1 && (rc = store_row(store, stmt, err)) == 1) {
        enum job_state state;
        char word[16];

        store_text(stmt, 0, word, sizeof word);
        if (job_state_parse(word, &state) == 0 && state < JOB_ENDED)
            n[state] = sqlite3_column_int64(stmt, 1);
    }
    return rc;
}

int store_job_has_precedent(struct store *store, const struct job_row *row, int64_t before, bool ran, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT 1 FROM job WHERE (ensemble = ?1 OR ensemble = ?2) AND kind = ?3 AND size "
                                     ">= ?4 AND id <> ?5 AND adapter = ?6 AND scheduler_id IS NOT NULL AND (?7 = 0 OR "
                                     "started IS NOT NULL) LIMIT 1",
                                     "iitiiti", row->ensemble, before, kind_names[row->kind], row->size, row->id,
                                     row->adapter, (int64_t)ran);
    int rc = stmt != NULL ? store_row(store, stmt, err) : -1;

    if (rc == 1)
        store_done(stmt);
    return rc;
}
