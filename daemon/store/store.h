/* The database of a state directory: opening, migrating, transactions, statements.
 *
 * One thread (the loop) uses it. The first write of a turn opens a transaction, which stays open until store_commit()
 * at the end of the turn. So all changes of a turn are on disk together or not at all. An error in any write dooms the
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

/* The files of migrations/, in order. The N-th leads to version N of the schema. */
extern const struct embedded store_migrations[];

/* Opens STATE_DIR/stretto.db (and makes it if it is missing), takes the directory's lock, and migrates. Fails with code
 * "store_locked" (another daemon runs there), "store_newer" (made by a later version), "store_foreign" (made by another
 * program), "store_damaged" or "store_io". */
int store_open(struct store **out, const char *state_dir, struct error *err);

/* Options of store_open_with(), which opens as store_open() does. It fails with code "store_network" if the
 * directory is on a network file system and allow_network is not set. If it is set, the journal is one that is safe
 * there, and nobody else can read the database meanwhile. */
struct store_options {
    bool allow_network;
    int (*statfs)(const char *path, struct statfs *out); /* NULL for statfs(2) */
    const struct embedded *migrations;                   /* NULL for store_migrations */
};
int store_open_with(struct store **out, const char *state_dir, const struct store_options *options, struct error *err);
void store_close(struct store *store);

bool store_dirty(const struct store *store); /* a transaction is open */

/* Commits the open transaction; returns 0 also if there is none. On failure all changes of the turn are rolled back,
 * with code "store_full" (no room on the disk), "store_gone" (store_check_present()), "store_damaged" or "store_io". */
int store_commit(struct store *store, struct error *err);

/* If `defer` is true, which it is not at first, a commit leaves its flush to store_flush() if the log allows it. The
 * flush is then owed. Until it is made, nothing that depends on the commit may be reported. */
void store_defer_flush(struct store *store, bool defer);
bool store_owes_flush(const struct store *store);
/* Makes the flush that is owed. May be called on any thread, while nothing is committed. After a failure nobody can say
 * whether the last commits are on the disk, and trying again is of no use, since the system forgets what it could not
 * write. */
int store_flush(struct store *store, struct error *err);
void store_flushed(struct store *store); /* to be called on the loop's thread after store_flush() */

/* Opens a second connection for the same thread that only reads, and sees exactly what is committed and flushed. It
 * answers questions while changes are open or on their way to the disk. *out is NULL if the database can have only
 * one connection. There may be one reader, to be closed before the store. */
int store_open_reader(struct store **out, struct store *store, struct error *err);

/* Begin and end a transaction for the queries of one answer, so that not each of them takes and gives back locks of its
 * own. The queries see what they would see without it, since the thread that reads is the only one that commits.
 * Nothing may be committed meanwhile. */
void store_answer_begin(struct store *reader);
void store_answer_end(struct store *reader);

/* Returns 0 while the database is in the state directory, or -1 with code "store_gone" if it was removed, renamed or
 * replaced. */
int store_check_present(const struct store *store, struct error *err);

/* Writes the log back into the database, and marks the log as empty. Returns false if that is not possible now. */
bool store_empty_log(struct store *store);

/* Checks that there is room on the disk for new work. Fails with code "store_full" if there is only the room that is
 * kept for ending work: new jobs must then not be made. Changes of existing work use that room if they need it. */
int store_check_room(struct store *store, struct error *err);
/* Like store_check_room(), before new work is accepted in this turn: its changes then fail rather than use that
 * room. */
int store_accept(struct store *store, struct error *err);

/* Checks a database that turns out to lack changes that were committed. Fails with code "store_damaged" if the files
 * that the last process left were damaged, or the database is damaged itself. Returns 0 if it is whole, and so an older
 * copy. */
int store_check_older(struct store *store, struct error *err);
/* Fails with code "store_damaged" if the file of the database was there, and had nothing in it. */
int store_check_emptied(struct store *store, struct error *err);

/* Dooms the turn's transaction, because something that its changes depend on could not be read. Its commit fails with
 * this error. Returns -1. */
int store_doom(struct store *store, const struct error *why);

/* Return the number of SQLite's failures so far and the text of the last one, for callers who check whether they could
 * read everything. */
int64_t store_failures(const struct store *store);
const char *store_last_failure(const struct store *store);

/* Returns this database's random name, 8 hex digits, which makes job names unique among all daemons. */
const char *store_instance(const struct store *store);

/* Runs a statement. `sql` is a string literal, whose address is the key of the prepared statement. `types` has a letter
 * for each bound value: i int64_t, t const char * (NULL binds null), d double, b bool as int, m int64_t milliseconds (0
 * binds null). x stands for const void * and size_t: a blob. */
int store_exec(struct store *store, struct error *err, const char *sql, const char *types, ...);
/* Starts a query; NULL with err on failure. Call store_row() until it does not return 1, or store_done() to stop
 * before. A query that fails while changes are open dooms them. */
sqlite3_stmt *store_query(struct store *store, struct error *err, const char *sql, const char *types, ...);
int store_row(struct store *store, sqlite3_stmt *stmt, struct error *err); /* 1 for a row, 0 for no more, -1 on error */
void store_done(sqlite3_stmt *stmt);
/* Returns 0 if there was memory for all columns of the current row that were read, else -1. */
int store_read_whole(struct store *store, sqlite3_stmt *stmt, struct error *err);
/* Like store_read_whole(), for the only row of a query, which it ends. Returns 1 or -1, like store_row(). */
int store_row_taken(struct store *store, sqlite3_stmt *stmt, struct error *err);
/* Reads each row of a started query (NULL if it could not be started) into *row by read_row(stmt, row), and hands it to
 * each(arg, row) until that returns non-zero. Returns 0 or -1. It is a macro so that each entity keeps its own
 * types. */
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

/* Both read a column: the first copies its text, cut to the size; null gives "". */
void store_text(sqlite3_stmt *stmt, int column, char *out, size_t size);
char *store_text_copy(sqlite3_stmt *stmt, int column); /* the whole text, to be freed */

#endif
