/* Between the local adapter and the process that stands by to become its runners: `stretto-run --starter`, whose standard
 * input is a socket of whole messages.
 *
 * An order is the job's name, its directory, and, where GPUs are counted, the ids of its own, each ended by NUL; the letter comes
 * with it (SCM_RIGHTS). Orders are answered one by one, in their order. The runner is a child of the daemon. */
#ifndef TASKS_PROTO_STARTER_H
#define TASKS_PROTO_STARTER_H
#include <stdint.h>

#define STARTER_ORDER_MAX 8192 /* bytes: what is longer is started anew */

/* In the environment of the starter there is room for the name of a job, and in its arguments for those of a runner, so that each
 * looks as if it had been started anew: the daemon knows runners by the one, people by the other. */
#define STARTER_MARK "STRETTO_RUNNER="
#define STARTER_MARK_ROOM 128
#define STARTER_ARGS_ROOM 1024

struct starter_reply {
    int32_t pid, error; /* an errno, and there is no runner */
};

#endif
