/* Gives a training a copy of a checkpoint of another one's, which outlives that. */
#ifndef DAEMON_RUNDIR_ADOPT_H
#define DAEMON_RUNDIR_ADOPT_H
#include "common/error.h"

/* Makes the directory `to` with the programs' states from the checkpoint `from` and what its ranks wrote of them. It
 * leaves out which samples were drawn. Files are linked if that is possible, and otherwise copied. Nothing is done if
 * `to` exists, or if `from` is gone; the ranks then report that they find nothing. */
int adopt_checkpoint(const char *from, const char *to, struct error *err);
#endif
