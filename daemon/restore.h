/* Starts a daemon on an older copy of its database: a backup, or files that were put back. */
#ifndef DAEMON_RESTORE_H
#define DAEMON_RESTORE_H
#include "daemon/store/store.h"

/* Makes the database this daemon's own before anything else uses it:
 * - parameter files in a backup are put back;
 * - the database has another name from now on;
 * - jobs that were under way are followed, as after any restart, if the run directory has them; if it does not, their
 *   attempts are lost, and their members pending again;
 * - generations of trainings that it does not know are moved aside;
 * - browsers have to log in again, since their sessions may have ended after the copy was made.
 * Blocks: only for the start. */
int restore_take_over(struct store *store, const char *run_dir, const char *rows_dir, int64_t now_ms,
                      struct error *err);
#endif
