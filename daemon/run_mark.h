/* The high-water mark: how far the database has come, noted in the run directory (RUN/mark.json). A database that has
 * come less far when it is opened is an older copy, or has lost its end. A worker thread writes the mark, a second
 * after a change at the latest if the run directory answers. Nobody waits for it: an fsync on a shared file system for
 * each commit would be too slow. The run directory itself shows what is missing in that second, by the ensembles and
 * jobs in it. */
#ifndef DAEMON_RUN_MARK_H
#define DAEMON_RUN_MARK_H
#include "daemon/store/extent.h"

#include <uv.h>

struct run_mark {
    char database[9]; /* whose it is; "" if there is none */
    struct store_extent extent;
};
/* Blocks: only for the start. Fails if there is a mark that cannot be read. */
int run_mark_read(const char *run_dir, struct run_mark *mark, struct error *err);

struct run_marker;

/* `store` is the connection that sees what is on the disk: the reader, if there is one. */
struct run_marker *run_marker_create(uv_loop_t *loop, struct store *store, const char *database, const char *run_dir);
/* To be called each second, and once when nothing is committed any more. */
void run_marker_look(struct run_marker *marker);
/* A mark that is being written is finished; until then the loop goes on. */
void run_marker_destroy(struct run_marker *marker);

#endif
