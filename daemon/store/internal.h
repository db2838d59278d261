/* The parts of the store that only its own files share. */
#ifndef DAEMON_STORE_INTERNAL_H
#define DAEMON_STORE_INTERNAL_H
#include "daemon/store/ensemble.h"
#include "daemon/store/member.h"

#include <sys/types.h>

#define STORE_STATEMENTS 256 /* slots of the table of statements; a power of two, far above their number */

struct store_events;
struct store_tallies;

#define STORE_FILES 2 /* the database and its log */

struct store_file {
    bool known;
    dev_t device;
    ino_t inode;
};

/* The use that a reader makes of its open transaction. */
enum store_view {
    VIEW_NONE,  /* it has none: each query sees the last commit */
    VIEW_HELD,  /* it sees the last commit that was flushed, until the next flush */
    VIEW_ANSWER /* it has the queries of one answer */
};

struct store {
    sqlite3 *db;
    int lock_fd;
    char *path;
    char instance[9];
    bool exclusive;                /* no other process or connection can read the database meanwhile */
    struct store *reader, *writer; /* the connection that only reads, and the one that it belongs to; NULL for none */
    enum store_view view;          /* for a reader */
    bool in_transaction;
    int changes_before; /* sqlite3_total_changes() at its begin */
    sqlite3_file *log;  /* the log whose flushes can be put off; NULL until it has been looked for */
    bool was_empty;     /* the file of the database was there when it was opened, and had nothing */
    bool log_suspect;   /* the log was cut off, or ends within a transaction, as the last process left it */
    bool no_room;       /* the last check found no room */
    bool defer;
    bool doomed; /* a write has failed, and the transaction can only be rolled back */
    struct error why;
    /* the newest event of this transaction, committed but not flushed, and flushed; 0 for none */
    int64_t event_made, event_owed, newest_event;
    struct store_events *events;   /* events of this transaction that are not written yet; NULL before the first one */
    struct store_tallies *tallies; /* changes of tallies that are not written yet; NULL for a reader */
    int64_t last_job;              /* the highest id that a job was ever given; 0 if it is not known */
    struct store_file files[STORE_FILES]; /* the files' identities when they were opened */
    int64_t failures;
    char last_failure[256];
    struct {
        const char *sql;
        sqlite3_stmt *stmt;
    } statements[STORE_STATEMENTS];
};

/* Brings the database to the schema of the last migration. If it is not empty, a copy is made beside it first. */
int store_migrate(struct store *store, const struct embedded *migrations, struct error *err);

/* Fails with code "store_foreign" unless the database is empty or was made by a strettod, whatever its version. */
int store_check_origin(struct store *store, struct error *err);

enum member_state store_member_state(sqlite3_stmt *stmt, int column); /* reads a member's state from a row */

/* Reads rows of a member state's name and a number into an array indexed by state. `stmt` is NULL if the query
 * failed. */
int store_read_tally(struct store *store, sqlite3_stmt *stmt, int64_t n[MEMBER_STATE_COUNT], struct error *err);

/* ensemble.c: the columns of an ensemble, as store_ensemble_read() expects them first in a row. */
#define STORE_ENSEMBLE_COLUMNS                                                                                         \
    "id, name, state, reason, adapter, stream_key, count, width, next_index, created, ended, root, parent, "           \
    "paused_by, paused, intake, after"
void store_ensemble_read(sqlite3_stmt *stmt, struct ensemble_row *row);
/* Returns the name of the state if the filter has it, else NULL, which is no ensemble's state. */
const char *store_ensemble_asked(const struct ensemble_filter *filter, enum ensemble_state state);
/* Writes the pattern of LIKE, with the escape character \, that the filter means by its part of a name. */
#define STORE_PATTERN 516
void store_ensemble_pattern(const struct ensemble_filter *filter, char pattern[STORE_PATTERN]);

/* Returns the prepared statement of a string literal, which is known by its address; NULL if there is no memory. */
sqlite3_stmt *store_prepared(struct store *store, const char *sql, struct error *err);
int store_run(struct store *store, const char *sql, struct error *err); /* runs a statement without values: 0 or -1 */

/* Opens the turn's transaction unless it is open. Returns -1 if it is doomed. */
int store_begin(struct store *store, struct error *err);
/* Rolls back a transaction of SQLite that the store did not begin, which must be done before a query. */
int store_roll_back(struct store *store, struct error *err);
int store_prepare_rollback(struct store *store, struct error *err); /* prepares ROLLBACK while there is memory for it */

/* event.c: writes the events that were put into the database. On failure the transaction is doomed. */
int store_events_write(struct store *store, struct error *err);
void store_events_drop(struct store *store);
void store_events_free(struct store *store);

/* tally.c: counts the moves of members, and writes the changes to the tallies. store_tally_add() is for members without
 * a row, whose moves no trigger reports. */
int store_tallies_init(struct store *store, struct error *err); /* must come before other statements */
int store_causes_init(struct store *store, struct error *err);  /* must come before other statements */
int store_tallies_write(struct store *store, struct error *err);
void store_tally_add(struct store *store, int64_t ensemble, enum member_state state, int64_t n);
void store_tallies_drop(struct store *store);
void store_tallies_free(struct store *store);

/* Writes the events and tallies that were put off, before anything is read. Returns 0 or -1. */
int store_write_all(struct store *store, struct error *err);

/* Makes the flush that is owed at once. A checkpoint needs it, since it cannot write back commits that the reader does
 * not see. */
int store_flush_owed(struct store *store, struct error *err);

#define STORE_BUSY_MS 1000 /* how long the loop waits for a user who looks with the sqlite3 shell */

/* room.c */
void store_keep_room(struct store *store);     /* called once the database is open with a write-ahead log */
void store_spare_no_more(struct store *store); /* ends what store_accept() began, at the end of the turn */

/* presence.c: notes the identity of the database's files, once they exist. */
void store_note_files(struct store *store);

/* damage.c: returns the path of the file beside a database that names its backups; to be freed. */
char *store_backup_note(const char *database);
/* Fills err with code "store_damaged" and advice. Returns -1. */
int store_damaged(const struct store *store, const char *what, struct error *err);
/* Returns whether the last process that used the database was killed, or its host crashed. To be called before it is
 * opened. */
bool store_is_unclean(const struct store *store);
/* Runs SQLite's quick check for a limited time; fails with code "store_damaged". A million members take 2 s. */
int store_check_whole(struct store *store, struct error *err);
/* Like store_check_whole(), for the small tables that say what is under way. */
int store_check_small(struct store *store, struct error *err);

/* Fills err from SQLite's last failure, with code store_full, store_damaged or store_io. Returns -1. */
int store_error(struct store *store, const char *doing, struct error *err);
#endif
