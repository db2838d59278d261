/* Send buffers that come back: a 4 MB allocation for each time step would be unmapped and faulted in again each time.
 */
#ifndef TASKS_MEMBER_SENDBUF_H
#define TASKS_MEMBER_SENDBUF_H
#include <stddef.h>
#include <zmq.h>

struct sendbuf_pool;

struct sendbuf_pool *sendbuf_pool_create(void);

/* The pool lives on until the last message made from it is gone; NULL is taken. */
void sendbuf_pool_destroy(struct sendbuf_pool *pool);

/* Initialise *msg with a buffer of `size` bytes (contents undefined), which returns to the pool once no message holds
 * it, on whichever thread that is. 0, or -1 where there is no memory. */
int sendbuf_message(struct sendbuf_pool *pool, size_t size, zmq_msg_t *msg);
#endif
