/* The control socket, on which runners and ranks tell the daemon where to look (docs/run-directory.md). */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H
#include "daemon/engine/engine.h"

struct control;

/* The numbers of messages since the daemon began. */
struct control_counts {
    uint64_t taken;
    uint64_t wrong_key; /* the key was not that of the job that the message named */
    uint64_t malformed;
};

/* Binds ipc://PATH. The directory of the socket (mode 0700) keeps other users out, and the key in each message
 * (daemon/control_key.h) keeps jobs from speaking for each other. A message that is malformed or has a wrong key is
 * counted, logged at most once a minute, and dropped. */
int control_open(struct control **out, uv_loop_t *loop, const char *path, struct engine *engine,
                 const struct store *store, struct error *err);
const struct control_counts *control_counts(const struct control *control);
void control_close(struct control *control); /* the loop frees its handle later */
#endif
