/* The protocol between the local adapter and the process that stands by to become its runners: `stretto-run --starter`,
 * whose standard input is a socket of whole messages.
 *
 * An order is the job's name, its directory, and, where GPUs are counted, the ids of its GPUs, each ended by NUL; the
 * descriptor that holds job.json comes with it (SCM_RIGHTS). Orders are answered one by one, in their order. The runner
 * is a child of the daemon.
 *
 * A second descriptor may come with an order to the starter: a socket of the runner's own. Where such a runner would
 * exit with status 0, and nothing of its job is left in it, it need not exit: it says STARTER_ENDED on the socket, and
 * takes its next order there, which it does not answer. It ends when the socket is closed. */
#ifndef TASKS_PROTO_STARTER_H
#define TASKS_PROTO_STARTER_H
#include <stdint.h>
#include <sysexits.h>

#define STARTER_ORDER_MAX 8192 /* bytes: a runner with a longer order is started anew */

/* The environment of the starter has room for the name of a job, and its arguments have room for those of a runner, so
 * that a runner looks as if it had been started anew: the daemon finds runners by the environment, and people by the
 * arguments. */
#define STARTER_MARK "STRETTO_RUNNER="
#define STARTER_MARK_ROOM 128
#define STARTER_ARGS_ROOM 1024

struct starter_reply {
    int32_t pid, error; /* error: an errno where there is no runner */
};

#define STARTER_ENDED 'e' /* a message of one byte: all is true that exit status 0 would say of the job */
/* The exit status of a runner that ends while it has no job: an order on its socket was not seen, and begins
 * nothing. */
#define STARTER_UNSEEN EX_PROTOCOL

#endif
