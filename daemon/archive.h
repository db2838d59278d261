/* Moves captured output and exit records of ended attempts into archives, a few files an ensemble
 * (docs/run-directory.md, "Archives"). So an ensemble of a million members does not keep millions of files. A worker
 * thread does it in small steps. It copies and flushes, then the database records where the copies are, and only then
 * the originals are removed. */
#ifndef DAEMON_ARCHIVE_H
#define DAEMON_ARCHIVE_H
#include "daemon/turn.h"

struct archive;

/* Archives a job's output `after_ms` after its end, or earlier if many jobs wait for that. `run_dir` is borrowed. To
 * be created before the engine starts jobs. */
struct archive *archive_create(uv_loop_t *loop, struct store *store, struct turn *turn, const char *run_dir,
                               int64_t after_ms);
/* Ends it. A step under way ends, and the handle is closed, as the loop goes on. */
void archive_destroy(struct archive *archive);

/* Returns whether the directory of this member may be removed at this moment, so that no attempt may begin there. */
bool archive_holds(const struct archive *archive, int64_t ensemble, int64_t index);
/* Returns whether a step under way is about this ensemble; `archive` may be NULL. */
bool archive_is_busy(const struct archive *archive, int64_t ensemble);
#endif
