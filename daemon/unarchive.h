/* Brings a restored database and the archives of the run directory together (docs/run-directory.md, "Archives"). */
#ifndef DAEMON_UNARCHIVE_H
#define DAEMON_UNARCHIVE_H
#include "daemon/store/store.h"

/* Reads all archives. An attempt that the database says is under way, although its exit record is in an archive, gets
 * its files back. The engine then finds them as after any restart. An attempt that has ended is read from the archive
 * from now on. */
int unarchive_for_restore(struct store *store, const char *run_dir, struct error *err);
#endif
