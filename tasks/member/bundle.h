/* A bundle gathers small frames in one buffer, and sends them as one message. */
#ifndef TASKS_MEMBER_BUNDLE_H
#define TASKS_MEMBER_BUNDLE_H
#include "tasks/member/sendbuf.h"
#include "tasks/proto/frame.h"

struct bundle {
    struct sendbuf *buf; /* NULL if the bundle is closed */
    size_t capacity;     /* at most FRAME_SHARED_MAX, of which `used` are taken */
    size_t used;
    struct frame last; /* its header is written when it is known whether another frame follows; it begins at last_at */
    size_t last_at;
    bool seen; /* the owner's mark, false at first */
};

/* Makes a closed bundle. Its capacity is a quarter of `window`, at most FRAME_SHARED_MAX. */
void bundle_init(struct bundle *b, size_t window);
void bundle_fini(struct bundle *b);

bool bundle_is_open(const struct bundle *b);

/* Returns whether a frame of `size` bytes, header included, may go into a bundle at all (suits), and into this one,
 * which must be open (takes). */
bool bundle_suits(const struct bundle *b, size_t size);
bool bundle_takes(const struct bundle *b, size_t size);

/* Opens the bundle with a buffer from the pool; -1 if there is no memory. */
int bundle_open(struct bundle *b, struct sendbuf_pool *pool);

/* bundle_place() returns the room for the payload of the next frame, which bundle_add() then adds. Both need
 * bundle_takes(). */
void *bundle_place(struct bundle *b);
void bundle_add(struct bundle *b, const struct frame *f);

/* Makes one message of all frames that were added, at least one; -1 if there is no memory, and the frames are
 * lost. */
int bundle_close(struct bundle *b, zmq_msg_t *msg);
#endif
