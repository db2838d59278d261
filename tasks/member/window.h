/* The frames that were sent to one rank and are not acknowledged yet, kept so that they can be sent again: messages of
 * one frame or several, in their order. It also numbers the frames, from 1. */
#ifndef TASKS_MEMBER_WINDOW_H
#define TASKS_MEMBER_WINDOW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

struct kept_message {
    zmq_msg_t msg;
    uint64_t last; /* number of its last frame */
    size_t bytes;  /* of memory that it holds */
};

struct window {
    size_t bytes_max, frames_max;
    size_t ring;     /* frames for which there is memory, frames_max or more */
    uint64_t *place; /* ring: the place of frame n in the order of all that the stream has sent is at n % ring */
    struct kept_message *kept; /* ring: message n is at n % ring */
    uint64_t first, next;      /* messages from `first` to before `next` are kept */
    size_t bytes;              /* of memory: of the messages, and reserved */
    uint64_t acked;            /* highest number that the rank holds safely */
    uint64_t sent;             /* highest number in a message */
    uint64_t numbered;         /* highest number given */
};

/* `backlog` frames may be numbered at first whether or not there is room. -1 if there is no memory; then only
 * window_fini() may be called. */
int window_init(struct window *w, size_t bytes_max, size_t frames_max, size_t backlog);
void window_fini(struct window *w);

/* Returns whether one more frame that needs so much memory may be numbered; two frames are always allowed. */
bool window_has_room(const struct window *w, size_t bytes);

/* Returns the number of the next frame, which has that place in the order of the whole stream. */
uint64_t window_number(struct window *w, uint64_t place);

/* Returns the place of the first frame that is not acknowledged; UINT64_MAX if all are. */
uint64_t window_oldest(const struct window *w);

/* Counts memory that is being filled and will come as a message. */
void window_reserve(struct window *w, size_t bytes);

/* Keeps, and takes over, the message of all frames that have been numbered; `reserved` bytes were counted for it
 * before, 0 if it holds just its size. */
void window_keep(struct window *w, zmq_msg_t *msg, size_t reserved);

/* Notes that the rank holds everything up to that number; a number that it cannot know is ignored. */
void window_ack(struct window *w, uint64_t sequence);

/* Returns whether all numbered frames are acknowledged. */
bool window_is_empty(const struct window *w);

/* Returns message n; first <= n < next. */
zmq_msg_t *window_message(struct window *w, uint64_t n);
#endif
