/* Lets only one command of a kind run at a time, for commands that cron starts while the one before may still run. */
#ifndef CLI_LOCK_H
#define CLI_LOCK_H
#include "cli/cli.h"

/* Takes the lock `name`, which commands of this user to this daemon share, until the process ends. Returns false if
 * another process has it. Returns true if there is no place for locks: a lock only saves work, and correctness does
 * not depend on it. */
bool lock_take(const struct cli *cli, const char *name);
#endif
