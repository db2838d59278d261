/* Shared by the files of the store. */
#ifndef DAEMON_STORE_INTERNAL_H
#define DAEMON_STORE_INTERNAL_H
#include "daemon/store/member.h"

#include <sys/types.h>

#define STORE_STATEMENTS 256 /* slots of the table; a power of two, far above the number of statements */

struct store_events;
struct store_tallies;

#define STORE_FILES 2 /* the database and its log */

struct store_file {
    bool known;
    dev_t device;
    ino_t inode;
};

struct store {
    sqlite3 *db;
    int lock_fd;
    char *path;
    char instance[9];
    char control_secret[65];
    bool exclusive; /* nobody else can read the database meanwhile */
    struct store *reader, *writer; /* the one that reads this one's database, or of which this is one; NULL: none */
    bool held;                     /* of a reader: it sees the last that was flushed, in a transaction of its own */
    bool in_transaction;
    sqlite3_file *log; /* whose flushes can be put off, once it has been looked for */
    bool no_room; /* the last that asked was told so */
    bool defer;
    bool doomed; /* a write failed: the transaction can only be rolled back */
    struct error why;
    int64_t event_made, event_owed, newest_event; /* ids: in this transaction, committed and not flushed, flushed; 0: none */
    struct store_events *events; /* of this transaction, that are not written yet; NULL: there never were any */
    struct store_tallies *tallies; /* likewise; NULL: it only reads */
    int64_t last_job;            /* the highest id that a job was ever given; 0: not known */
    struct store_file files[STORE_FILES]; /* as they were when they were opened */
    int64_t failures;
    char last_failure[256];
    struct {
        const char *sql;
        sqlite3_stmt *stmt;
    } statements[STORE_STATEMENTS];
};

/* Bring the database to the schema of the last of these, after a copy beside it where there was something before. */
int store_migrate(struct store *store, const struct embedded *migrations, struct error *err);

/* Whether the database is empty or was made by a strettod, this one's version or not; code "store_foreign" where it was
 * not. */
int store_check_origin(struct store *store, struct error *err);

/* Rows of a member state's name and a number, by state. NULL: the query could not be started. */
int store_read_tally(struct store *store, sqlite3_stmt *stmt, int64_t n[MEMBER_STATE_COUNT], struct error *err);

/* The prepared statement of a literal, which is known by its address; NULL where there is no memory. */
sqlite3_stmt *store_prepared(struct store *store, const char *sql, struct error *err);
int store_run(struct store *store, const char *sql, struct error *err); /* one without values: 0 or -1 */

/* Open the turn's transaction, where it is not open; -1: it is doomed. */
int store_begin(struct store *store, struct error *err);
/* Before a query: nothing may be open that was not begun. */
int store_roll_back(struct store *store, struct error *err);
int store_prepare_rollback(struct store *store, struct error *err); /* while there is memory for it */

/* event.c: those that were put, into the database: 0, or -1 where the transaction is doomed by it; or not at all. */
int store_events_write(struct store *store, struct error *err);
void store_events_drop(struct store *store);
void store_events_free(struct store *store);

/* tally.c: likewise what it changes of the tallies. */
int store_tallies_init(struct store *store, struct error *err); /* before anything else is asked of the database */
int store_causes_init(struct store *store, struct error *err); /* likewise */
int store_tallies_write(struct store *store, struct error *err);
void store_tallies_drop(struct store *store);
void store_tallies_free(struct store *store);

/* All that was put off, before something looks: 0 or -1, as these. */
int store_write_all(struct store *store, struct error *err);

/* Make good at once what flush is owed: for a checkpoint, which would else not get beyond what the reader holds. */
int store_flush_owed(struct store *store, struct error *err);

#define STORE_BUSY_MS 1000 /* somebody may look with the sqlite3 shell; the loop waits meanwhile */

/* room.c */
void store_keep_room(struct store *store);     /* once it is open, with a write-ahead log */
bool store_empty_log(struct store *store);     /* into the database, so that it begins anew with the next change; false: not now */
void store_spare_no_more(struct store *store); /* the turn is over */

/* presence.c: remember which files these are, once they are there. */
void store_note_files(struct store *store);

/* damage.c: the path of the file that names the newest backup, beside a database; to be freed. */
char *store_backup_note(const char *database);
/* Code "store_damaged", with what to do; returns -1. */
int store_damaged(const struct store *store, const char *what, struct error *err);
bool store_is_unclean(const struct store *store); /* before it is opened: whoever had it before was killed, or its host crashed */
/* SQLite's quick check, for a limited time; code "store_damaged". A million members take 2 s. */
int store_check_whole(struct store *store, struct error *err);
int store_check_small(struct store *store, struct error *err); /* the same of the tables that say what is under way, which are small */

/* err from SQLite's last failure; code store_full, store_damaged or store_io. Returns -1. */
int store_error(struct store *store, const char *doing, struct error *err);
#endif
