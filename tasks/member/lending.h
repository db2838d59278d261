/* Memory that a stream lends to the program: the next send buffer of a field, which the program writes in place. */
#ifndef TASKS_MEMBER_LENDING_H
#define TASKS_MEMBER_LENDING_H
#include "tasks/member/parcel.h"

#include <stdbool.h>
#include <stddef.h>

/* The lending of one field; all zero at first. */
struct lending {
    bool lent;
    bool framed;          /* the memory is that of `parcel`; else it is the scratch memory */
    struct parcel parcel; /* valid while lent and framed */
    void *scratch;        /* kept from one lending to the next */
    size_t scratch_size;
};

/* Lends `size` bytes, aligned to 64 bytes: from `slots` or the pool, as parcel_make() does, or scratch memory if
 * `pool` is NULL. Repeated calls before lending_take() return the same memory. NULL if there is no memory. */
void *lending_lend(struct lending *l, struct sendbuf_pool *pool, struct slots *slots, size_t size);

/* Takes the memory back; if it was framed, p->msg is then the caller's. Otherwise the scratch memory keeps its
 * content until it is lent again. */
void lending_take(struct lending *l, struct parcel *p);

void lending_drop(struct lending *l); /* what is lent is not sent */
void lending_fini(struct lending *l);
#endif
