/* What was sent to one rank and is not acknowledged yet, kept so that it can be sent again: messages of one frame or
 * several, in their order. It also gives frames their numbers, from 1. */
#ifndef TASKS_MEMBER_WINDOW_H
#define TASKS_MEMBER_WINDOW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

struct kept {
    zmq_msg_t msg;
    uint64_t last; /* number of its last frame */
    size_t bytes;  /* of memory that it holds */
};

struct window {
    size_t bytes_max, frames_max;
    uint64_t *place; /* ring: of frame n in the order of all that the stream has sent, at n % frames_max */
    struct kept *kept;    /* ring: message n is at n % frames_max */
    uint64_t first, next; /* messages from first, and before next, are kept */
    size_t bytes;         /* of memory: the messages', and what was reserved */
    uint64_t acked;       /* highest number that the rank holds safely */
    uint64_t sent;        /* highest in a message */
    uint64_t numbered;    /* highest that was given */
};

/* -1 where there is no memory; it can then be ended, and nothing else. */
int window_init(struct window *w, size_t bytes_max, size_t frames_max);
void window_fini(struct window *w);

/* Whether one more frame may be numbered that needs so much memory; two may in any case. */
bool window_has_room(const struct window *w, size_t bytes);

/* The number of the next frame, which has that place in the order of the whole stream. */
uint64_t window_number(struct window *w, uint64_t place);

/* The place of the first frame that is not acknowledged; UINT64_MAX where all are. */
uint64_t window_oldest(const struct window *w);

/* Memory is filled that will come as a message. */
void window_reserve(struct window *w, size_t bytes);

/* Keep the message of all frames that have been numbered, taken over; `reserved` were for it, 0 where it holds just its
 * size. */
void window_keep(struct window *w, zmq_msg_t *msg, size_t reserved);

/* Everything up to there is held by the rank; what it cannot know is not believed. */
void window_ack(struct window *w, uint64_t sequence);

/* All that was numbered is acknowledged. */
bool window_is_empty(const struct window *w);

/* first <= n < next */
zmq_msg_t *window_message(struct window *w, uint64_t n);
#endif
