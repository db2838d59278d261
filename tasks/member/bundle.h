/* Small frames that gather in one buffer and go as one message. */
#ifndef TASKS_MEMBER_BUNDLE_H
#define TASKS_MEMBER_BUNDLE_H
#include "tasks/member/sendbuf.h"
#include "tasks/proto/frame.h"

struct bundle {
    struct sendbuf *buf; /* NULL where there are none */
    size_t capacity;     /* at most FRAME_SHARED_MAX, of which `used` are taken */
    size_t used;
    struct frame last;   /* whose header is written once it is known whether another follows, at last_at */
    size_t last_at;
    bool seen;           /* the owner's mark; not set at first */
};

/* Closed. Let as much gather as it may where a quarter of `window` is no less. */
void bundle_init(struct bundle *b, size_t window);
void bundle_fini(struct bundle *b);

bool bundle_is_open(const struct bundle *b);

/* Whether a frame of `size` bytes, its header's included, may go into a bundle at all; and into this one, which is
 * open. */
bool bundle_suits(const struct bundle *b, size_t size);
bool bundle_takes(const struct bundle *b, size_t size);

/* With a buffer from the pool; -1 where there is no memory. */
int bundle_open(struct bundle *b, struct sendbuf_pool *pool);

/* Room for the payload of the next frame, which bundle_add() then adds. Both need bundle_takes(). */
void *bundle_place(struct bundle *b);
void bundle_add(struct bundle *b, const struct frame *f);

/* All frames that were added, at least one, as a message; -1 where there is no memory, and they are lost. */
int bundle_close(struct bundle *b, zmq_msg_t *msg);
#endif
