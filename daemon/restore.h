/* A daemon started on a backup. */
#ifndef DAEMON_RESTORE_H
#define DAEMON_RESTORE_H
#include "daemon/store/store.h"

/* Where the store was opened on a backup, make it this daemon's own, before anything else looks at it: parameter files are
 * put back; jobs get another name from now on; ensembles get ids that no directory in the run directory has; and a job that
 * was under way, of which the run directory knows nothing, is not looked for: its attempts are lost, and its members
 * pending again. Where the run directory has it, it is followed as after any restart. Browsers log in
 * again, since their sessions may have ended after the backup. Blocks: for the start only. */
int restore_if_copied(struct store *store, const char *run_dir, const char *rows_dir, int64_t now_ms, struct error *err);
#endif
