/* The control socket: runners and ranks say where to look (docs/run-directory.md). */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H
#include "daemon/engine/engine.h"

struct control;

/* What came since the daemon began. */
struct control_counts {
    uint64_t taken;
    uint64_t wrong_key; /* it spoke for a job whose key it did not have */
    uint64_t malformed;
};

/* Bind ipc://PATH. The directory of the socket (mode 0700) keeps others out, and the key that each message must bear
 * (daemon/control_key.h) keeps jobs from speaking for each other: what does not fit is counted, logged at most once a
 * minute, and dropped. */
int control_open(struct control **out, uv_loop_t *loop, const char *path, struct engine *engine,
                 const struct store *store, struct error *err);
const struct control_counts *control_counts(const struct control *control);
void control_close(struct control *control); /* its handle is freed by the loop */
#endif
