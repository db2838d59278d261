/* Backups: one file that has all that the database and the copies of parameter files hold, made while the daemon runs; and
 * what a daemon does that is started on one.
 *
 * A backup is a database as the daemon uses it, with the parameter files in a table of its own and the mark "copied". As
 * long as it has the mark, nothing in it may be taken for what goes on: other members have run since, and the daemon it
 * came from may still be there. */
#ifndef DAEMON_STORE_BACKUP_H
#define DAEMON_STORE_BACKUP_H
#include "daemon/store/store.h"

#include <stdatomic.h>

/* Where a backup can be made from, to be given to a worker thread. */
struct backup_source {
    char *database, *rows_dir;
    const atomic_bool *abandoned; /* NULL, or what makes backup_write() give up soon once it is true */
};
/* Code "backup_unavailable" where nobody but the loop can read the database (a network file system). */
int backup_source_init(struct backup_source *source, const struct store *store, const char *rows_dir, struct error *err);
void backup_source_fini(struct backup_source *source);

/* A name for mkstemp(3) in the state directory, to be freed. */
char *backup_temporary(const char *state_dir);
/* On any thread, with a connection of its own: write a checked backup to `path`, a new or an empty file. Codes store_full,
 * store_io, or not_ready where it is abandoned; what is left at `path` then is of no use. */
int backup_write(const struct backup_source *source, const char *path, struct error *err);

/* Remember that the caller writes the backup to `file`, an absolute path, for the day on which the database is damaged. Blocks. */
#define BACKUP_FILE_MAX 400
int backup_note(const struct backup_source *source, const char *file, struct error *err);

/* Remove what a daemon that was killed while it made a backup has left in the state directory. */
void backup_sweep(const char *state_dir);

/* Whether the store was opened on a backup that was not yet made this daemon's own: 1, 0, -1. */
int backup_is_copy(struct store *store, struct error *err);
/* Write the parameter files that the backup brought to rows_dir. */
int backup_restore_rows(struct store *store, const char *rows_dir, struct error *err);
/* The database is this daemon's own from now on: another name for its jobs, no ensemble gets an id up to `used_id`.
 * To be committed by the caller. */
int backup_adopt(struct store *store, int64_t used_id, struct error *err);
#endif
