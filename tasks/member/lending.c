#include "tasks/member/lending.h"

#include "tasks/proto/frame.h"

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

void *lending_lend(struct lending *l, struct sendbuf_pool *pool, size_t size)
{
    if (!l->lent) {
        if (pool != NULL ? sendbuf_message(pool, FRAME_HEADER_SIZE + size, &l->msg) < 0 : scratch(l, size) == NULL)
            return NULL;
        l->framed = pool != NULL;
        l->lent = true;
    }
    return l->framed ? (char *)zmq_msg_data(&l->msg) + FRAME_HEADER_SIZE : l->scratch;
}

void lending_take(struct lending *l, zmq_msg_t *msg)
{
    if (l->framed) {
        zmq_msg_init(msg);
        zmq_msg_move(msg, &l->msg);
        zmq_msg_close(&l->msg);
    }
    l->lent = false;
    l->framed = false;
}

void lending_fini(struct lending *l)
{
    if (l->lent && l->framed)
        zmq_msg_close(&l->msg);
    free(l->scratch);
    memset(l, 0, sizeof *l);
}
