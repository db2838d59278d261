#include "tasks/member/lending.h"

#include <stdlib.h>
#include <string.h>

static void *scratch(struct lending *l, size_t size)
{
    if (l->scratch_size < size || l->scratch == NULL) {
        free(l->scratch);
        l->scratch = aligned_alloc(64, (size / 64 + 1) * 64);
        l->scratch_size = l->scratch != NULL ? size : 0;
    }
    return l->scratch;
}

void *lending_lend(struct lending *l, struct sendbuf_pool *pool, struct slots *slots, size_t size)
{
    if (!l->lent) {
        if (pool != NULL ? parcel_make(&l->parcel, pool, slots, size) < 0 : scratch(l, size) == NULL)
            return NULL;
        l->framed = pool != NULL;
        l->lent = true;
    }
    return l->framed ? l->parcel.payload : l->scratch;
}

void lending_take(struct lending *l, struct parcel *p)
{
    if (l->framed) {
        *p = l->parcel;
        zmq_msg_init(&p->msg);
        zmq_msg_move(&p->msg, &l->parcel.msg);
        zmq_msg_close(&l->parcel.msg);
    }
    l->lent = false;
    l->framed = false;
}

void lending_drop(struct lending *l)
{
    if (l->framed)
        zmq_msg_close(&l->parcel.msg);
    l->lent = false;
    l->framed = false;
}

void lending_fini(struct lending *l)
{
    if (l->lent && l->framed)
        zmq_msg_close(&l->parcel.msg);
    free(l->scratch);
    memset(l, 0, sizeof *l);
}
