/* The protocol between the local adapter and the process that makes its runners: `stretto-run --starter`, whose
 * standard input is a socket of whole messages. An order is the job's name, its directory, and, if GPUs are counted,
 * the ids of its GPUs, each ended by NUL. The descriptor that holds job.json comes with it (SCM_RIGHTS). Orders are
 * answered one by one, in their order. The runner is a child of the daemon. */
#ifndef TASKS_PROTO_STARTER_H
#define TASKS_PROTO_STARTER_H
#include <stdint.h>

#define STARTER_ORDER_MAX 8192 /* bytes: a runner with a longer order is started by itself */

/* The environment of the starter has room for the name of a job, and its arguments have room for those of a runner. So
 * a runner looks like any other process: the daemon finds runners by the environment, and people by the arguments. */
#define STARTER_MARK "STRETTO_RUNNER="
#define STARTER_MARK_ROOM 128
#define STARTER_ARGS_ROOM 1024

struct starter_reply {
    int32_t pid, error; /* error: an errno if there is no runner */
};

#endif
