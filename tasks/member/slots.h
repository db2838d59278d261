/* Memory that is shared with the ranks of this host, and its pieces, in which large payloads travel: a rank reads them
 * there, and nothing is copied through a socket. A piece is free again once no message holds it, which is when the rank
 * has acknowledged it: so the rank needs no right to write. */
#ifndef TASKS_MEMBER_SLOTS_H
#define TASKS_MEMBER_SLOTS_H
#include <jansson.h>
#include <stdint.h>
#include <zmq.h>

struct slots;
struct slot;

/* NULL where the system gives no such memory, or size is 0: everything then goes through the socket. */
struct slots *slots_create(size_t size);

/* After the last message of any of its pieces. NULL is taken. */
void slots_destroy(struct slots *slots);

/* How a rank finds it: part of HELLO. */
json_t *slots_offer(const struct slots *slots);

/* A piece of so many bytes at a multiple of 64 (contents undefined), or NULL where none is free. */
struct slot *slot_take(struct slots *slots, size_t bytes);
void *slot_payload(const struct slot *slot);
void slot_give_back(struct slot *slot); /* by any thread */

/* Initialise *msg with room for a header, and the payload's place behind it. The piece is taken over, also on failure: -1
 * where there is no memory. */
int slot_into(struct slot *slot, zmq_msg_t *msg);

/* The payload whose place is in that message of a piece. */
const void *slots_payload(const struct slots *slots, zmq_msg_t *msg);
#endif
