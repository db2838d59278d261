/* Reading on in many small files at once: one order to a worker thread, and one answer. */
#ifndef DAEMON_RUNDIR_TAILS_H
#define DAEMON_RUNDIR_TAILS_H
#include "daemon/engine/ports.h"

/* rundir_ops.tails, of a uv_loop_t. */
void rundir_tails(void *loop, struct rundir_tail *files, size_t n,
                  void (*cb)(void *arg, const struct rundir_tail *files, size_t n), void *arg);
#endif
