/* The database of a state directory: opening, migrating, transactions, statements.
 *
 * One thread (the loop) uses it. A first write opens a transaction, which stays open until store_commit() at the end
 * of the loop turn; so all changes of a turn are on disk together or not at all. An error in any write dooms the
 * transaction: the commit then fails and rolls everything back, whatever callers did with the return value. */
#ifndef DAEMON_STORE_STORE_H
#define DAEMON_STORE_STORE_H
#include "common/embedded.h"
#include "common/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

struct store;

/* The files of migrations/, in order: the N-th leads to version N of the schema. */
extern const struct embedded store_migrations[];

/* Open STATE_DIR/stretto.db (made where missing), take the directory's lock, migrate. Codes: "store_locked" (another
 * daemon runs there), "store_newer" (made by a later version), "store_foreign" (made by another program), "store_damaged", "store_io". */
int store_open(struct store **out, const char *state_dir, struct error *err);

/* The same, with what can be chosen. "store_network": the directory is on a network file system and allow_network is not
 * set; where it is set, the journal is one that is safe there, and nobody else can read the database meanwhile. */
struct store_options {
    bool allow_network;
    int (*statfs)(const char *path, struct statfs *out); /* NULL: statfs(2) */
    const struct embedded *migrations;                   /* NULL: store_migrations */
};
int store_open_with(struct store **out, const char *state_dir, const struct store_options *options, struct error *err);
void store_close(struct store *store);

bool store_dirty(const struct store *store); /* something waits for a commit */

/* Commit what is open. 0 also where nothing was. -1: all of the turn's changes are rolled back; code "store_full"
 * (no room on the disk), "store_gone" (store_check_present()), "store_damaged" or "store_io". */
int store_commit(struct store *store, struct error *err);

/* With `defer`, a commit leaves its flush to the disk to store_flush(), where the log allows it: it is then owed, and nothing that
 * depends on the commit may be told before it is made good. Off at first. */
void store_defer_flush(struct store *store, bool defer);
bool store_owes_flush(const struct store *store);
/* From any thread, while nothing is committed. -1: what was committed last may or may not be on the disk, and the system
 * forgets what it could not write: there is no way to find out, or to try again. */
int store_flush(struct store *store, struct error *err);
void store_flushed(struct store *store); /* by the loop's thread, after it */

/* A second connection, for the same thread, that only reads, and sees what is committed and flushed, and nothing else: for what is
 * asked while changes are open, or on their way to the disk. *out is NULL where the database can have but one. One at most, to be
 * closed before the store. */
int store_open_reader(struct store **out, struct store *store, struct error *err);

/* Returns 0 while the database is in the state directory, or -1 with code "store_gone" where it was removed, renamed or replaced. */
int store_check_present(const struct store *store, struct error *err);

/* Is there room on the disk for new work? Returns 0, or -1 with code "store_full" where there is none but what is kept for ending work:
 * new jobs must then not be made. Changes of work that there is already take that room where they need it. */
int store_check_room(struct store *store, struct error *err);
/* The same before new work is accepted in this turn, whose changes fail rather than take that room. */
int store_accept(struct store *store, struct error *err);

/* Something that the turn's changes depend on could not be read: nothing of this turn may be kept, and its commit will
 * say why. Returns -1. */
int store_doom(struct store *store, const struct error *why);

/* Failures of SQLite so far, and what it said of the last: for those who read much, to see whether it was all. */
int64_t store_failures(const struct store *store);
const char *store_last_failure(const struct store *store);

/* This database's random name, 8 hex digits: the part that makes job names unique over all daemons. */
const char *store_instance(const struct store *store);

/* 64 hex digits, drawn once: the keys of the jobs' control messages are made of it (daemon/control_key.h). */
const char *store_control_secret(const struct store *store);

/* Statements for the entity files. `sql` is a string literal: its address is the key of the prepared statement.
 * `types` has a letter for each bound value: i int64_t, t const char * (NULL binds null), d double, b bool as int,
 * m int64_t milliseconds of which 0 binds null. */
int store_exec(struct store *store, struct error *err, const char *sql, const char *types, ...);
/* Start a query; NULL with err on failure. Then store_row() until it is not 1, or store_done() to stop before. Where one fails
 * while changes are open, these are doomed. */
sqlite3_stmt *store_query(struct store *store, struct error *err, const char *sql, const char *types, ...);
int store_row(struct store *store, sqlite3_stmt *stmt, struct error *err); /* 1 a row, 0 no more, -1 */
void store_done(sqlite3_stmt *stmt);
/* Whether there was memory for all columns of the current row that were read: 0 or -1. */
int store_read_whole(struct store *store, sqlite3_stmt *stmt, struct error *err);
/* The same after the only row of a query, which ends with it: 1 or -1, like store_row(). */
int store_row_taken(struct store *store, sqlite3_stmt *stmt, struct error *err);
/* Read each row of a started query (NULL: it could not be started) into *row by read_row(stmt, row), and hand it to
 * each(arg, row) until that returns non-zero. 0 or -1. A macro, so that each entity keeps its own types. */
#define store_each_row(store, stmt, read_row, row, each, arg, err)                                                     \
    ({                                                                                                                 \
        sqlite3_stmt *each_stmt_ = (stmt);                                                                             \
        int each_rc_ = each_stmt_ ? 1 : -1;                                                                            \
        while (each_rc_ == 1 && (each_rc_ = store_row(store, each_stmt_, err)) == 1) {                                 \
            read_row(each_stmt_, row);                                                                                 \
            if (store_read_whole(store, each_stmt_, err) < 0) {                                                        \
                store_done(each_stmt_);                                                                                \
                each_rc_ = -1;                                                                                         \
            } else if (each(arg, row)) {                                                                               \
                store_done(each_stmt_);                                                                                \
                each_rc_ = 0;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        each_rc_;                                                                                                      \
    })
int64_t store_last_id(const struct store *store);
int64_t store_changes(const struct store *store);

/* Column readers: text copied (cut) into a fixed buffer; null gives "" or 0. */
void store_text(sqlite3_stmt *stmt, int column, char *out, size_t size);
char *store_text_copy(sqlite3_stmt *stmt, int column); /* whole; to be freed */

#endif
