/* One of its kind at a time: for what cron starts while the one before may still run. */
#ifndef CLI_LOCK_H
#define CLI_LOCK_H
#include "cli/cli.h"

/* Take the lock `name` that commands of this user to this daemon share, until the process ends. False: somebody else has
 * it. Where there is no place for locks, true: a lock saves work, and what is right does not hang on it. */
bool lock_take(const struct cli *cli, const char *name);
#endif
