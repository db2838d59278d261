/* The ways to all ranks of a training, and the lock under which a program's thread and the flusher use them. Where a
 * call fails, the stream has. */
#ifndef TASKS_MEMBER_LINKS_H
#define TASKS_MEMBER_LINKS_H
#include "tasks/member/discovery.h"
#include "tasks/member/link.h"

struct links;

/* Arguments outlive the links. NULL on failure. */
struct links *links_create(const struct environment *env, const struct discovery *ranks, struct error *err);

/* Nothing is sent any more. NULL is taken. */
void links_destroy(struct links *l);

/* Of all messages. */
struct sendbuf_pool *links_pool(const struct links *l);

/* What can be shared with that link's rank, or with all of them where it is NULL; NULL where nothing can. */
struct slots *links_slots(const struct links *l, const struct link *link);

/* All that follows, and the links themselves, are used between these two. The second sees to it that what is held is
 * sent soon, whatever the program does next; returns rc, or -1. */
void links_enter(struct links *l);
int links_leave(struct links *l, int rc, struct error *err);

/* The link by which that step goes. */
struct link *links_of_step(const struct links *l, int64_t step);

/* Wait until the link has room for a frame of `size` bytes; STRETTO_AGAIN where `until` (monotonic ms) comes before, -1
 * where the member's walltime ends, or a rank refuses it. */
int links_wait_for_room(struct links *l, struct link *link, size_t size, int64_t until, struct error *err);

/* Wait until the ranks hold everything that was sent; as above. */
int links_wait_held(struct links *l, int64_t until, struct error *err);

/* Where the stream keeps account of what is held (tasks/proto/held.h): a frame of a sample is about to be sent; and so many have
 * been sent before the oldest step that lacks fields. */
void links_begin_frame(struct links *l);
void links_note_whole(struct links *l, uint64_t frames);

/* How many have been sent. */
uint64_t links_sent(const struct links *l);

/* Wait until the ranks hold everything, and know that it was all; as above. -1 with the code "stream_steps_missing" where
 * they do not hold all steps of this member, of all of its attempts: the next attempt then begins at the start. */
int links_finish(struct links *l, int64_t until, struct error *err);
#endif
