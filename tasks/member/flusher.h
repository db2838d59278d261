/* A lock around what a stream holds back for a moment, and the thread that sends it on where the program does not: it
 * may compute for an hour before it sends again. The thread starts with the first that is held, and sleeps while
 * nothing is. */
#ifndef TASKS_MEMBER_FLUSHER_H
#define TASKS_MEMBER_FLUSHER_H
#include <stdbool.h>

struct flusher;

/* Called with the lock, every FLUSHER_MS while anything is held: send what was there at the call before. Returns
 * whether anything is still held. */
typedef bool flusher_look(void *arg);

#define FLUSHER_MS 1

struct flusher *flusher_create(flusher_look *look, void *arg);

/* Without the lock; `look` is not called any more. NULL is taken. */
void flusher_destroy(struct flusher *f);

void flusher_lock(struct flusher *f);

/* `held`: look after it. -1, still locked, where there can be no thread for that: then nothing may be held. */
int flusher_unlock(struct flusher *f, bool held);
#endif
