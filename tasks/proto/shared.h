/* Memory that a member shares with the ranks of its host: a large payload lies there, and its message has only the
 * header and the payload's offset. This is the part on which both ends must agree (docs/protocol.md). */
#ifndef TASKS_PROTO_SHARED_H
#define TASKS_PROTO_SHARED_H
#include "tasks/proto/fields.h"

#define SHARED_NAME "stretto"          /* of the memfd */
#define SHARED_FROM ((size_t)64 << 10) /* bytes from which a payload is put into the memory */
#define SHARED_UNIT ((size_t)16 << 10) /* a payload's offset is a multiple of it, and so is the memory that it takes */

/* Returns the size of the memory of a member of a stream to so many ranks: enough for its window, and for one buffer of
 * each large field to be lent. 0 if no field is large, or they are too large to be mapped. */
size_t shared_size(const struct field_set *fields, int ranks);

/* The units that so many bytes take. */
size_t shared_units(size_t bytes);

/* Returns whether this process may share memory: not with STRETTO_STREAM_MEMORY=0. */
bool shared_wanted(void);
#endif
