/* The buffer with a lock around it: the receiver puts samples in and waits for room, the training takes batches out and
 * waits for samples. The lock is taken once for many samples, and not while a batch is copied. */
#ifndef TASKS_TRAIN_POOL_H
#define TASKS_TRAIN_POOL_H
#include "tasks/train/buffer.h"
#include "tasks/train/drawn.h"
#include "tasks/train/sample.h"

/* Unique samples are counted by how often they were drawn: 1, 2, 3–4, 5–8, … 33–64, more. */
#define POOL_DRAWS 8

struct pool_counters {
    uint64_t drawn;   /* unique samples that went into a batch */
    uint64_t repeats; /* all further draws */
    uint64_t batches;
    uint64_t draws[POOL_DRAWS];
    /* time for which the receiver has waited for room, and the training for samples, but not while pool_hold() held */
    uint64_t room_waits_us, sample_waits_us;
    size_t population;
    size_t unseen;
    uint64_t
        unlearnt; /* drawn samples from which the program has not learnt yet; 0 unless it says what it has learnt */
    bool over;    /* reception is over */
    bool ended;   /* reception is over, and everything was drawn */
    bool awaited; /* the training waits for samples now */
    bool starved; /* it found too few at its last try, and has none yet */
};

struct pool;

/* Takes over the buffer. NULL if there is no memory. */
struct pool *pool_create(struct buffer *buffer, size_t batch);

/* From now on the pool enters the samples that are drawn in `drawn`. It counts on from `counters`: those of the
 * checkpoint from which the training goes on, or zeros. Called before any other thread is in the pool. */
void pool_note_drawn(struct pool *pool, struct drawn *drawn, const struct pool_counters *counters);

/* The model has learnt from everything that was drawn. After the first call, it learns only by these calls: what was
 * drawn since the last one counts as not drawn if a checkpoint is taken. Called by the thread that draws. Returns 0;
 * -1 if there is no memory. */
int pool_learnt(struct pool *pool);

/* Sets the counters of a checkpoint that is taken now: without the samples from which the model has not learnt. */
void pool_cut(struct pool *pool, struct pool_counters *counters);

/* Nothing is drawn or put in any more, as if everything had been drawn: the training ends, and goes on in another
 * generation. Members that still send wait. */
void pool_finish(struct pool *pool);

/* Calls `each` for samples that were put in. pool_each_undrawn(): those that were never drawn, or drawn and not learnt,
 * some of them twice. pool_each_drawn(): those that were drawn, and may be drawn again. Called after pool_finish(),
 * when no other thread is in the pool. */
void pool_each_undrawn(struct pool *pool, void (*each)(void *arg, struct sample *sample), void *arg);
void pool_each_drawn(struct pool *pool, void (*each)(void *arg, struct sample *sample), void *arg);

/* Releases samples that are still held. No other thread may be in the pool. NULL is allowed. */
void pool_destroy(struct pool *pool);

#define POOL_PUT_MAX 64

enum { POOL_PUT_ENDED = -1, POOL_PUT_STOPPED = -2 };

/* Puts samples in, in their order, as far as there is room now, and takes over their references. Returns how many. It
 * leaves all untouched and returns POOL_PUT_ENDED when everything has been drawn after the end of reception, or
 * POOL_PUT_STOPPED when pool_stop() was called before that. `count` is at most POOL_PUT_MAX. */
int pool_put(struct pool *pool, struct sample *const *sample, int count);

/* Puts a sample in that was drawn before the checkpoint from which the training goes on, so that it may be drawn again.
 * Takes over its reference, or returns false if there is no room. How often it was drawn is not known: its further
 * draws count as repeats, and not in `draws`. */
bool pool_put_drawn(struct pool *pool, struct sample *sample);

/* Waits until there is room, or never will be. */
void pool_wait_for_room(struct pool *pool);

/* While `hold`, there is no room, whatever the buffer has: reception waits for a checkpoint (kept_watch()). */
void pool_hold(struct pool *pool, bool hold);

/* Reception is over: no pool_put() will follow, except of stragglers. */
void pool_over(struct pool *pool);

/* Ends every wait, now and later: pool_put() fails, pool_take() returns POOL_INTERRUPTED. */
void pool_stop(struct pool *pool);

enum pool_taken { POOL_END = 0, POOL_TIMEOUT = -2, POOL_INTERRUPTED = -3 };

/* Draws a batch: *batch points to `batch` samples (fewer only at the very end), to be given back by pool_done(). There
 * is one consumer at a time. Returns their number, or enum pool_taken. timeout_ms < 0 waits without limit. */
int pool_take(struct pool *pool, int timeout_ms, struct sample ***batch);

/* The batch was copied: counts it, and releases its samples. */
void pool_done(struct pool *pool);

void pool_counters(struct pool *pool, struct pool_counters *counters);
#endif
