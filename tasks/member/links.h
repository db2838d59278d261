/* The links to all ranks of a training, and the lock under which the program's thread and the flusher use them. After a
 * call has failed, the stream is broken. */
#ifndef TASKS_MEMBER_LINKS_H
#define TASKS_MEMBER_LINKS_H
#include "tasks/member/discovery.h"
#include "tasks/member/link.h"

struct links;

/* The arguments outlive the links. NULL on failure. */
struct links *links_create(const struct environment *env, const struct discovery *ranks, struct error *err);

/* Closes the links, without sending anything more. NULL is allowed. */
void links_destroy(struct links *l);

/* The pool of all messages. */
struct sendbuf_pool *links_pool(const struct links *l);

/* The slots that can be shared with that link's rank, or with all ranks where `link` is NULL; NULL where nothing can be
 * shared. */
struct slots *links_slots(const struct links *l, const struct link *link);

/* All functions below, and the links themselves, are used between links_enter() and links_leave(). The latter makes
 * sure that frames that are held are sent soon, whatever the program does next; it returns rc, or -1. */
void links_enter(struct links *l);
int links_leave(struct links *l, int rc, struct error *err);

/* The link for the frames of that step. */
struct link *links_of_step(const struct links *l, int64_t step);

/* Waits until the link has room for a frame of `size` bytes; STRETTO_AGAIN where `until` (monotonic ms) comes first, -1
 * where the member's walltime ends, or a rank refuses it. */
int links_wait_for_room(struct links *l, struct link *link, size_t size, int64_t until, struct error *err);

/* Waits until the ranks hold everything that was sent; returns as links_wait_for_room(). */
int links_wait_held(struct links *l, int64_t until, struct error *err);

/* For a stream that keeps an account of what the ranks hold (tasks/proto/held.h). links_begin_frame(): the frame of a
 * sample is about to be sent. links_note_whole(): so many frames were sent before the oldest step that lacks fields. */
void links_begin_frame(struct links *l);
void links_note_whole(struct links *l, uint64_t frames);

/* The number of frames that have been sent. */
uint64_t links_sent(const struct links *l);

/* Waits until the ranks hold everything, and know that it was all; returns as links_wait_for_room(). -1 with the code
 * "stream_steps_missing" where they do not hold all steps of this member, of all of its attempts: the next attempt then
 * begins at the start. */
int links_finish(struct links *l, int64_t until, struct error *err);
#endif
