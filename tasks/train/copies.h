/* Copies of many samples at once. Several threads share those of a large batch, since one alone cannot fill a GPU's
 * batches as fast as the GPU learns from them. */
#ifndef TASKS_TRAIN_COPIES_H
#define TASKS_TRAIN_COPIES_H
#include <stddef.h>

#define COPIES_HELPERS_MAX 3

/* Returns how many threads may help the one that calls copies_make(): one for each four processors that this process
 * may use, but at most COPIES_HELPERS_MAX. The receiver's threads and the training's own need some processors, too. */
int copies_helpers(void);

/* The helpers are started with the first copies that are large enough. Returns NULL if there is no memory. */
struct copies *copies_create(int helpers);
void copies_destroy(struct copies *copies);

/* Adds a copy to those that copies_make() makes. (If there is no memory to note it, it is made at once.) */
void copies_add(struct copies *copies, void *to, const void *from, size_t size);
/* Makes all that were added since the last call, and returns when they are made. */
void copies_make(struct copies *copies);

#endif
