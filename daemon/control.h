/* The control socket, a Unix datagram socket on which runners and ranks of this host tell the daemon where to look
 * (docs/run-directory.md). */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H
#include "daemon/engine/engine.h"

struct control;

/* The numbers of messages since the daemon began. */
struct control_counts {
    uint64_t taken;
    uint64_t other_user; /* the sender is not the user that runs the daemon */
    uint64_t malformed;
};

/* Binds PATH, and replaces what an earlier daemon has left there; the state directory's lock keeps a second daemon
 * away. The directory of the socket (mode 0700) keeps other users out, and the kernel reports the sender of each
 * message. A message that is malformed or comes from another user is counted, logged at most once a minute, and
 * dropped. */
int control_open(struct control **out, uv_loop_t *loop, const char *path, struct engine *engine, struct error *err);
const struct control_counts *control_counts(const struct control *control);
void control_close(struct control *control); /* removes the file; the loop frees its handle later */
#endif
