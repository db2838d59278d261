/* A thread that flushes the store's log while the loop goes on. libuv's workers may all be busy with files of a slow
 * run directory, and everything waits for a flush. */
#ifndef DAEMON_FLUSHER_H
#define DAEMON_FLUSHER_H
#include "daemon/store/store.h"

#include <uv.h>

struct flusher;

/* `done` is called on the loop's thread after each flush. Its err is NULL if the flush went well. */
struct flusher *flusher_create(uv_loop_t *loop, struct store *store, void (*done)(void *arg, const struct error *err),
                               void *arg);

/* Starts a flush. It must not be called again before done(). */
void flusher_start(struct flusher *flusher);

/* Waits for the flush that is under way. done() is not called any more. */
void flusher_destroy(struct flusher *flusher);
#endif
