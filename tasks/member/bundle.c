#include "tasks/member/bundle.h"

#include "common/stretto_assert.h"

#include <string.h>

void bundle_init(struct bundle *b, size_t window)
{
    *b = (struct bundle){.capacity = window / 4 < FRAME_SHARED_MAX ? window / 4 : FRAME_SHARED_MAX};
}

void bundle_fini(struct bundle *b)
{
    sendbuf_give_back(b->buf);
    b->buf = NULL;
}

bool bundle_is_open(const struct bundle *b)
{
    return b->buf != NULL;
}

bool bundle_suits(const struct bundle *b, size_t size)
{
    return size <= FRAME_SHARING_MAX && 2 * size <= b->capacity;
}

bool bundle_takes(const struct bundle *b, size_t size)
{
    return b->buf != NULL && bundle_suits(b, size) && b->used + size <= b->capacity;
}

int bundle_open(struct bundle *b, struct sendbuf_pool *pool)
{
    b->buf = sendbuf_take(pool, b->capacity);
    b->used = 0;
    b->seen = false;
    return b->buf != NULL ? 0 : -1;
}

void *bundle_place(struct bundle *b)
{
    stretto_assert(b->buf != NULL && b->used + FRAME_HEADER_SIZE <= b->capacity);
    return sendbuf_bytes(b->buf) + b->used + FRAME_HEADER_SIZE;
}

void bundle_add(struct bundle *b, const struct frame *f)
{
    uint8_t *bytes = sendbuf_bytes(b->buf);
    size_t last_end = b->last_at + FRAME_HEADER_SIZE + b->last.length;

    if (b->used > 0) {
        b->last.flags |= FRAME_MORE;
        frame_encode(&b->last, bytes + b->last_at);
        memset(bytes + last_end, 0, b->used - last_end);
    }
    b->last = *f;
    b->last_at = b->used;
    stretto_assert(b->buf != NULL && b->used + FRAME_HEADER_SIZE + f->length <= b->capacity);
    b->used += frame_span(f);
}

int bundle_close(struct bundle *b, zmq_msg_t *msg)
{
    struct sendbuf *buf = b->buf;

    b->buf = NULL;
    frame_encode(&b->last, sendbuf_bytes(buf) + b->last_at);
    return sendbuf_into(buf, b->last_at + FRAME_HEADER_SIZE + b->last.length, msg);
}
