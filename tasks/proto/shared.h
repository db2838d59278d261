/* Memory that a member shares with the ranks of its host: a large payload lies there, and its message has only the header
 * and its place. What both ends must agree on (docs/protocol.md). */
#ifndef TASKS_PROTO_SHARED_H
#define TASKS_PROTO_SHARED_H
#include "tasks/proto/fields.h"

#define SHARED_NAME "stretto"         /* of the memfd */
#define SHARED_FROM ((size_t)64 << 10) /* payloads from so many bytes on */
#define SHARED_UNIT ((size_t)16 << 10) /* a payload's place is a multiple of it, and what it takes, too */

/* How much of it a member of a stream to so many ranks has: what its window may keep, and one buffer of each large field to
 * be lent. 0 where no field is large, or all of them too large to be mapped. */
size_t shared_size(const struct field_set *fields, int ranks);

/* What so many bytes take. */
size_t shared_units(size_t bytes);

/* Whether the environment lets this process share memory: STRETTO_STREAM_MEMORY=0 does not. */
bool shared_wanted(void);
#endif
