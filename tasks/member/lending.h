/* Memory that a stream lends to the program: a field's next send buffer, to be written in place. */
#ifndef TASKS_MEMBER_LENDING_H
#define TASKS_MEMBER_LENDING_H
#include "tasks/member/sendbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* Of one field; all zero at first. */
struct lending {
    bool lent;
    bool framed;   /* the bytes are `msg`'s, behind room for a frame's header; else they are the scratch memory */
    zmq_msg_t msg; /* only while lent and framed */
    void *scratch; /* kept from one time to the next */
    size_t scratch_size;
};

/* `size` bytes, at 64 bytes; from the pool, or scratch memory where `pool` is NULL. Asked again before they are taken
 * back, the same. NULL where there is no memory. */
void *lending_lend(struct lending *l, struct sendbuf_pool *pool, size_t size);

/* Take back what is lent; *msg is then the caller's, where it was framed. Otherwise the scratch memory keeps what was
 * written until it is lent again. */
void lending_take(struct lending *l, zmq_msg_t *msg);

void lending_fini(struct lending *l);
#endif
