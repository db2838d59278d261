/* The links to all ranks of a training, and the lock under which the program's thread and the flusher use them. After a
 * call has failed, the stream is broken. */
#ifndef TASKS_MEMBER_LINKS_H
#define TASKS_MEMBER_LINKS_H
#include "tasks/member/discovery.h"
#include "tasks/member/link.h"
#include "tasks/proto/streams.h"

struct links;

/* The environment outlives the links; the ranks are taken over, and *ranks is emptied or else still the caller's. NULL
 * on failure. If a rank does not answer since the training goes on with other ranks, which keep what the former have
 * acknowledged, the functions that wait follow it there. */
struct links *links_create(const struct environment *env, struct discovery *ranks, struct error *err);

/* Closes the links, without sending anything more. NULL is allowed. */
void links_destroy(struct links *l);

/* The pool of all messages. */
struct sendbuf_pool *links_pool(const struct links *l);

/* All functions below, and the links themselves, are used between links_enter() and links_leave(). The latter makes
 * sure that frames that are held are sent soon, whatever the program does next; it returns rc, or -1. */
void links_enter(struct links *l);
int links_leave(struct links *l, int rc, struct error *err);

/* Waits until the link for the frames of that step has room for one of `size` bytes: *link, valid until links_leave()
 * or the next function that waits. STRETTO_AGAIN if `until` (monotonic ms) comes first, -1 if the member's
 * walltime ends, or a rank refuses it. */
int links_room(struct links *l, int64_t step, size_t size, int64_t until, struct link **link, struct error *err);

/* Sets whether the ranks have that step of an earlier attempt, so that it is not to be sent; waits until they have
 * told. `count`: the step is counted as skipped, which it is to be once, not for each of its fields. Returns as
 * links_room(). */
int links_skip(struct links *l, int64_t step, bool count, int64_t until, bool *skip, struct error *err);

/* Waits until the ranks hold everything that was sent; returns as links_room(). */
int links_wait_held(struct links *l, int64_t until, struct error *err);

/* The slots that can be shared with that link's rank, or with all ranks if `link` is NULL; NULL if nothing can be
 * shared. */
struct slots *links_slots(const struct links *l, const struct link *link);

/* For a stream that keeps an account of what the ranks hold (tasks/proto/held.h). links_begin_frame(): the frame of a
 * sample is about to be sent. links_note_whole(): so many frames were sent before the oldest step that lacks fields. */
void links_begin_frame(struct links *l);
void links_note_whole(struct links *l, uint64_t frames);

/* Notes beside the attempt that the stream is open, or how it has ended. 0 or -1. */
int links_mark(const struct links *l, enum stream_end end, struct error *err);

/* The number of frames that have been sent. */
uint64_t links_sent(const struct links *l);

/* Waits until the ranks hold everything, and know that nothing more comes. Returns as links_room(). `covered`: nothing
 * was sent since the last checkpoint. Returns -1 with the code "stream_steps_missing" if they lack steps of this
 * member, counting all of its attempts. The next attempt then begins at the start, or goes on from that last
 * checkpoint. */
int links_finish(struct links *l, bool covered, int64_t until, struct error *err);
#endif
