/* The structs that the files of the intake share. No other file includes this.
 *
 * - intake.c dispatches each frame
 * - intake_field.c reads the payloads of samples
 * - intake_ready.c puts whole samples into the pool and acknowledges them
 * - intake_answer.c answers and refuses */
#ifndef TASKS_TRAIN_INTAKE_PRIVATE_H
#define TASKS_TRAIN_INTAKE_PRIVATE_H
#include "tasks/train/intake.h"
#include "tasks/train/peers.h"
#include "tasks/proto/stepset.h"

#include <stdatomic.h>

#define ACKS_MAX 256

/* A whole sample on its way into the pool; up to `before` its member may be acknowledged while the sample is not
 * there. */
struct ready {
    struct sample *sample;
    struct peer *peer;
    uint64_t before;
};

/* Fields that the generation before had acknowledged, of a step that lacks others: they wait for the stream that sends
 * these. */
struct orphan {
    struct handover_item item;
    struct orphan *next;
};

struct intake {
    const struct train_config *config;
    struct pool *pool;
    struct sample_store *store;
    struct kept *kept; /* in which samples outlive the process; NULL: they do not */
    intake_reply *reply;
    void *arg;
    struct peers *peers;
    struct stepset *have;
    _Atomic uint32_t *ended_by; /* for each member the attempt that told its end; 0: none */
    /* steps of each member that were put into the pool; NULL if nobody asks, since it is not known how many it
     * sends, and no checkpoints are saved */
    _Atomic uint32_t *held;
    struct ready ready[POOL_PUT_MAX];
    int readies;
    struct peer *ack[ACKS_MAX];
    int acks;
    size_t memory_max; /* bytes that a member may share; 0: no memory is shared */
    struct orphan *orphans;
    const struct resume *resume; /* what it goes on from */
    struct stepset *fed;         /* the samples of it that are in the pool; NULL when all are */
    bool quiet;                  /* see intake_end_quietly() */
    /* whole samples that a former process of this rank has left, and which are not in the pool yet: not learnt; learnt
     * before the checkpoint, which may be drawn again */
    struct sample **left, **left_drawn;
    size_t left_count, left_drawn_count;
    int ended; /* FAULT_ENDED, FAULT_STOPPED: no samples are taken any more, for this reason; 0: they are */
    bool said[FAULTS];
    int64_t said_memory; /* monotonic ms; 0: never */
    struct {
        atomic_uint_least64_t unique, duplicates, finalized, skipped, rejected[FAULTS];
        atomic_uint_least64_t bytes; /* if samples differ in size */
        atomic_uint_least64_t memory_bytes;
    } counters; /* written by this thread alone */
};

/* The connection from which a frame came. */
struct frame_origin {
    const uint8_t *routing;
    uint8_t routing_size;
    zmq_msg_t *msg; /* NULL if it is not available */
};

static inline uint64_t intake_counted(atomic_uint_least64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_acquire);
}

/* Adds to a counter. There is one writer, so this needs no locked instruction. A reader of the sum sees everything that
 * was done before it. */
static inline void intake_count(atomic_uint_least64_t *counter, int64_t by)
{
    atomic_store_explicit(counter, intake_counted(counter) + (uint64_t)by, memory_order_release);
}

/* Counts a frame as refused, and logs the first of its kind. f is NULL if the frame's header cannot be trusted. */
void intake_reject(struct intake *in, struct frame_origin from, const struct frame *f, int fault, const char *why);

/* Does the same, and sends the reason to the frame's sender. */
void intake_refuse(struct intake *in, struct frame_origin to, const struct frame *f, int fault, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Returns how many steps of that member are held, 0 if they are not counted. */
uint32_t intake_held(const struct intake *in, uint64_t member);

/* Reports that there is no memory for a frame: it is dropped as if it had been lost, so that its member sends it again.
 * Logs that from time to time. Returns false, for the caller to return. */
bool intake_no_memory(struct intake *in);

/* Answers a frame: the member recognises the answer by key and session. */
void intake_answer(struct intake *in, struct frame_origin to, const struct frame *f, enum frame_kind kind,
                   uint64_t sequence, int64_t step, const char *payload);

/* Answers HELLO: everything up to `sequence` is held. A later attempt of a member is told which steps this rank has. */
void intake_welcome(struct intake *in, struct frame_origin to, const struct frame *f, const struct peer *peer);

/* Notes that frames of this peer are to be acknowledged, by the next intake_turn() or intake_flush(). */
void intake_ack_later(struct intake *in, struct peer *peer);

/* Takes over a whole sample. Up to `before` its member may be acknowledged while the sample is not in the pool. */
void intake_take_sample(struct intake *in, struct peer *peer, struct sample *sample, uint64_t before);

/* Handles a frame that comes when nobody will draw any more (in->ended). If everything was drawn, the sender gets an
 * answer. If the training stopped before that, it gets none, since it would fail without a fault of its own. It then
 * waits until the daemon, which sees the training's end itself, stops it or starts both again. */
void intake_take_no_more(struct intake *in, struct frame_origin from, const struct frame *f);

/* Returns whether as many samples have been collected as are put into the pool at once: intake_turn() is due. */
bool intake_is_full(const struct intake *in);

/* intake_resume.c: gives the session the fields that its stream had sent to the generation before, and drops those of
 * earlier attempts. Returns false if there is no memory. */
bool intake_adopt_orphans(struct intake *in, struct peer *peer);
void intake_drop_orphans(struct intake *in);
void intake_drop_left(struct intake *in);

/* Takes the next SAMPLE frame of this peer. Returns whether it was valid. */
bool intake_take_field(struct intake *in, struct frame_origin from, struct peer *peer, const struct frame *f,
                       const uint8_t *payload);
#endif
