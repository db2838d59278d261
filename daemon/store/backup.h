/* Makes backups while the daemon runs: one file that holds the database and the copies of parameter files. A daemon
 * that is started on a backup takes it over.
 *
 * A backup is a database that the daemon can use, with the parameter files in a table of its own and the mark "copied".
 * As long as it has the mark, its jobs must not be treated as jobs under way. Other members have run since the backup
 * was made, and the daemon that made it may still be running. */
#ifndef DAEMON_STORE_BACKUP_H
#define DAEMON_STORE_BACKUP_H
#include "daemon/store/store.h"

#include <stdatomic.h>

/* The files that a backup is made from. It may be given to a worker thread. */
struct backup_source {
    char *database, *rows_dir;
    const atomic_bool *abandoned; /* may be NULL; backup_write() gives up soon once it is true */
};
/* Fails with code "backup_unavailable" if only the loop can read the database (on a network file system). */
int backup_source_init(struct backup_source *source, const struct store *store, const char *rows_dir,
                       struct error *err);
void backup_source_fini(struct backup_source *source);

/* Returns a template for mkstemp(3) in the state directory, to be freed. */
char *backup_temporary(const char *state_dir);
/* Writes a checked backup to `path`, a new or an empty file. May be called on any thread, since it opens its own
 * connection. Fails with code store_full, store_io, or not_ready if it is abandoned; the file is then useless. */
int backup_write(const struct backup_source *source, const char *path, struct error *err);

/* Removes a backup from the state directory, and what SQLite leaves beside one that had no room. */
void backup_remove(const char *path);

/* Notes that the caller is about to write the backup to `file` (an absolute path). An error about a damaged database
 * can then name the newest backup that is there. Blocks. */
#define BACKUP_FILE_MAX 400
int backup_note(const struct backup_source *source, const char *file, struct error *err);

/* Removes unfinished backups from the state directory, which a daemon leaves there if it is killed. */
void backup_sweep(const char *state_dir);

/* Returns 1 if the store was opened on a backup that is not yet this daemon's own, 0 if not, -1 on error. */
int backup_is_copy(struct store *store, struct error *err);
/* Writes the parameter files in the backup to rows_dir. */
int backup_restore_rows(struct store *store, const char *rows_dir, struct error *err);
/* Makes the database this daemon's own: it gets another name, and forgets its run directory. The caller commits it. */
int backup_adopt(struct store *store, struct error *err);
#endif
