/* Gives a training a copy of a checkpoint of another one's, which outlives that. */
#ifndef DAEMON_RUNDIR_ADOPT_H
#define DAEMON_RUNDIR_ADOPT_H
#include "common/error.h"

/* Makes the directory `to`, with the programs' states that are in the checkpoint `from` and what its ranks wrote of
 * them, but not which samples were drawn. Files are linked if that is possible, and copied if it is not. Nothing
 * is done if `to` is there, or if `from` is gone: ranks tell then that they find nothing. */
int adopt_checkpoint(const char *from, const char *to, struct error *err);
#endif
