/* Checkpoints away from the loop: what the write-ahead log has gathered is written back into the database on a worker
 * thread, by a connection of its own, while the loop goes on committing. What came meanwhile is written back after the next
 * commit, so that the log begins anew and stays short. Where no worker gets to it (they may all hang at a file system
 * that does), the loop does it, before the log gets long. */
#ifndef DAEMON_STORE_CHECKPOINT_H
#define DAEMON_STORE_CHECKPOINT_H
#include "daemon/store/store.h"

#include <uv.h>

struct checkpoint;

/* NULL where the database has no write-ahead log. */
struct checkpoint *checkpoint_create(uv_loop_t *loop, struct store *store);

/* Before the store is closed. A checkpoint under way goes on, and the loop with it until it has ended. */
void checkpoint_destroy(struct checkpoint *checkpoint);
#endif
