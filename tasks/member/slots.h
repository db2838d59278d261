/* Memory that is shared with the ranks of this host, and its pieces, in which large payloads travel: a rank reads them
 * there, and nothing is copied through a socket. A piece is free again when no message holds it, which is after the
 * rank has acknowledged it: so the rank needs no right to write. */
#ifndef TASKS_MEMBER_SLOTS_H
#define TASKS_MEMBER_SLOTS_H
#include <jansson.h>
#include <stdint.h>
#include <zmq.h>

struct slots;
struct lent_slot;

/* NULL if the system gives no such memory, or size is 0: everything then goes through the socket. */
struct slots *slots_create(size_t size);

/* Called after the last message of any piece is gone. NULL is allowed. */
void slots_destroy(struct slots *slots);

/* Describes the memory for a rank, as a part of HELLO. */
json_t *slots_offer(const struct slots *slots);

/* Returns a piece of so many bytes, aligned to 64 (contents undefined), or NULL if none is free. */
struct lent_slot *slot_take(struct slots *slots, size_t bytes);
void *slot_payload(const struct lent_slot *slot);
void slot_give_back(struct lent_slot *slot); /* callable by any thread */

/* Initialises *msg with room for a header, and behind it the offset of the payload. The piece is taken over, also on
 * failure: -1 if there is no memory. */
int slot_into(struct lent_slot *slot, zmq_msg_t *msg);

/* Returns the payload that such a message points to. */
const void *slots_payload(const struct slots *slots, zmq_msg_t *msg);
#endif
