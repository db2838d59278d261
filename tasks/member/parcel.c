#include "tasks/member/parcel.h"

#include "tasks/proto/frame.h"
#include "tasks/proto/shared.h"

#include <string.h>

int parcel_make(struct parcel *p, struct sendbuf_pool *pool, struct slots *slots, size_t bytes)
{
    struct lent_slot *slot = slots != NULL && bytes >= SHARED_FROM ? slot_take(slots, bytes) : NULL;

    p->in_memory = slot != NULL;
    if (p->in_memory) {
        p->payload = slot_payload(slot);
        return slot_into(slot, &p->msg);
    }
    if (sendbuf_message(pool, FRAME_HEADER_SIZE + bytes, &p->msg) < 0)
        return -1;
    p->payload = (uint8_t *)zmq_msg_data(&p->msg) + FRAME_HEADER_SIZE;
    return 0;
}

int parcel_unshare(zmq_msg_t *msg, struct sendbuf_pool *pool, const struct slots *slots)
{
    struct frame f;
    zmq_msg_t plain;

    if (frame_decode(zmq_msg_data(msg), zmq_msg_size(msg), &f) != FRAME_OK || !frame_is_in_memory(&f))
        return 0;
    if (sendbuf_message(pool, FRAME_HEADER_SIZE + f.length, &plain) < 0)
        return -1;
    memcpy((uint8_t *)zmq_msg_data(&plain) + FRAME_HEADER_SIZE, slots_payload(slots, msg), f.length);
    f.flags &= (uint16_t)~FRAME_IN_MEMORY;
    frame_encode(&f, zmq_msg_data(&plain));
    zmq_msg_move(msg, &plain);
    zmq_msg_close(&plain);
    return 0;
}
