/* Makes sure that a run directory belongs to one database. Directories in it are named by ids of ensembles, which other
 * databases use, too. A member could otherwise mistake the result and the checkpoints of a member with the same number
 * for its own. */
#ifndef DAEMON_RUN_CLAIM_H
#define DAEMON_RUN_CLAIM_H
#include "daemon/store/extent.h"

/* Claims the run directory for this database by a file in it. It may do so if the directory belongs to nobody, or to a
 * database that was in this state directory on this host before. Returns 1 if the file says so. Returns 0 if the
 * directory cannot be written: it is then used without a claim, with a warning. Fails with code "run_dir_taken" if it
 * belongs to another database. Blocks: only for the start. */
int run_claim(struct store *store, const char *run_dir, const char *state_dir, struct error *err);

/* The owner of the run directory, by that file. FORMER: another database in this state directory on this host. */
enum run_claim_owner { RUN_CLAIM_NOBODY, RUN_CLAIM_OURS, RUN_CLAIM_FORMER, RUN_CLAIM_OTHER };
int run_claim_whose(struct store *store, const char *run_dir, const char *state_dir, enum run_claim_owner *whose,
                    struct error *err);

/* Returns whether the claim was made by a daemon with this state directory on this host. */
bool run_claim_was_here(const char *run_dir, const char *state_dir);

/* Removes the claim. The database that made it goes on under another name. */
void run_claim_drop(const char *run_dir);

/* Finds the highest ids of ensembles and jobs that have a directory there, or 0; there->commits is 0. */
void run_claim_extent(const char *run_dir, struct store_extent *there);
#endif
