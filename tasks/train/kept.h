/* Samples in memory that outlives this process (tasks/proto/kept.h). Each sample has a slot there, from its first field
 * until nobody needs it again. That is so when it was drawn, it has left the buffer, and a checkpoint that was begun
 * after the draw is whole. When the process is killed, its next one finds in the slots what was acknowledged to
 * members, and goes on from the newest checkpoint.
 *
 * Drawn samples are retained until a checkpoint has them. At the limit, twice `retain` of the spec, reception waits for
 * that checkpoint (kept_watch()), until patience.h finds that it may never come. Then all that is retained is let go;
 * so it is if the spec has no `retain`. The memory is KEPT_LACKING until the next checkpoint is whole. Nothing is lost
 * then either, but members have to run again after a failure. */
#ifndef TASKS_TRAIN_KEPT_H
#define TASKS_TRAIN_KEPT_H
#include "tasks/proto/kept.h"
#include "tasks/train/config.h"

#include <stdatomic.h>
#include <stdbool.h>

struct kept;

/* A slot. sample.c defines the layout of the bytes behind it. */
struct kept_slot {
    _Atomic uint64_t have; /* a bit for each field whose payload is there; 0: the slot is free */
    uint64_t member;
    int64_t step;
    uint64_t session; /* of the stream that began it, with its attempt */
    uint32_t attempt;
    uint32_t cut; /* the next two are of this process only */
    struct kept_slot *next;
};

#define KEPT_SLOT_HEAD 64
_Static_assert(sizeof(struct kept_slot) <= KEPT_SLOT_HEAD, "a slot's payload begins at a line of the cache");

/* Maps the memory of this rank. Returns NULL if it has none: the training saves no checkpoints, the runner gave none,
 * or it cannot be reached, which is logged. */
struct kept *kept_open(const struct train_config *config);
void kept_close(struct kept *kept); /* NULL is allowed */

/* Sets the size of a slot, the head included, before anything else is called. -1 with err if the memory has another
 * layout, or is KEPT_LACKING, so that nothing can go on with it. `resume` is the checkpoint to go on from, or NULL. */
int kept_layout(struct kept *kept, size_t slot_size, const char *resume, struct error *err);

/* The samples, and what is retained, are complete from now on. */
void kept_begin(struct kept *kept);

struct kept_head *kept_head(struct kept *kept);

/* From now on no slot becomes free: this process ends, and its next one may need all of them. */
void kept_freeze(struct kept *kept);

/* Takes a free slot; called by one thread. NULL if there is no memory. */
struct kept_slot *kept_take(struct kept *kept);

/* Gives a slot back. `cut` is the number of the first checkpoint that has the sample among those that were drawn
 * (drawn_cut()). It is KEPT_NOT_DRAWN if nobody drew the sample, and KEPT_FOREVER if no checkpoint will have it. */
#define KEPT_NOT_DRAWN 0
#define KEPT_FOREVER UINT32_MAX
void kept_give(struct kept *kept, struct kept_slot *slot, uint32_t cut);

/* The checkpoint of this number and name is whole, on all ranks: the samples that it has are let go. */
void kept_cut_is_whole(struct kept *kept, uint32_t cut, const char *name);

/* `cut` is the number of the checkpoint that would be the next. Returns whether it should be saved now, because the
 * spec limits how many samples are retained. `pending`: one is written here that is not known to be whole. */
bool kept_is_due(struct kept *kept, uint32_t cut, bool pending);

/* If the spec asks for it, has `full` called whenever the limit is reached at which reception is to wait, and with
 * false when it may go on. It is called in the thread that reaches the limit or lets samples go, and must not call
 * back. */
bool kept_watch(struct kept *kept, void (*full)(void *arg, bool full), void *arg);

bool kept_is_full(struct kept *kept); /* reception waits */

/* Reception does not wait any longer: lets all go that is retained. Does nothing if reception does not wait. `why`
 * is for the log. */
void kept_give_up(struct kept *kept, const char *why);

/* Calls `each` for all slots of samples that are not free, and returns 0; if it returns something else, that is
 * returned at once. Called before the first kept_take(); `each` may call kept_give(). */
int kept_each(struct kept *kept, int (*each)(void *arg, struct kept_slot *slot), void *arg);

/* For each member of the ensemble the attempt that has told its end; 0: none. */
uint32_t *kept_ended(struct kept *kept);
#endif
