/* A lock around a stream, and a thread that serves the stream while the program does not call the library, perhaps for
 * an hour. The thread sends frames that were held back for a moment, and reads acknowledgements. It starts when it is
 * first needed, and sleeps while there is nothing to do. */
#ifndef TASKS_MEMBER_LINK_FLUSHER_H
#define TASKS_MEMBER_LINK_FLUSHER_H
struct link_flusher;

/* Called with the lock held. Returns the ms until it is to be called again; 0: not before the next
 * link_flusher_unlock(). */
typedef int link_flusher_look(void *arg);

/* NULL if there is no memory. */
struct link_flusher *link_flusher_create(link_flusher_look *look, void *arg);

/* Called without the lock. `look` is not called any more. NULL is allowed. */
void link_flusher_destroy(struct link_flusher *f);

void link_flusher_lock(struct link_flusher *f);

/* `ms`: `look` is called after that time at the latest; 0: it need not be called. -1, with the lock still held, if
 * no thread can be started for it. */
int link_flusher_unlock(struct link_flusher *f, int ms);
#endif
