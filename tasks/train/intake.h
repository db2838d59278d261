/* The handling of each message by a rank: the protocol of docs/protocol.md without thread and socket. */
#ifndef TASKS_TRAIN_INTAKE_H
#define TASKS_TRAIN_INTAKE_H
#include "tasks/proto/frame.h"
#include "tasks/train/handover.h"
#include "tasks/train/receiver.h"
#include "tasks/train/resume.h"

#include <zmq.h>

struct intake;

/* Sends one frame back to a connection; must not block, and may lose it. */
typedef void intake_reply(void *arg, const uint8_t *routing, uint8_t routing_size, const struct frame *f,
                          const char *payload);

/* The arguments outlive the intake. `kept` is the store's, or NULL. */
struct intake *intake_create(const struct train_config *config, struct pool *pool, struct sample_store *store,
                             struct kept *kept, intake_reply *reply, void *arg);
void intake_destroy(struct intake *intake);

/* Takes over the state of the checkpoint from which this training goes on. Samples that are learnt, or that the
 * generation before handed over, are duplicates when they come. Members of which nothing is missing have announced
 * their end. Called before the first message; the resume outlives the intake. Returns -1 with err. */
int intake_resume(struct intake *intake, const struct resume *resume, struct error *err);

/* Puts the samples that were handed over into the pool; waits if it has no room. Called before the first message, by
 * the thread that takes messages. Returns 0; -1 with err if they cannot be read any more. */
int intake_feed(struct intake *intake, struct error *err);

/* When everything was drawn, members that still send get no answer, rather than be refused: the daemon is about to end
 * them. */
void intake_end_quietly(struct intake *intake);

/* Takes no more samples: what has come and is not in the pool is regarded as not received, but for fields that are
 * acknowledged. Called after pool_finish(). */
void intake_halt(struct intake *intake);

/* Hands over samples of which some fields are acknowledged, and those of the generation before that were not put into
 * the pool yet. Returns -1 with err if these cannot be read any more. Called after intake_halt(), when nobody uses
 * the intake. */
int intake_hand_over(struct intake *intake, struct handover *handover, struct error *err);

/* Handles one message, of one frame or several, from the connection `routing`. Returns its size, including payloads
 * that lie in the member's memory. The caller closes *msg, which is empty if the message was kept. Whole samples are
 * collected, and put into the pool several at a time. The call then waits if the buffer has no room. */
size_t intake_message(struct intake *intake, const uint8_t *routing, uint8_t routing_size, zmq_msg_t *msg);

/* Takes a message of so many parts, which holds no frame at all. */
void intake_parts(struct intake *intake, const uint8_t *routing, uint8_t routing_size, int parts);

/* Puts collected samples into the pool, and acknowledges if much has come. Returns whether acknowledgements are
 * still owed, which intake_flush() is to send after a moment. */
bool intake_turn(struct intake *intake);

/* Puts collected samples into the pool, and acknowledges everything. */
void intake_flush(struct intake *intake);

/* Called every few seconds: releases the memory of members that are gone. */
void intake_sweep(struct intake *intake);

/* Writes how many steps of each member of the ensemble are held, little-endian. Works only if the configuration says
 * how many each member sends. This function and intake_counters() may be called from any thread. */
void intake_held_counts(const struct intake *intake, uint32_t *counts);

/* Sets ended[member] to the attempt that has reported its end, if one has and all of the member's samples here were
 * drawn. If `drawn` is NULL, it is enough that they were put into the pool. The values of other members stay as they
 * are. Called by the training's thread. */
void intake_ended(const struct intake *intake, const struct drawn *drawn, uint32_t *ended);

void intake_counters(struct intake *intake, struct receiver_counters *counters);
#endif
