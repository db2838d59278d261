/* A thread that flushes the store's log while the loop goes on. A thread of its own: the loop's workers may all be busy with
 * files of a slow run directory, and everything waits for this. */
#ifndef DAEMON_FLUSHER_H
#define DAEMON_FLUSHER_H
#include "daemon/store/store.h"

#include <uv.h>

struct flusher;

/* `done` is called on the loop's thread after each flush; err is NULL where it went well. */
struct flusher *flusher_create(uv_loop_t *loop, struct store *store, void (*done)(void *arg, const struct error *err),
                               void *arg);

/* Flush. One at a time: not again before done() was called. */
void flusher_start(struct flusher *flusher);

/* Wait for the flush that is under way, if one is, and call done(), from inside. */
void flusher_wait(struct flusher *flusher);

/* What is under way ends first; done() is not called any more. */
void flusher_destroy(struct flusher *flusher);
#endif
