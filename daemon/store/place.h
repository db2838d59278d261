/* Whether a database may live where the state directory is. */
#ifndef DAEMON_STORE_PLACE_H
#define DAEMON_STORE_PLACE_H
#include "common/error.h"

#include <stdbool.h>
#include <sys/vfs.h>

enum store_journal {
    STORE_JOURNAL_WAL,      /* fast, and readable by others meanwhile; wants memory shared through the file system */
    STORE_JOURNAL_ROLLBACK, /* a rollback journal under an exclusive lock: no shared memory */
};

/* The name of the network file system whose statfs f_type this is; NULL for any other type. FUSE counts as one: the type
 * does not tell what lies behind it. */
const char *store_place_network(unsigned long f_type);

/* The journal for a state directory on a file system of this type. Code "store_network" where that is a network file system
 * and none was allowed. A pure function. */
int store_place_judge(const char *state_dir, unsigned long f_type, bool allow_network, enum store_journal *journal,
                      struct error *err);
#endif
