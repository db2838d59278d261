/* The run directory on a real file system, read and written on libuv's worker threads. */
#ifndef DAEMON_RUNDIR_RUNDIR_H
#define DAEMON_RUNDIR_RUNDIR_H
#include "daemon/engine/ports.h"

extern const struct rundir_ops rundir_ops; /* their `rundir` is the uv_loop_t on which callbacks come */

#endif
