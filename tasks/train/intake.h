/* The handling of each message by a rank: the protocol of docs/protocol.md without thread and socket. */
#ifndef TASKS_TRAIN_INTAKE_H
#define TASKS_TRAIN_INTAKE_H
#include "tasks/proto/frame.h"
#include "tasks/train/cut.h"
#include "tasks/train/receiver.h"

#include <zmq.h>

struct intake;

/* Sends one frame back to a connection; must not block, and may lose it. */
typedef void intake_reply(void *arg, const uint8_t *routing, uint8_t routing_size, const struct frame *f,
                          const char *payload);

/* The arguments outlive the intake. */
struct intake *intake_create(const struct train_config *config, struct pool *pool, struct sample_store *store,
                             intake_reply *reply, void *arg);
void intake_destroy(struct intake *intake);

/* Takes over what an earlier generation had received, by the checkpoint from which this one goes on: its samples are
 * duplicates when they come, and members of which nothing is missing have announced their end. Called before the first
 * message. -1 where there is no memory. */
int intake_resume(struct intake *intake, const struct cut *cut);

/* Takes one message, of one frame or several, from the connection `routing`, and returns its size, including payloads
 * that lie in the member's memory; the caller closes *msg, which is empty where the message was kept. Whole samples are
 * collected, and put into the pool several at a time: then the call waits where the buffer has no room. */
size_t intake_message(struct intake *intake, const uint8_t *routing, uint8_t routing_size, zmq_msg_t *msg);

/* Takes a message of so many parts, which holds no frame at all. */
void intake_parts(struct intake *intake, const uint8_t *routing, uint8_t routing_size, int parts);

/* Puts collected samples into the pool, and acknowledges where much has come. Returns whether acknowledgements are
 * still owed, which intake_flush() is to send after a moment. */
bool intake_turn(struct intake *intake);

/* Puts collected samples into the pool, and acknowledges everything. */
void intake_flush(struct intake *intake);

/* Called every few seconds: releases the memory of members that are gone. */
void intake_sweep(struct intake *intake);

/* Writes how many steps are held of each member of the ensemble, little-endian; only where the configuration tells how
 * many each sends. This function and intake_counters() may be called from any thread. */
void intake_held_counts(const struct intake *intake, uint32_t *counts);

/* Sets a bit for each member that has announced its end, and all of whose samples here were drawn; for others it does
 * not touch it. Called by the training's thread. */
void intake_whole(const struct intake *intake, const struct drawn *drawn, uint8_t *whole);

void intake_counters(struct intake *intake, struct receiver_counters *counters);
#endif
