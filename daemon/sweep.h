/* Removes captured output of members whose ensemble ended long ago, as the setting keep_output says. A worker thread
 * does it in small steps.
 *
 * It removes:
 *
 * - archives of which everything is let go
 * - an attempt's stdout, stderr and exit.json if they are regular files
 * - the files that the daemon and its runner wrote for the job
 * - directories that are then empty
 *
 * Everything else belongs to the user, and stays. */
#ifndef DAEMON_SWEEP_H
#define DAEMON_SWEEP_H
#include "daemon/archive.h"
#include "daemon/store/retain.h"
#include "daemon/turn.h"

struct output_sweep;

/* `archive` and `run_dir` are borrowed; `archive` must last until sweep_destroy(). */
struct output_sweep *sweep_create(uv_loop_t *loop, struct store *store, struct turn *turn,
                                  const struct archive *archive, const char *run_dir, enum retain retain,
                                  int64_t keep_for_ms);
/* Ends sweeping. A step under way ends, and the handle is closed, as the loop goes on. */
void sweep_destroy(struct output_sweep *sweep);
#endif
