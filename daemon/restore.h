/* Starts a daemon on a backup. */
#ifndef DAEMON_RESTORE_H
#define DAEMON_RESTORE_H
#include "daemon/store/store.h"

/* If the store was opened on a backup, makes it this daemon's own before anything else uses it:
 * - parameter files are put back;
 * - jobs get other names from now on, and ensembles get ids that no directory in the run directory has;
 * - jobs that were under way are followed, as after any restart, if the run directory has them; if it does not, their
 *   attempts are lost, and their members pending again;
 * - browsers have to log in again, since their sessions may have ended after the backup.
 * Blocks: only for the start. */
int restore_if_copied(struct store *store, const char *run_dir, const char *rows_dir, int64_t now_ms,
                      struct error *err);
#endif
