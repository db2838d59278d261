/* Decides whether a database may be kept on the file system of the state directory. */
#ifndef DAEMON_STORE_PLACE_H
#define DAEMON_STORE_PLACE_H
#include "common/error.h"

#include <stdbool.h>
#include <sys/vfs.h>

enum store_journal {
    /* fast, and other processes can read meanwhile; needs memory shared through the file system */
    STORE_JOURNAL_WAL,
    STORE_JOURNAL_ROLLBACK, /* a rollback journal under an exclusive lock; needs no shared memory */
};

/* Returns the name of the network file system that has this f_type of statfs(2), or NULL for any other type. FUSE
 * counts as one, since its type does not say where the files are. */
const char *store_place_network(unsigned long f_type);

/* Chooses the journal for a state directory on a file system of this type. Fails with code "store_network" if it is
 * a network file system and none is allowed. A pure function. */
int store_place_judge(const char *state_dir, unsigned long f_type, bool allow_network, enum store_journal *journal,
                      struct error *err);
#endif
