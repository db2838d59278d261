/* A pool of send buffers. Without it, a 4 MB allocation for each time step would be unmapped and faulted in again each
 * time. */
#ifndef TASKS_MEMBER_SENDBUF_H
#define TASKS_MEMBER_SENDBUF_H
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

struct sendbuf_pool;
struct sendbuf;

struct sendbuf_pool *sendbuf_pool_create(void);

/* The pool lives on until the last message made from it is gone; NULL is allowed. */
void sendbuf_pool_destroy(struct sendbuf_pool *pool);

/* Returns a buffer of `size` bytes, aligned to 64 (contents undefined), or NULL if there is no memory. */
struct sendbuf *sendbuf_take(struct sendbuf_pool *pool, size_t size);
uint8_t *sendbuf_bytes(struct sendbuf *buf);

/* Initialises *msg with the first `size` bytes of a buffer, which returns to the pool when no message holds it, on
 * whichever thread that is. The buffer is taken over, also on failure: -1 if there is no memory. */
int sendbuf_into(struct sendbuf *buf, size_t size, zmq_msg_t *msg);

/* Does sendbuf_take() and sendbuf_into(). */
int sendbuf_message(struct sendbuf_pool *pool, size_t size, zmq_msg_t *msg);

void sendbuf_give_back(struct sendbuf *buf); /* NULL is allowed */
#endif
