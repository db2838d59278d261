/* What a rank does with each message: the protocol of docs/protocol.md without thread and socket. */
#ifndef TASKS_TRAIN_INTAKE_H
#define TASKS_TRAIN_INTAKE_H
#include "tasks/proto/frame.h"
#include "tasks/train/receiver.h"

#include <zmq.h>

struct intake;

/* Sends one frame back to a connection; must not block, and may lose it. */
typedef void intake_reply(void *arg, const uint8_t *routing, uint8_t routing_size, const struct frame *f,
                          const char *payload);

/* Arguments outlive the intake. */
struct intake *intake_create(const struct train_config *config, struct pool *pool, struct sample_store *store,
                             intake_reply *reply, void *arg);
void intake_destroy(struct intake *intake);

/* Take one message and return its size, with what of it lies in the member's memory: of one frame or several, that came
 * from the connection `routing`; *msg is left to be closed by the caller, empty where the message was kept. Whole
 * samples are collected, and put into the pool some at a time: then it waits where the buffer has no room. */
size_t intake_message(struct intake *intake, const uint8_t *routing, uint8_t routing_size, zmq_msg_t *msg);

/* A message of so many parts, which holds no frame at all. */
void intake_parts(struct intake *intake, const uint8_t *routing, uint8_t routing_size, int parts);

/* Put what was collected into the pool, and acknowledge where much has come. Returns whether acknowledgements are still
 * owed, for intake_flush() to send after a moment. */
bool intake_turn(struct intake *intake);

/* Put what was collected into the pool, and acknowledge all of it. */
void intake_flush(struct intake *intake);

/* To be called every few seconds: lets go of what members have left behind that are gone. */
void intake_sweep(struct intake *intake);

/* How many steps are held of each member, little-endian, as many as the ensemble has; where the configuration says how many each
 * sends. May be called from any thread, as may the next. */
void intake_held_counts(const struct intake *intake, uint32_t *counts);

void intake_counters(struct intake *intake, struct receiver_counters *counters);
#endif
