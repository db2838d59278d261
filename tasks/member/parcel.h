/* A payload on its way into a message: it lies behind room for a frame's header, or in shared memory. */
#ifndef TASKS_MEMBER_PARCEL_H
#define TASKS_MEMBER_PARCEL_H
#include "tasks/member/sendbuf.h"
#include "tasks/member/slots.h"

#include <stdbool.h>

struct parcel {
    zmq_msg_t msg;
    void *payload; /* aligned to 64 bytes */
    bool in_memory;
};

/* Makes room for so many bytes: in `slots`, unless it is NULL or has no room or the bytes are few, or else in a buffer
 * of the pool. On success p->msg is the caller's; -1 if there is no memory. */
int parcel_make(struct parcel *p, struct sendbuf_pool *pool, struct slots *slots, size_t bytes);

/* Replaces a message whose payload is in `slots` by one that contains it, for a rank that cannot read the slots. -1
 * if there is no memory, and *msg is unchanged. */
int parcel_unshare(zmq_msg_t *msg, struct sendbuf_pool *pool, const struct slots *slots);
#endif
