/* Checkpoints away from the loop. A worker thread writes the content of the write-ahead log back into the database, by
 * a connection of its own, while the loop goes on committing. Commits made meanwhile are written back after the next
 * commit, so that the log begins again and stays short. The workers may all hang on a file system that hangs; then the
 * loop does it before the log gets long. */
#ifndef DAEMON_STORE_CHECKPOINT_H
#define DAEMON_STORE_CHECKPOINT_H
#include "daemon/store/store.h"

#include <uv.h>

struct checkpoint;

/* Returns NULL if the database has no write-ahead log. */
struct checkpoint *checkpoint_create(uv_loop_t *loop, struct store *store);

/* To be called each second. If nothing was committed for that long, the log is written back, and emptied a second
 * later. Otherwise commits of a small database would stay in the log for days, and would be lost with it. `checkpoint`
 * may be NULL. */
void checkpoint_look(struct checkpoint *checkpoint);

/* Must be called before the store is closed. A checkpoint under way goes on, and so does the loop until it has
 * ended. */
void checkpoint_destroy(struct checkpoint *checkpoint);
#endif
