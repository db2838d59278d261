/* Captured output of members whose ensemble ended long ago is removed, as keep_output has it, by a worker thread in small steps.
 *
 * Ours, and removed: an attempt's stdout, stderr and exit.json where they are regular files, the files of the job that the
 * daemon and its runner wrote, and directories that are empty then. Whatever else is there is the user's, and stays. */
#ifndef DAEMON_SWEEP_H
#define DAEMON_SWEEP_H
#include "daemon/store/retain.h"
#include "daemon/turn.h"

struct sweep;

/* `run_dir` is borrowed. */
struct sweep *sweep_create(uv_loop_t *loop, struct store *store, struct turn *turn, const char *run_dir, enum retain retain,
                           int64_t keep_for_ms);
/* Its handle is closed, and a step under way ends, as the loop goes on. */
void sweep_destroy(struct sweep *sweep);
#endif
