/* A lock around a stream, and the thread that does for it what cannot wait until the program calls the library again, which may
 * compute for an hour: it sends on what was held back for a moment, and takes acknowledgements. It starts when there is something
 * to do for the first time, and sleeps while there is nothing. */
#ifndef TASKS_MEMBER_FLUSHER_H
#define TASKS_MEMBER_FLUSHER_H
struct flusher;

/* Called with the lock. Returns after how many ms it is to be called again, 0: not before the next flusher_unlock(). */
typedef int flusher_look(void *arg);

/* NULL where there is no memory. */
struct flusher *flusher_create(flusher_look *look, void *arg);

/* Without the lock; `look` is not called any more. NULL is taken. */
void flusher_destroy(struct flusher *f);

void flusher_lock(struct flusher *f);

/* `ms`: look after so long at the latest, 0: there is nothing to look after. -1, still locked, where there can be no thread for
 * that. */
int flusher_unlock(struct flusher *f, int ms);
#endif
