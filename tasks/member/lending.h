/* Memory that a stream lends to the program: a field's next send buffer, to be written in place. */
#ifndef TASKS_MEMBER_LENDING_H
#define TASKS_MEMBER_LENDING_H
#include "tasks/member/parcel.h"

#include <stdbool.h>
#include <stddef.h>

/* Of one field; all zero at first. */
struct lending {
    bool lent;
    bool framed;   /* the bytes are `parcel`'s; else they are the scratch memory */
    struct parcel parcel; /* only while lent and framed */
    void *scratch; /* kept from one time to the next */
    size_t scratch_size;
};

/* `size` bytes, at 64 bytes; from `slots` or the pool, as parcel_make(), or scratch memory where `pool` is NULL. Asked again
 * before they are taken back, the same. NULL where there is no memory. */
void *lending_lend(struct lending *l, struct sendbuf_pool *pool, struct slots *slots, size_t size);

/* Take back what is lent; p->msg is then the caller's, where it was framed. Otherwise the scratch memory keeps what was
 * written until it is lent again. */
void lending_take(struct lending *l, struct parcel *p);

void lending_fini(struct lending *l);
#endif
