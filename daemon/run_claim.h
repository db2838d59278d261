/* Makes sure that a run directory belongs to one database. Directories in it are named by ids of ensembles, which other
 * databases use, too: a member that found what a member of the same number had left would take that result and those
 * checkpoints for its own. */
#ifndef DAEMON_RUN_CLAIM_H
#define DAEMON_RUN_CLAIM_H
#include "daemon/store/store.h"

/* Claims the run directory for this database by a file in it, if it belongs to nobody, or to a database that was in
 * this state directory on this host before. Then no ensemble gets an id that has a directory there already; this is
 * committed. Fails with code "run_dir_taken" where it belongs to another database. A directory that cannot be written
 * is used without a claim, with a warning. Blocks: only for the start. */
int run_claim(struct store *store, const char *run_dir, const char *state_dir, struct error *err);

/* Removes the claim. The database that made it goes on under another name. */
void run_claim_drop(const char *run_dir);

/* Returns the highest id of an ensemble that has a directory there, or 0. */
int64_t run_claim_highest(const char *run_dir);
#endif
