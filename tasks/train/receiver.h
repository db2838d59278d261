/* The receiver thread: takes frames from the members, puts samples together, drops duplicates, fills the pool and
 * acknowledges (docs/protocol.md). It goes on while the training does something else, such as validating. */
#ifndef TASKS_TRAIN_RECEIVER_H
#define TASKS_TRAIN_RECEIVER_H
#include "tasks/train/config.h"
#include "tasks/train/faults.h"
#include "tasks/train/handover.h"
#include "tasks/train/pool.h"
#include "tasks/train/resume.h"

struct receiver_counters {
    uint64_t received;         /* samples taken in whole */
    uint64_t duplicates;       /* samples of these whose (member, step) was known before */
    uint64_t bytes;            /* of their fields */
    uint64_t memory_bytes;     /* of payloads that were read in the memory of members */
    uint64_t rejected[FAULTS]; /* refused frames, by reason */
    uint64_t finalized;        /* members that announced their end */
    uint64_t skipped;          /* samples that members did not send again, since they were held */
};

struct receiver;

/* Starts the thread, which binds and publishes the rank's endpoint. The thread and ZeroMQ's threads have descriptors of
 * their own, so that connections take none of the program's. All arguments outlive the receiver. */
struct receiver *receiver_start(const struct train_config *config, struct pool *pool, struct sample_store *store,
                                struct kept *kept, const struct resume *resume, struct error *err);

/* Ends reception, since no more samples will come: reads what has been sent so far, and then informs the pool. `early`:
 * members still run, and wait until they are ended. Callable from any thread. */
void receiver_over(struct receiver *receiver, bool early);

/* The training ends as planned: takes and acknowledges nothing any more, and waits for that. Then hands over what the
 * next generation needs of samples that are not in the pool (intake_hand_over()). Called by the training's thread,
 * after pool_finish(). */
void receiver_halt(struct receiver *receiver);
int receiver_hand_over(struct receiver *receiver, struct handover *handover, struct error *err);

/* Stops the thread. The pool must have been stopped, so that the thread does not wait in it. NULL is allowed. */
void receiver_stop(struct receiver *receiver);

void receiver_counters(struct receiver *receiver, struct receiver_counters *counters);

/* See intake_held_counts() and intake_ended(). */
void receiver_held_counts(struct receiver *receiver, uint32_t *counts);
void receiver_ended(const struct receiver *receiver, const struct drawn *drawn, uint32_t *ended);
#endif
