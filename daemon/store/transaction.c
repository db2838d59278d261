/* Transactions: the one of a loop turn, the flush that follows it, and the one that shows the reader only what is
 * flushed. */
#include "daemon/store/internal.h"

#include "common/log.h"
#include "common/stretto_assert.h"
#include "daemon/store/gather.h"

#include <string.h>

static const char begin_sql[] = "BEGIN IMMEDIATE", commit_sql[] = "COMMIT", rollback_sql[] = "ROLLBACK";
static const char hold_sql[] = "BEGIN", look_sql[] = "SELECT 1 FROM meta LIMIT 1";

bool store_dirty(const struct store *store)
{
    return store->in_transaction;
}

int store_doom(struct store *store, const struct error *err)
{
    store->in_transaction = true; /* even if none was begun, since the turn learns of the error at its commit */
    if (!store->doomed) {
        store->doomed = true;
        store->why = *err;
    }
    return -1;
}

int store_prepare_rollback(struct store *store, struct error *err)
{
    return store_prepared(store, rollback_sql, err) != NULL ? 0 : -1;
}

/* Makes sure that nothing is open that was not begun. A rollback may have failed for lack of memory; until it is
 * repeated, reads would show changes that were never committed. And if a failed read has made SQLite end a reader's
 * transaction, reads would show commits that are not flushed. */
int store_roll_back(struct store *store, struct error *err)
{
    if (store->view == VIEW_HELD && sqlite3_get_autocommit(store->db))
        return error_set(err, "store_io", "it is not known yet what of %s is on the disk", store->path);
    if (store->in_transaction || store->view != VIEW_NONE ||
        sqlite3_get_autocommit(store->db)) /* SQLite may have rolled back, on a full disk */
        return 0;
    return store_run(store, rollback_sql, err);
}

int store_begin(struct store *store, struct error *err)
{
    if (!store->in_transaction) {
        if (store_roll_back(store, err) < 0 || store_run(store, begin_sql, err) < 0)
            return store_doom(store, err);
        stretto_assert(store->event_made == 0);
        store->in_transaction = true;
        store->changes_before = sqlite3_total_changes(store->db);
    }
    if (!store->doomed && sqlite3_get_autocommit(store->db)) {
        /* SQLite itself has rolled back after a fault, perhaps of a read: later changes must not be committed without
         * the earlier ones */
        error_set(err, "store_io", "the changes of this turn were rolled back: %s", sqlite3_errmsg(store->db));
        return store_doom(store, err);
    }
    if (store->doomed) {
        *err = store->why;
        return -1;
    }
    return 0;
}

void store_defer_flush(struct store *store, bool defer)
{
    store->defer = defer;
}

bool store_owes_flush(const struct store *store)
{
    return store->log != NULL && gather_owes(store->log);
}

int store_flush(struct store *store, struct error *err)
{
    int rc = gather_flush(store->log);

    return rc == SQLITE_OK
               ? 0
               : error_set(err, "store_io", "cannot flush the log of %s: %s", store->path, sqlite3_errstr(rc));
}

/* Keeps the current commit in the reader's sight, whatever is committed next. Returns false if that is not
 * possible. */
static bool hold_view(struct store *reader)
{
    struct error err;
    sqlite3_stmt *look;

    if (store_roll_back(reader, &err) < 0 || store_run(reader, hold_sql, &err) < 0)
        return false;
    look = store_prepared(reader, look_sql, &err);
    /* the first read fixes what the transaction sees */
    if (look != NULL && sqlite3_step(look) == SQLITE_ROW)
        reader->view = VIEW_HELD;
    sqlite3_reset(look);
    if (reader->view == VIEW_NONE)
        store_roll_back(reader, &err); /* if it fails, it is done before the next query */
    return reader->view == VIEW_HELD;
}

static void let_go_of_view(struct store *reader)
{
    struct error err;

    if (reader == NULL || reader->view != VIEW_HELD)
        return;
    reader->view = VIEW_NONE;
    store_roll_back(reader, &err); /* if it fails, it is done before the next query */
}

void store_answer_begin(struct store *reader)
{
    struct error err;

    if (reader->view == VIEW_NONE && store_roll_back(reader, &err) == 0 && store_run(reader, hold_sql, &err) == 0)
        reader->view = VIEW_ANSWER;
}

void store_answer_end(struct store *reader)
{
    struct error err;

    if (reader->view != VIEW_ANSWER)
        return;
    reader->view = VIEW_NONE;
    store_roll_back(reader, &err); /* if it fails, it is done before the next query */
}

void store_flushed(struct store *store)
{
    gather_settle(store->log);
    let_go_of_view(store->reader);
    if (store->event_owed != 0)
        store->newest_event = store->event_owed;
    store->event_owed = 0;
}

int store_flush_owed(struct store *store, struct error *err)
{
    if (!store_owes_flush(store))
        return 0;
    if (store_flush(store, err) < 0)
        return -1;
    store_flushed(store);
    return 0;
}

static int commit_turn(struct store *store, struct error *err)
{
    int rc;

    if (!store->defer || store->log == NULL || (store->reader != NULL && !hold_view(store->reader)))
        return store_run(store, commit_sql, err);
    gather_defer(store->log, true);
    rc = store_run(store, commit_sql, err);
    gather_defer(store->log, false);
    if (rc < 0 || !store_owes_flush(store))
        let_go_of_view(store->reader);
    return rc;
}

int store_write_all(struct store *store, struct error *err)
{
    return store_events_write(store, err) < 0 || store_tallies_write(store, err) < 0 ? -1 : 0;
}

/* Counts a transaction that has changed something; one that has not needs no flush. */
static int count_commit(struct store *store, struct error *err)
{
    if (sqlite3_total_changes(store->db) == store->changes_before)
        return 0;
    return store_exec(store, err, "UPDATE commits SET n = n + 1", "");
}

int store_commit(struct store *store, struct error *err)
{
    struct error rest;

    if (!store->in_transaction)
        return 0;
    if (!store->doomed && store_check_present(store, &store->why) == 0 && store_write_all(store, &rest) == 0 &&
        count_commit(store, &rest) == 0 && commit_turn(store, &store->why) == 0) {
        store->in_transaction = false;
        store_spare_no_more(store);
        if (store->event_made != 0)
            *(store_owes_flush(store) ? &store->event_owed : &store->newest_event) = store->event_made;
        store->event_made = 0;
        return 0;
    }
    store->in_transaction = false;
    store_spare_no_more(store);
    store->doomed = false;
    store->event_made = store->last_job = 0;
    store_events_drop(store);
    store_tallies_drop(store);
    *err = store->why;
    if (store_roll_back(store, &rest) < 0)
        log_error("%s", rest.text);
    else if (strcmp(err->code, "store_full") == 0)
        store_empty_log(store); /* the next transaction can use the log's room, if there is none elsewhere */
    return -1;
}
