/* Whose the run directory is. Ensembles have their directories in it by their ids, which are another database's ids, too: a
 * member that found there what another one of the same number had left would take its result and its checkpoints for its own. */
#ifndef DAEMON_RUN_CLAIM_H
#define DAEMON_RUN_CLAIM_H
#include "daemon/store/store.h"

/* Make it this database's by a file in it, if it is nobody's, or of a database that was in this state directory of this host
 * before; then no ensemble gets an id that has a directory there already, which is committed. Code "run_dir_taken" where it
 * is another database's. One that cannot be written is used as it is, with a warning. Blocks: for the start only. */
int run_claim(struct store *store, const char *run_dir, const char *state_dir, struct error *err);

/* It is nobody's from now on: the database that it was of goes on by another name. */
void run_claim_drop(const char *run_dir);

/* The highest id that an ensemble's directory there has, or 0. */
int64_t run_claim_highest(const char *run_dir);
#endif
